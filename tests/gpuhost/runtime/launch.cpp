// A launch: the life of each block, and what Python calls.
#include "launch.hpp"

#include <algorithm>
#include <cstdio>

#include "faults.hpp"
#include "scheduler.hpp"
#include "shared_memory.hpp"
#include "signals.hpp"
#include "state.hpp"

namespace gpuhost {

Range argument_memory;

namespace {

const Launch* launch = nullptr;

void exit_thread() {
  set_fault_site(nullptr);
  check_exit();
  Warp& warp = warp_of(*running);
  warp.exited |= 1u << lane_of(*running);
  --block.live;
  if (block.live && block.at_barrier == block.live) complete_barrier();
  wait_as(Status::exited);
}

void fiber_main() {
  launch->entry->call(launch->arguments);
  exit_thread();
  __builtin_trap();
}

uint3 position(unsigned number, const unsigned* sizes) {
  return {number % sizes[0], number / sizes[0] % sizes[1], number / sizes[0] / sizes[1]};
}

dim3 to_dim3(const unsigned* sizes) { return {sizes[0], sizes[1], sizes[2]}; }

void set_up_thread(unsigned number) {
  Thread& thread = block.threads[number];
  thread.builtins = {position(number, launch->block), position(block.number, launch->grid),
                     to_dim3(launch->block), to_dim3(launch->grid), number};
  prepare_fiber(thread.fiber, number, fiber_main);
  make_ready(thread);
}

void set_up_warp(unsigned number, unsigned threads) {
  Warp& warp = block.warps[number];
  const unsigned first = number * lanes_per_warp;
  const unsigned missing = first + lanes_per_warp <= threads ? 0 : first + lanes_per_warp - threads;
  warp.first_thread = first;
  warp.existing = ~0u >> missing;
  warp.waiting = warp.exited = 0;
  warp.is_mixed = false;
}

void set_up_block(unsigned number) {
  const unsigned threads = launch->block[0] * launch->block[1] * launch->block[2];
  block.number = number;
  block.live = threads;
  block.at_barrier = block.barrier_votes = 0;
  block.epoch = 1;
  block.threads.resize(threads);
  block.warps.resize((threads + lanes_per_warp - 1) / lanes_per_warp);
  block.ready.resize(threads);
  for (unsigned thread = 0; thread < threads; ++thread) set_up_thread(thread);
  for (unsigned warp = 0; warp < block.warps.size(); ++warp) set_up_warp(warp, threads);
  poison_shared_memory();
  begin_checking_block();
}

// "1 in __syncthreads (thread 0 of block 0 at kernels.cu:7)", the thread in brackets being the first of its
// kind.
std::string describe_waiting(const char* where, Status status) {
  const auto waits = [&](const Thread& thread) { return thread.status == status; };
  const auto count = std::count_if(block.threads.begin(), block.threads.end(), waits);
  if (count == 0) return "";
  const std::string text = ", " + std::to_string(count) + " " + where;
  const Thread& first = *std::find_if(block.threads.begin(), block.threads.end(), waits);
  if (status == Status::at_barrier) return text + " (" + name_of(first) + " at " + first.barrier_site + ")";
  if (status == Status::in_collective) return text + " (" + describe_collective(first) + ")";
  return text;
}

std::string deadlock_message() {
  return "deadlock of the threads of block " + std::to_string(block.number) +
         describe_waiting("in __syncthreads", Status::at_barrier) +
         describe_waiting("in warp collectives", Status::in_collective) +
         describe_waiting("exited", Status::exited);
}

void run_block(unsigned number) {
  set_up_block(number);
  run_threads();
  if (fault_message().empty() && block.live) set_fault_message(deadlock_message());
}

unsigned product(const unsigned* sizes) { return sizes[0] * sizes[1] * sizes[2]; }

void run_blocks() {
  for (unsigned number : order_of_blocks(product(launch->grid))) {
    run_block(number);
    if (!fault_message().empty()) return;
  }
}

void run(const Launch& request) {
  launch = &request;
  clear_faults();
  start_order(request.seed);
  find_module(request.entry);
  argument_memory = {request.argument_buffer, request.argument_bytes};
  place_dynamic_memory(request.shared_bytes);
  reserve_stacks(product(request.block));
  if (request.checked) begin_checking(request.arrays, request.array_count, request.check_global_memory);
  with_signals_caught(run_blocks);
  end_checking();
  running = nullptr;
}

}  // namespace

}  // namespace gpuhost

#pragma GCC visibility push(default)

extern "C" void gpuhost_launch(const gpuhost::Launch* request) {
  gpuhost::run(*request);
  std::snprintf(request->message, request->message_bytes, "%s", gpuhost::fault_message().c_str());
}

extern "C" std::size_t gpuhost_static_shared_bytes(const gpuhost::Entry* entry) {
  gpuhost::find_module(entry);
  return gpuhost::static_memory.bytes;
}

#pragma GCC visibility pop

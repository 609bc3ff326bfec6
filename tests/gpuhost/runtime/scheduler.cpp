// Which thread runs next.
//
// Seed 0 runs threads in order, each until it has to wait. Any other seed is an order of its own: whoever
// waits is followed by a ready thread at random, and atomics, fences and completed collectives are places
// where another thread may cut in.
#include "scheduler.hpp"

#include <cstring>

#include "checker.hpp"
#include "faults.hpp"
#include "state.hpp"

namespace gpuhost {

Block block;
Thread* running = nullptr;
const Builtins* current = nullptr;
Fiber launcher;

namespace {

constexpr unsigned atomics_between_switches = 8;
constexpr unsigned atomics_in_order = 1024;
constexpr unsigned atomics_of_a_block = 1u << 26;

unsigned atomic_count = 0;
std::uint64_t random_state = 0;  // of xorshift, which never leaves 0: that stands for "in order"

bool order_is_random() { return random_state != 0; }

unsigned random_below(unsigned bound) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return unsigned((random_state >> 11) % bound);
}

}  // namespace

void start_order(std::uint64_t seed) { random_state = seed * 0x9e3779b97f4a7c15u; }

std::vector<unsigned> order_of_blocks(unsigned count) {
  std::vector<unsigned> order(count);
  for (unsigned i = 0; i < count; ++i) order[i] = i;
  if (order_is_random()) {
    for (unsigned i = count; i > 1; --i) std::swap(order[i - 1], order[random_below(i)]);
  }
  return order;
}

void run_threads() {
  atomic_count = 0;
  running = &block.threads[order_is_random() ? random_below(block.live) : 0];
  current = &running->builtins;
  switch_fiber(launcher, running->fiber);
}

void ReadySet::resize(unsigned count) { words_.assign((count + 63) / 64, 0); }

int ReadySet::first_from(unsigned from) const {
  const unsigned count = unsigned(words_.size());
  std::uint64_t members = words_[from / 64] & ~std::uint64_t(0) << from % 64;
  for (unsigned step = 0; step <= count; ++step) {
    const unsigned word = (from / 64 + step) % count;
    if (step) members = words_[word];
    if (members) return int(word * 64 + __builtin_ctzll(members));
  }
  return -1;
}

namespace {

int next_thread() {
  const unsigned count = unsigned(block.threads.size());
  const unsigned after_running = (running->builtins.thread + 1) % count;
  return block.ready.first_from(order_is_random() ? random_below(count) : after_running);
}

// Goes on with another thread, or with the launcher if none is ready.
void run_next() {
  Thread& leaving = *running;
  const int next = next_thread();
  if (next < 0) {
    switch_fiber(leaving.fiber, launcher);
  } else if (&block.threads[next] != &leaving) {
    running = &block.threads[next];
    current = &running->builtins;
    switch_fiber(leaving.fiber, running->fiber);
  }
}

}  // namespace

void wait_as(Status status) {
  running->status = status;
  block.ready.erase(running->builtins.thread);
  run_next();
}

void make_ready(Thread& thread) {
  thread.status = Status::ready;
  block.ready.insert(thread.builtins.thread);
}

void yield() {
  if (order_is_random()) run_next();
}

namespace {

// Who waits for another thread in a loop of atomics gives it a chance to run, in order too; but a block that
// waits for another one would do so forever.
void give_way() {
  if (++atomic_count == atomics_of_a_block) {
    fault("block " + std::to_string(block.number) + " makes atomic operations without end, at last " +
          name_of(*running));
  }
  const bool is_due =
      order_is_random() ? random_below(atomics_between_switches) == 0 : atomic_count % atomics_in_order == 0;
  if (is_due) run_next();
}

}  // namespace

void before_atomic(const void* address, unsigned size) {
  set_fault_site(__builtin_return_address(0));
  give_way();
  check_access(address, size, size, Access::atomic, __builtin_return_address(0));
}

void unseen_copy(void* destination, const void* source, unsigned size) {
  std::memcpy(destination, source, size);
}

}  // namespace gpuhost

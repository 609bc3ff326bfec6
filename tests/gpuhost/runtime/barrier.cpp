// __syncthreads and its relatives: all threads of the block that have not exited meet.
#include <algorithm>
#include <cstring>

#include "faults.hpp"
#include "state.hpp"

namespace gpuhost {

namespace {

int barrier_result(Barrier barrier) {
  switch (barrier) {
    case Barrier::any: return block.barrier_votes != 0;
    case Barrier::all: return block.barrier_votes == block.at_barrier;
    default: return int(block.barrier_votes);
  }
}

const Thread& first_at_barrier() {
  const auto waits = [](const Thread& thread) { return thread.status == Status::at_barrier; };
  return *std::find_if(block.threads.begin(), block.threads.end(), waits);
}

void check_same_barrier(const Thread& one, const Thread& other) {
  if (std::strcmp(one.barrier_site, other.barrier_site) == 0) return;
  fault("divergent __syncthreads: " + name_of(one) + " is at " + one.barrier_site + ", " + name_of(other) +
        " is at " + other.barrier_site);
}

}  // namespace

void complete_barrier() {
  const Thread& first = first_at_barrier();
  block.barrier_result = barrier_result(first.barrier);
  block.at_barrier = 0;
  block.barrier_votes = 0;
  ++block.epoch;
  for (Thread& thread : block.threads) {
    if (thread.status != Status::at_barrier) continue;
    check_same_barrier(first, thread);
    make_ready(thread);
  }
}

int block_barrier(Barrier barrier, const char* site, int predicate) {
  set_fault_site(__builtin_return_address(0));
  running->barrier = barrier;
  running->barrier_site = site;
  running->status = Status::at_barrier;
  block.barrier_votes += predicate;
  if (++block.at_barrier == block.live) {
    complete_barrier();
    yield();
  } else {
    wait_as(Status::at_barrier);
  }
  return block.barrier_result;
}

}  // namespace gpuhost

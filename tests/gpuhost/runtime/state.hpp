// What the parts of the runtime share: the block that is running, its warps and threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fiber.hpp"
#include "interface.hpp"

namespace gpuhost {

enum class Status : std::uint8_t { ready, at_barrier, in_collective, exited };

// A call of a warp collective that waits for its lanes, or whose result has not been taken yet.
struct Collective {
  Operation operation;
  unsigned mask;
  int source;
  std::uint64_t value;
  std::uint64_t result;
};

struct Thread {
  Builtins builtins;
  Fiber fiber;
  Status status;
  Barrier barrier;
  const char* barrier_site;
};

// Sets of lanes are masks, lane 0 being bit 0.
struct Warp {
  unsigned first_thread;
  unsigned existing;
  unsigned waiting;
  unsigned exited;
  bool is_mixed;  // the waiting lanes have not all made the same call
  Collective calls[lanes_per_warp];
};

// The threads that can go on, as bits: finding the next one from any place takes a few instructions.
class ReadySet {
 public:
  void resize(unsigned count);
  void insert(unsigned thread) { words_[thread / 64] |= std::uint64_t(1) << thread % 64; }
  void erase(unsigned thread) { words_[thread / 64] &= ~(std::uint64_t(1) << thread % 64); }
  // The first member at `from` or after it, wrapping around; -1 if there is none.
  int first_from(unsigned from) const;

 private:
  std::vector<std::uint64_t> words_;
};

struct Block {
  unsigned number;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  ReadySet ready;
  unsigned live;
  unsigned at_barrier;
  unsigned barrier_votes;
  int barrier_result;
  unsigned epoch;  // barriers passed: the checker's coarse clock
};

struct Range {
  char* begin;
  std::size_t bytes;
  bool contains(const void* address, std::size_t size) const {
    const char* at = static_cast<const char*>(address);
    return at >= begin && size <= bytes && at <= begin + (bytes - size);
  }
};

extern Block block;
extern Thread* running;
extern Fiber launcher;         // the stack that the launch was called on
extern Range static_memory;    // the block's __shared__ variables
extern Range dynamic_memory;   // what dynamic_shared() points to
extern Range module_memory;    // code and constants of the kernel's library
extern Range argument_memory;  // where the launcher keeps the kernel's arguments

inline Warp& warp_of(const Thread& thread) { return block.warps[thread.builtins.thread / lanes_per_warp]; }
inline int lane_of(const Thread& thread) { return int(thread.builtins.thread % lanes_per_warp); }

// Calls `visit(lane)` for each lane of a set.
template <class Visit>
void for_each_lane(unsigned lanes, Visit visit) {
  for (; lanes; lanes &= lanes - 1) visit(__builtin_ctz(lanes));
}

// Takes the running thread out of the ready ones, and runs others until it is back among them.
void wait_as(Status status);
void make_ready(Thread& thread);

// Lets go on who waits in __syncthreads, which are all that have not exited.
void complete_barrier();

// "thread 5 of block 2 calls __syncwarp with mask 0x0000ffff"
std::string describe_collective(const Thread& thread);

// Faults if a lane that waits in a collective names the running thread, which is about to exit.
void check_exit();

}  // namespace gpuhost

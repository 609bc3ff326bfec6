// What code of a kernel asks of the runtime. Everything else in this folder is on one side of this line.
#pragma once

#include <cstddef>
#include <cstdint>

// CUDA's types of the built-in variables.
struct uint3 {
  unsigned x, y, z;
};

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

#pragma GCC visibility push(default)

namespace gpuhost {

constexpr int lanes_per_warp = 32;

// The built-in variables of one CUDA thread, and its number in the block.
struct Builtins {
  uint3 thread_index;
  uint3 block_index;
  dim3 block_size;
  dim3 grid_size;
  unsigned thread;
};

// Those of the thread that is running. The scheduler changes the pointer.
extern const Builtins* current;

enum class Operation : int {
  syncwarp,
  shuffle,
  shuffle_up,
  shuffle_down,
  shuffle_xor,
  ballot,
  match,
  reduce_add,
  reduce_min,
  reduce_max,
  reduce_and,
  reduce_or,
  reduce_xor,
};

// Meets the other lanes of `mask` in one collective. `source` is the lane that a shuffle reads from.
std::uint64_t warp_collective(Operation operation, unsigned mask, std::uint64_t value, int source);

enum class Barrier : int { plain, any, all, count };

// Meets all threads of the block. `site` names the line of the call, which has to be the same for all.
int block_barrier(Barrier barrier, const char* site, int predicate);

// Announces an atomic access to the checker, and may let other threads run first.
void before_atomic(const void* address, unsigned size);

// Copies without being seen by the checker: the memory access of an atomic operation.
void unseen_copy(void* destination, const void* source, unsigned size);

// Lets other threads run, where order is random.
void yield();

// The block's dynamic shared memory: `extern __shared__ char bytes[]` has no twin in C++.
void* dynamic_shared();

// How the launcher calls one kernel: with a pointer to each argument.
struct Entry {
  void (*call)(void** arguments);
  unsigned argument_count;
  const unsigned* argument_sizes;
};

}  // namespace gpuhost

#pragma GCC visibility pop

// Finds races and accesses out of bounds, in kernels that were compiled with the hooks of hooks.cpp.
#pragma once

#include <cstddef>

#include "shadow.hpp"
#include "state.hpp"

namespace gpuhost {

// A range of global memory that the kernel may touch. build.py mirrors it.
struct Array {
  const char* name;
  char* begin;
  std::size_t bytes;
  int writable;
};

// Starts with shadows that have seen nothing. Without `global_memory` only shared memory is looked at.
void begin_checking(const Array* arrays, std::size_t count, bool global_memory);
void begin_checking_block();
void end_checking();

// What __syncwarp does to the order of accesses.
void order_lanes(const Warp& warp, unsigned lanes);

// Called before each access of the running thread. Faults if it is wrong, so that it is not made. An access
// of `alignment` 1 may be anywhere.
void check_access(const void* address, std::size_t size, std::size_t alignment, Access access,
                  const void* return_address);

}  // namespace gpuhost

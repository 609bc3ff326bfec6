// The shared memory of the block that is running.
#pragma once

#include "state.hpp"

namespace gpuhost {

// Finds the memory ranges of the library that `symbol` is in.
void find_module(const void* symbol);

// Places dynamic shared memory of this size right before a page that cannot be touched.
void place_dynamic_memory(std::size_t bytes);

// Whether an address is among those that dynamic shared memory could have had, were it larger.
bool is_dynamic_mapping(const void* address);

// Fills all shared memory with a pattern that is NaN as float and double and large as an integer.
void poison_shared_memory();

}  // namespace gpuhost

// Which thread runs next.
#pragma once

#include <cstdint>
#include <vector>

namespace gpuhost {

void start_order(std::uint64_t seed);

// The order in which blocks run: shuffled, unless threads run in order.
std::vector<unsigned> order_of_blocks(unsigned count);

// Runs the threads of the block until none is ready.
void run_threads();

}  // namespace gpuhost

// The interface of the runtime to Python: build.py mirrors these structures in ctypes.
#pragma once

#include "checker.hpp"

namespace gpuhost {

struct Launch {
  const Entry* entry;
  void** arguments;  // pointers into the buffer
  char* argument_buffer;
  std::size_t argument_bytes;
  unsigned grid[3];
  unsigned block[3];
  std::size_t shared_bytes;
  std::uint64_t seed;
  const Array* arrays;
  std::size_t array_count;
  int checked;
  int check_global_memory;
  char* message;  // empty if the kernel ran to its end
  std::size_t message_bytes;
};

}  // namespace gpuhost

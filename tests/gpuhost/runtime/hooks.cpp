// The functions that g++ -fsanitize=thread puts calls of before each memory access. The thread sanitizer's
// own library, which would define them, is not linked.
#include <cstddef>
#include <cstring>

#include "checker.hpp"

using gpuhost::Access;
using gpuhost::check_access;

#pragma GCC visibility push(default)

extern "C" {

#define GPUHOST_HOOK(name, size, alignment, access)                                      \
  void __tsan_##name(void* address) {                                                    \
    check_access(address, size, alignment, Access::access, __builtin_return_address(0)); \
  }

GPUHOST_HOOK(read1, 1, 1, read)
GPUHOST_HOOK(read2, 2, 2, read)
GPUHOST_HOOK(read4, 4, 4, read)
GPUHOST_HOOK(read8, 8, 8, read)
GPUHOST_HOOK(read16, 16, 16, read)
GPUHOST_HOOK(write1, 1, 1, write)
GPUHOST_HOOK(write2, 2, 2, write)
GPUHOST_HOOK(write4, 4, 4, write)
GPUHOST_HOOK(write8, 8, 8, write)
GPUHOST_HOOK(write16, 16, 16, write)
GPUHOST_HOOK(unaligned_read2, 2, 1, read)
GPUHOST_HOOK(unaligned_read4, 4, 1, read)
GPUHOST_HOOK(unaligned_read8, 8, 1, read)
GPUHOST_HOOK(unaligned_read16, 16, 1, read)
GPUHOST_HOOK(unaligned_write2, 2, 1, write)
GPUHOST_HOOK(unaligned_write4, 4, 1, write)
GPUHOST_HOOK(unaligned_write8, 8, 1, write)
GPUHOST_HOOK(unaligned_write16, 16, 1, write)

void __tsan_read_range(void* address, std::size_t size) {
  check_access(address, size, 1, Access::read, __builtin_return_address(0));
}

void __tsan_write_range(void* address, std::size_t size) {
  check_access(address, size, 1, Access::write, __builtin_return_address(0));
}

// The linker sends a kernel's calls of the C library here.

void* __wrap_memcpy(void* destination, const void* source, std::size_t size) {
  check_access(source, size, 1, Access::read, __builtin_return_address(0));
  check_access(destination, size, 1, Access::write, __builtin_return_address(0));
  return std::memcpy(destination, source, size);
}

void* __wrap_memmove(void* destination, const void* source, std::size_t size) {
  check_access(source, size, 1, Access::read, __builtin_return_address(0));
  check_access(destination, size, 1, Access::write, __builtin_return_address(0));
  return std::memmove(destination, source, size);
}

void* __wrap_memset(void* destination, int value, std::size_t size) {
  check_access(destination, size, 1, Access::write, __builtin_return_address(0));
  return std::memset(destination, value, size);
}

void __tsan_init() {}

}  // extern "C"

#pragma GCC visibility pop

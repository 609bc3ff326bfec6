#include "shared_memory.hpp"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

extern "C" void* __tls_get_addr(std::size_t* module_and_offset);

namespace gpuhost {

Range static_memory;
Range dynamic_memory;
Range module_memory;

namespace {

const std::size_t page_bytes = std::size_t(sysconf(_SC_PAGESIZE));
constexpr std::size_t dynamic_capacity = 256 << 10;
constexpr std::size_t dynamic_alignment = 16;
constexpr std::uint32_t poison_word = 0x7ffdfeed;

// The range from the first to the last byte that the library occupies.
Range loaded_range(const dl_phdr_info& info) {
  std::size_t end = 0;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& header = info.dlpi_phdr[i];
    if (header.p_type == PT_LOAD) end = std::max(end, std::size_t(header.p_vaddr + header.p_memsz));
  }
  return {reinterpret_cast<char*>(info.dlpi_addr), end};
}

Range thread_local_range(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type == PT_TLS) {
      std::size_t start[2] = {info.dlpi_tls_modid, 0};
      return {static_cast<char*>(__tls_get_addr(start)), info.dlpi_phdr[i].p_memsz};
    }
  }
  return {nullptr, 0};
}

int visit_module(dl_phdr_info* info, std::size_t, void* symbol) {
  const Range range = loaded_range(*info);
  if (!range.contains(symbol, 1)) return 0;
  module_memory = range;
  static_memory = thread_local_range(*info);
  return 1;
}

Range map_dynamic_memory() {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  const std::size_t bytes = dynamic_capacity + page_bytes;
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapping == MAP_FAILED) std::abort();
  mprotect(static_cast<char*>(mapping) + dynamic_capacity, page_bytes, PROT_NONE);
  return {static_cast<char*>(mapping), bytes};
}

const Range& dynamic_mapping() {
  static const Range mapping = map_dynamic_memory();
  return mapping;
}

void poison(const Range& range) {
  constexpr std::size_t step = sizeof poison_word;
  for (std::size_t i = 0; i < range.bytes; i += step) {
    std::memcpy(range.begin + i, &poison_word, std::min(step, range.bytes - i));
  }
}

}  // namespace

void find_module(const void* symbol) { dl_iterate_phdr(visit_module, const_cast<void*>(symbol)); }

void place_dynamic_memory(std::size_t bytes) {
  char* end = dynamic_mapping().begin + dynamic_capacity;
  if (bytes > dynamic_capacity) std::abort();
  const std::size_t aligned = (bytes + dynamic_alignment - 1) / dynamic_alignment * dynamic_alignment;
  dynamic_memory = {end - aligned, bytes};
}

bool is_dynamic_mapping(const void* address) { return dynamic_mapping().contains(address, 1); }

void poison_shared_memory() {
  poison(static_memory);
  poison(dynamic_memory);
}

void* dynamic_shared() { return dynamic_memory.begin; }

}  // namespace gpuhost

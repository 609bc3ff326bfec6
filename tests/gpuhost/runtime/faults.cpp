// Faults: what is wrong, who did it and where.
#include "faults.hpp"

#include <cstdio>

#include "state.hpp"

namespace gpuhost {

namespace {

std::string message;
const void* fault_site = nullptr;

}  // namespace

void clear_faults() {
  message.clear();
  fault_site = nullptr;
}

const std::string& fault_message() { return message; }

void set_fault_message(const std::string& text) { message = text; }

void fault(const std::string& text) {
  message = text + name_of_site(site_offset(fault_site));
  switch_fiber(running->fiber, launcher);
  __builtin_unreachable();
}

std::string name_of(unsigned thread, unsigned block_number) {
  return "thread " + std::to_string(thread) + " of block " + std::to_string(block_number);
}

std::string name_of(const Thread& thread) { return name_of(thread.builtins.thread, block.number); }

void set_fault_site(const void* return_address) { fault_site = return_address; }

std::uint32_t site_offset(const void* return_address) {
  if (!module_memory.contains(return_address, 1)) return 0;
  return std::uint32_t(static_cast<const char*>(return_address) - module_memory.begin);
}

std::string name_of_site(std::uint32_t offset) {
  char text[32];
  std::snprintf(text, sizeof text, "<site %x>", unsigned(offset));
  return offset ? text : "";
}

}  // namespace gpuhost

// Faults: what is wrong, who did it and where.
#pragma once

#include <cstdint>
#include <string>

namespace gpuhost {

struct Thread;

// Ends the launch with this message, from within a thread: it never runs again, and what it was about to do
// is not done.
[[noreturn]] void fault(const std::string& text);

// Where in the kernel's code the running thread is, for the message of a fault.
void set_fault_site(const void* return_address);

void clear_faults();
void set_fault_message(const std::string& text);
const std::string& fault_message();  // empty if there was no fault

// "thread 5 of block 2"
std::string name_of(unsigned thread, unsigned block_number);
std::string name_of(const Thread& thread);

// A place in the kernel's code, as an offset into its library, and as text that the launcher in Python
// replaces by file and line.
std::uint32_t site_offset(const void* return_address);
std::string name_of_site(std::uint32_t offset);

}  // namespace gpuhost

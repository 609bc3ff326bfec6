#include "fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace gpuhost {

namespace {

const std::size_t page_bytes = std::size_t(sysconf(_SC_PAGESIZE));
const std::size_t stack_bytes = (64 << 10) + page_bytes;

char* pool = nullptr;
std::size_t pool_stacks = 0;

// Tops of stacks are not a power of two apart, or the hot ends of all would meet in a few sets of the cache.
char* stack_top(std::size_t stack) {
  const std::size_t shift = stack % 48 * 64;
  return pool + (stack + 1) * stack_bytes - shift;
}

}  // namespace

void reserve_stacks(std::size_t count) {
  if (count <= pool_stacks) return;
  if (pool) munmap(pool, pool_stacks * stack_bytes);
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* mapping = mmap(nullptr, count * stack_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapping == MAP_FAILED) std::abort();
  pool = static_cast<char*>(mapping);
  pool_stacks = count;
  for (std::size_t stack = 0; stack < count; ++stack) {
    mprotect(pool + stack * stack_bytes, page_bytes, PROT_NONE);
  }
}

bool is_on_stack(const void* address) {
  return address >= pool && address < pool + pool_stacks * stack_bytes;
}

#ifdef GPUHOST_OWN_SWITCH

// Saves the registers that a function call preserves on one stack and restores them from the other: a few
// nanoseconds, where swapcontext makes a system call for the signal mask.
extern "C" void gpuhost_switch_stack(void** save, void* load);
asm(R"(
.text
.globl gpuhost_switch_stack
.hidden gpuhost_switch_stack
.type gpuhost_switch_stack, @function
gpuhost_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size gpuhost_switch_stack, . - gpuhost_switch_stack
)");

void prepare_fiber(Fiber& fiber, std::size_t stack, void (*function)()) {
  constexpr int saved_registers = 6;
  void** top = reinterpret_cast<void**>(stack_top(stack));
  *--top = nullptr;  // where the function would return to; also aligns its stack as a call does
  *--top = reinterpret_cast<void*>(function);
  for (int i = 0; i < saved_registers; ++i) *--top = nullptr;
  fiber.stack_pointer = top;
}

void switch_fiber(Fiber& from, Fiber& to) { gpuhost_switch_stack(&from.stack_pointer, to.stack_pointer); }

#else

void prepare_fiber(Fiber& fiber, std::size_t stack, void (*function)()) {
  char* bottom = pool + stack * stack_bytes + page_bytes;
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = bottom;
  fiber.context.uc_stack.ss_size = std::size_t(stack_top(stack) - bottom);
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, function, 0);
}

void switch_fiber(Fiber& from, Fiber& to) { swapcontext(&from.context, &to.context); }

#endif

}  // namespace gpuhost

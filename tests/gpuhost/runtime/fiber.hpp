// Fibers: stacks that one thread of the operating system switches between by hand.
#pragma once

#include <cstddef>

#if defined(__x86_64__) && !defined(GPUHOST_PORTABLE_FIBERS)
#define GPUHOST_OWN_SWITCH 1
#else
#include <ucontext.h>
#endif

namespace gpuhost {

struct Fiber {
#ifdef GPUHOST_OWN_SWITCH
  void* stack_pointer;
#else
  ucontext_t context;
#endif
};

// Makes `fiber` run `function`, which must not return, on stack number `stack` of the pool.
void prepare_fiber(Fiber& fiber, std::size_t stack, void (*function)());

// Stops running `from`, whose state is kept in it, and goes on with `to`.
void switch_fiber(Fiber& from, Fiber& to);

// Gives the pool at least `count` stacks, each with a page below it that faults on overflow.
void reserve_stacks(std::size_t count);

bool is_on_stack(const void* address);

}  // namespace gpuhost

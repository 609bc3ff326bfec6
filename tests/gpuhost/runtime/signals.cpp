#include "signals.hpp"

#include <csetjmp>
#include <csignal>
#include <cstdio>

#include "faults.hpp"
#include "state.hpp"

namespace gpuhost {

namespace {

constexpr int caught_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr int caught_count = 4;
sigjmp_buf before_function;

void handle_signal(int number, siginfo_t* info, void*) {
  char text[96];
  switch (number) {
    case SIGFPE: std::snprintf(text, sizeof text, "integer division by zero"); break;
    case SIGILL: std::snprintf(text, sizeof text, "trap, or access that is not aligned"); break;
    default: std::snprintf(text, sizeof text, "access that the machine refuses at address %p", info->si_addr);
  }
  set_fault_message(std::string(text) + " by " + name_of(*running));
  siglongjmp(before_function, 1);
}

// Handles the signals as long as it exists. The handler needs a stack of its own: a fiber's may be full.
class Handlers {
 public:
  Handlers() {
    static char stack[64 << 10];
    stack_t own = {};
    own.ss_sp = stack;
    own.ss_size = sizeof stack;
    sigaltstack(&own, &old_stack_);
    struct sigaction action = {};
    action.sa_sigaction = handle_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (int i = 0; i < caught_count; ++i) sigaction(caught_signals[i], &action, &old_actions_[i]);
  }
  ~Handlers() {
    for (int i = 0; i < caught_count; ++i) sigaction(caught_signals[i], &old_actions_[i], nullptr);
    sigaltstack(&old_stack_, nullptr);
  }

 private:
  stack_t old_stack_;
  struct sigaction old_actions_[caught_count];
};

}  // namespace

void with_signals_caught(void (*function)()) {
  const Handlers handlers;
  if (sigsetjmp(before_function, 1) == 0) function();
}

}  // namespace gpuhost

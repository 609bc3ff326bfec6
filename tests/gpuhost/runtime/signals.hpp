// Signals: a wild pointer ends the launch, and not the process.
#pragma once

namespace gpuhost {

// Calls a function that runs kernels. Where one of these signals ends it, the fault message says so.
void with_signals_caught(void (*function)());

}  // namespace gpuhost

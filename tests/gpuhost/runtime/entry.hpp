// The one symbol that a kernel's library exports: how to call the kernel, unpacked by its own signature.
#pragma once

namespace gpuhost {

// Not instrumented, so that the launcher's argument buffers stay out of the checker's sight.
#define GPUALTO_HOST_UNSEEN __attribute__((no_sanitize("thread"), noipa))

template <auto kernel>
struct Unpack;

template <class... Parameters, void (*kernel)(Parameters...)>
struct Unpack<kernel> {
  static constexpr unsigned count = sizeof...(Parameters);
  static constexpr unsigned sizes[count + 1] = {unsigned(sizeof(Parameters))..., 0};

  template <std::size_t... position>
  GPUALTO_HOST_UNSEEN static void call_with([[maybe_unused]] void** arguments,
                                            std::index_sequence<position...>) {
    kernel(*static_cast<Parameters*>(arguments[position])...);
  }

  GPUALTO_HOST_UNSEEN static void call(void** arguments) {
    call_with(arguments, std::index_sequence_for<Parameters...>{});
  }
};

}  // namespace gpuhost

#define GPUALTO_HOST_ENTRY(...)                                                            \
  extern "C" __attribute__((visibility("default"))) const gpuhost::Entry gpuhost_entry = { \
      &gpuhost::Unpack<&__VA_ARGS__>::call,                                                \
      gpuhost::Unpack<&__VA_ARGS__>::count,                                                \
      gpuhost::Unpack<&__VA_ARGS__>::sizes,                                                \
  };

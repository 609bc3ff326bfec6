// Integer intrinsics, casts of bits, and what else CUDA has in the global namespace.
#pragma once

using std::max;
using std::min;

// CUDA's accept arguments of two arithmetic types as well.
template <class One, class Other, class = std::enable_if_t<!std::is_same_v<One, Other>>>
constexpr std::common_type_t<One, Other> min(One one, Other other) {
  return std::min<std::common_type_t<One, Other>>(one, other);
}

template <class One, class Other, class = std::enable_if_t<!std::is_same_v<One, Other>>>
constexpr std::common_type_t<One, Other> max(One one, Other other) {
  return std::max<std::common_type_t<One, Other>>(one, other);
}

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }

inline unsigned __brev(unsigned x) {
  x = __builtin_bswap32(x);
  x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
  x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
  return (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
}

inline unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32));
}

inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return (unsigned long long)((unsigned __int128)x * y >> 64);
}

// Loads and stores with hints for the cache.

template <class T>
inline T __ldg(const T* address) {
  return *address;
}

template <class T>
inline T __ldcg(const T* address) {
  return *address;
}

template <class T>
inline T __ldcs(const T* address) {
  return *address;
}

template <class T>
inline void __stcg(T* address, T value) {
  *address = value;
}

template <class T>
inline void __stcs(T* address, T value) {
  *address = value;
}

namespace gpuhost {

template <class To, class From>
inline To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

}  // namespace gpuhost

inline unsigned __float_as_uint(float x) { return gpuhost::bit_cast<unsigned>(x); }
inline int __float_as_int(float x) { return gpuhost::bit_cast<int>(x); }
inline float __uint_as_float(unsigned x) { return gpuhost::bit_cast<float>(x); }
inline float __int_as_float(int x) { return gpuhost::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return gpuhost::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return gpuhost::bit_cast<double>(x); }

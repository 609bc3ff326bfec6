// Atomic operations. One fiber runs at a time and cannot be interrupted between load and store, so that
// announcing the access is all there is to them. Overloads exist for the types that CUDA has them for.
#pragma once

namespace gpuhost {

template <class T, class Update>
inline T read_modify_write(T* address, Update update) {
  before_atomic(address, sizeof(T));
  T old;
  unseen_copy(&old, address, sizeof(T));
  const T updated = update(old);
  unseen_copy(address, &updated, sizeof(T));
  return old;
}

// The second argument converts to T, and does not take part in finding out what T is.
template <class T>
using Given = std::common_type_t<T>;

template <class T>
constexpr bool is_integer = std::is_same_v<T, int> || std::is_same_v<T, unsigned> ||
                            std::is_same_v<T, long long> || std::is_same_v<T, unsigned long long>;

template <class T>
constexpr bool is_addable =
    (is_integer<T> && !std::is_same_v<T, long long>) || std::is_same_v<T, float> || std::is_same_v<T, double>;

template <class T>
constexpr bool is_exchangeable = (is_integer<T> && !std::is_same_v<T, long long>) || std::is_same_v<T, float>;

}  // namespace gpuhost

template <class T>
inline T atomicAdd(T* address, gpuhost::Given<T> value) {
  static_assert(gpuhost::is_addable<T>, "CUDA has no atomicAdd for this type");
  return gpuhost::read_modify_write(address, [&](T old) { return T(old + value); });
}

inline float2 atomicAdd(float2* address, float2 value) {
  const auto sum = [&](float2 old) { return float2{old.x + value.x, old.y + value.y}; };
  return gpuhost::read_modify_write(address, sum);
}

inline float4 atomicAdd(float4* address, float4 value) {
  const auto sum = [&](float4 old) {
    return float4{old.x + value.x, old.y + value.y, old.z + value.z, old.w + value.w};
  };
  return gpuhost::read_modify_write(address, sum);
}

template <class T>
inline T atomicMin(T* address, gpuhost::Given<T> value) {
  static_assert(gpuhost::is_integer<T>, "CUDA has no atomicMin for this type");
  return gpuhost::read_modify_write(address, [&](T old) { return value < old ? value : old; });
}

template <class T>
inline T atomicMax(T* address, gpuhost::Given<T> value) {
  static_assert(gpuhost::is_integer<T>, "CUDA has no atomicMax for this type");
  return gpuhost::read_modify_write(address, [&](T old) { return old < value ? value : old; });
}

template <class T>
inline T atomicAnd(T* address, gpuhost::Given<T> value) {
  static_assert(gpuhost::is_integer<T>, "CUDA has no atomicAnd for this type");
  return gpuhost::read_modify_write(address, [&](T old) { return T(old & value); });
}

template <class T>
inline T atomicOr(T* address, gpuhost::Given<T> value) {
  static_assert(gpuhost::is_integer<T>, "CUDA has no atomicOr for this type");
  return gpuhost::read_modify_write(address, [&](T old) { return T(old | value); });
}

template <class T>
inline T atomicExch(T* address, gpuhost::Given<T> value) {
  static_assert(gpuhost::is_exchangeable<T>, "CUDA has no atomicExch for this type");
  return gpuhost::read_modify_write(address, [&](T) { return value; });
}

template <class T>
inline T atomicCAS(T* address, gpuhost::Given<T> compare, gpuhost::Given<T> value) {
  static_assert(gpuhost::is_integer<T> && !std::is_same_v<T, long long>,
                "CUDA has no atomicCAS for this type");
  return gpuhost::read_modify_write(address, [&](T old) { return old == compare ? value : old; });
}

// Warp collectives: every value travels as 64 bits, and the runtime's warp_collective does the meeting.
#pragma once

namespace gpuhost {

// CUDA has overloads for types of 4 and 8 bytes; narrower ones become int on the way in.
template <class T>
using Promoted = decltype(+std::declval<T>());

template <class T>
inline std::uint64_t to_bits(T value) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T>
inline T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline int lane() { return int(current->thread % lanes_per_warp); }

// First and last lane of this lane's segment of `width` lanes.
inline int segment_first(int width) { return lane() & ~(width - 1); }
inline int segment_last(int width) { return segment_first(width) + width - 1; }

// A lane whose source is out of range gets its own value back, as on the device.
template <class T>
inline Promoted<T> shuffle(Operation operation, unsigned mask, T value, int source, bool in_range) {
  const std::uint64_t bits = to_bits<Promoted<T>>(value);
  return from_bits<Promoted<T>>(warp_collective(operation, mask, bits, in_range ? source : lane()));
}

template <class T>
inline T reduce(Operation operation, unsigned mask, T value) {
  static_assert(std::is_same_v<T, int> || std::is_same_v<T, unsigned>);
  return T(warp_collective(operation, mask, std::uint64_t(std::int64_t(value)), 0));
}

}  // namespace gpuhost

inline void __syncwarp(unsigned mask = ~0u) {
  gpuhost::warp_collective(gpuhost::Operation::syncwarp, mask, 0, 0);
}

template <class T>
inline auto __shfl_sync(unsigned mask, T value, int source, int width = warpSize) {
  const int lane = gpuhost::segment_first(width) + (source & (width - 1));
  return gpuhost::shuffle(gpuhost::Operation::shuffle, mask, value, lane, true);
}

template <class T>
inline auto __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
  const int lane = gpuhost::lane() - int(delta);
  const bool in_range = lane >= gpuhost::segment_first(width);
  return gpuhost::shuffle(gpuhost::Operation::shuffle_up, mask, value, lane, in_range);
}

template <class T>
inline auto __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
  const int lane = gpuhost::lane() + int(delta);
  const bool in_range = lane <= gpuhost::segment_last(width);
  return gpuhost::shuffle(gpuhost::Operation::shuffle_down, mask, value, lane, in_range);
}

// Lanes may read from earlier segments, but not from later ones.
template <class T>
inline auto __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize) {
  const int lane = gpuhost::lane() ^ lane_mask;
  const bool in_range = lane <= gpuhost::segment_last(width);
  return gpuhost::shuffle(gpuhost::Operation::shuffle_xor, mask, value, lane, in_range);
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return unsigned(gpuhost::warp_collective(gpuhost::Operation::ballot, mask, predicate != 0, 0));
}

inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value) {
  const std::uint64_t bits = gpuhost::to_bits<gpuhost::Promoted<T>>(value);
  return unsigned(gpuhost::warp_collective(gpuhost::Operation::match, mask, bits, 0));
}

template <class T>
inline T __reduce_add_sync(unsigned mask, T value) {
  return gpuhost::reduce(gpuhost::Operation::reduce_add, mask, value);
}

template <class T>
inline T __reduce_min_sync(unsigned mask, T value) {
  return gpuhost::reduce(gpuhost::Operation::reduce_min, mask, value);
}

template <class T>
inline T __reduce_max_sync(unsigned mask, T value) {
  return gpuhost::reduce(gpuhost::Operation::reduce_max, mask, value);
}

inline unsigned __reduce_and_sync(unsigned mask, unsigned value) {
  return gpuhost::reduce(gpuhost::Operation::reduce_and, mask, value);
}

inline unsigned __reduce_or_sync(unsigned mask, unsigned value) {
  return gpuhost::reduce(gpuhost::Operation::reduce_or, mask, value);
}

inline unsigned __reduce_xor_sync(unsigned mask, unsigned value) {
  return gpuhost::reduce(gpuhost::Operation::reduce_xor, mask, value);
}

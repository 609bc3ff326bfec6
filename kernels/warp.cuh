// What 32 lanes do together. Every function here is called by all lanes of a warp.
#pragma once

namespace gpualto {

constexpr int warp_lanes = 32;
constexpr unsigned all_lanes = ~0u;

__device__ __forceinline__ int lane_number() { return static_cast<int>(threadIdx.x % warp_lanes); }

__device__ __forceinline__ unsigned lanes_below(int count) {
  return count >= warp_lanes ? all_lanes : (1u << count) - 1;
}

// Sum over this lane and the lanes below it.
//
//   value   1 1 1 1 ...
//   result  1 2 3 4 ...
__device__ __forceinline__ int inclusive_sum(int value) {
  const int lane = lane_number();
#pragma unroll
  for (int step = 1; step < warp_lanes; step *= 2) {
    const int below = __shfl_up_sync(all_lanes, value, step);
    if (lane >= step) value += below;
  }
  return value;
}

// Gives the first `count` lanes places 0 to count - 1, such that equal keys are neighbours: groups in the order of
// their first lane, lanes of a group in their own order. Other lanes get a place that means nothing.
//
//   key    7 2 7 7 2    count = 5
//   place  0 3 1 2 4
template <class Key>
__device__ __forceinline__ int place_by_key(Key key, int count) {
  const int lane = lane_number();
  unsigned peers = 1u << lane;
  if (lane < count) peers = __match_any_sync(lanes_below(count), key);
  const int leader = __ffs(static_cast<int>(peers)) - 1;
  const int size = lane == leader && lane < count ? __popc(peers) : 0;
  const int begin = inclusive_sum(size) - size;
  return __shfl_sync(all_lanes, begin, leader) + __popc(peers & lanes_below(lane));
}

// Adds up what neighbouring groups of `Lanes` lanes hold under equal keys: a segmented inclusive sum over groups.
// Returns whether this group is the last one of its key. Equal keys are neighbours, and groups without a key,
// where `filled` is false, come last. `Sum` offers shifted(lanes), its copy from a lower lane, and add.
//
//   groups   A  A  B  B  B  C
//   sums     1  2  3  4  5  6
//   after    1  3  3  7 12  6
//   returns  0  1  0  0  1  1
template <int Lanes, class Key, class Sum>
__device__ __forceinline__ bool sum_over_groups(Key key, bool filled, Sum& sum) {
  const int lane = lane_number();
#pragma unroll
  for (int step = Lanes; step < warp_lanes; step *= 2) {
    const Key other = __shfl_up_sync(all_lanes, key, step);
    const Sum below = sum.shifted(step);
    if (filled && lane >= step && other == key) sum.add(below);
  }
  const Key next = __shfl_down_sync(all_lanes, key, Lanes);
  const int next_filled = __shfl_down_sync(all_lanes, static_cast<int>(filled), Lanes);
  return filled && !(lane + Lanes < warp_lanes && next_filled && next == key);
}

// The sum over each group of `Lanes` neighbouring lanes, in every lane of the group.
template <int Lanes, class Number>
__device__ __forceinline__ Number sum_over_lanes(Number value) {
#pragma unroll
  for (int step = Lanes / 2; step > 0; step /= 2) value += __shfl_xor_sync(all_lanes, value, step);
  return value;
}

// The value that `better(other, value)` prefers over all others of the warp, in every lane.
template <class Number, class Better>
__device__ __forceinline__ Number warp_best(Number value, Better better) {
#pragma unroll
  for (int step = warp_lanes / 2; step > 0; step /= 2) {
    const Number other = __shfl_xor_sync(all_lanes, value, step);
    if (better(other, value)) value = other;
  }
  return value;
}

template <class Number>
__device__ __forceinline__ Number warp_minimum(Number value) {
  return warp_best(value, [](Number other, Number best) { return other < best; });
}

template <class Number>
__device__ __forceinline__ Number warp_maximum(Number value) {
  return warp_best(value, [](Number other, Number best) { return best < other; });
}

}  // namespace gpualto

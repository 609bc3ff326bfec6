// Which coordinates the segments of a tensor touch: per segment and mode, the least and the largest.
#include "index.cuh"
#include "warp.cuh"

namespace gpualto {

template <class Layout>
struct Extremes {
  Coordinate low[Layout::modes];
  Coordinate high[Layout::modes];

  template <int Mode = 0>
  __device__ __forceinline__ void include(const LinearIndex<Layout>& index) {
    if constexpr (Mode < Layout::modes) {
      const Coordinate value = coordinate<Layout, Mode>(index);
      if (value < low[Mode]) low[Mode] = value;
      if (value > high[Mode]) high[Mode] = value;
      include<Mode + 1>(index);
    }
  }
};

// Segments are equal runs: the first `longer` of them have one nonzero more than `size`. `low` and `high` are
// (segments, modes) arrays. Grid: a block a segment.
template <class Layout, int Threads>
__global__ void __launch_bounds__(Threads, 1)
    segment_intervals(Words<Layout> words, long long size, long long longer, long long* __restrict__ low,
                      long long* __restrict__ high) {
  constexpr int warps = Threads / warp_lanes;
  __shared__ Coordinate lows[Layout::modes][warps], highs[Layout::modes][warps];
  const long long segment = blockIdx.x;
  const long long begin = segment * size + (segment < longer ? segment : longer);
  const long long end = begin + size + (segment < longer ? 1 : 0);
  Extremes<Layout> own;
#pragma unroll
  for (int mode = 0; mode < Layout::modes; ++mode) {
    own.low[mode] = ~Coordinate(0);
    own.high[mode] = 0;
  }
  for (long long n = begin + threadIdx.x; n < end; n += Threads) own.include(load_index(words, n));

  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
#pragma unroll
  for (int mode = 0; mode < Layout::modes; ++mode) {
    const Coordinate least = warp_minimum(own.low[mode]), largest = warp_maximum(own.high[mode]);
    if (lane_number() == 0) {
      lows[mode][warp] = least;
      highs[mode][warp] = largest;
    }
  }
  __syncthreads();
  for (int mode = static_cast<int>(threadIdx.x); mode < Layout::modes; mode += Threads) {
    Coordinate least = lows[mode][0], largest = highs[mode][0];
    for (int other = 1; other < warps; ++other) {
      if (lows[mode][other] < least) least = lows[mode][other];
      if (highs[mode][other] > largest) largest = highs[mode][other];
    }
    low[segment * Layout::modes + mode] = static_cast<long long>(least);
    high[segment * Layout::modes + mode] = static_cast<long long>(largest);
  }
}

}  // namespace gpualto

// MTTKRP whose sums are collected in shared memory: for output modes with much reuse, where a segment of nonzeros
// touches few rows.
#include "mttkrp.cuh"

namespace gpualto {

// Where a segment begins, and the interval of output rows that it touches.
struct Segment {
  long long begin, end, low, rows;
};

// Grid: a segment in x, a panel of columns in y. `out` is zero before. Dynamic shared memory: the rows of the widest
// interval, of one panel each.
template <class Layout, int Mode, class Value, class T, int Rank, int Threads>
__global__ void __launch_bounds__(Threads, 1)
    mttkrp_staged(Words<Layout> words, const Value* __restrict__ values, const Segment* __restrict__ segments,
                  Pointers<const T, Layout::modes> factors, T* __restrict__ out) {
  constexpr int width = Columns<T, Rank>::panel_width;
  __shared__ Tile<Layout, T> tiles[Threads / warp_lanes];
  GPUALTO_DYNAMIC_SHARED(T, staged);
  const Segment segment = segments[blockIdx.x];
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
  const int panel = static_cast<int>(blockIdx.y);
  const int numbers = static_cast<int>(segment.rows) * width;
  for (int n = static_cast<int>(threadIdx.x); n < numbers; n += Threads) staged[n] = 0;
  __syncthreads();

  const auto target = [&](Row<Layout> row, Fragment<T, Rank>& sum) {
    T* const place = staged + static_cast<int>(static_cast<long long>(row) - segment.low) * width;
    sum.for_each(panel, [&](auto& vector, int column) { add_to_shared(place + column, vector); });
  };
  const auto fill = [&](Tile<Layout, T>& tile, long long first, int count) {
    fill_tile<Layout, Mode>(tile, words, values, first, count);
  };
  sum_run<Layout, Mode, T, Rank>(tiles[warp], segment.begin + warp * warp_lanes, segment.end, Threads, factors, panel,
                                 fill, target);
  __syncthreads();

  using Part = Vector<T, Columns<T, Rank>::vector>;
  constexpr int length = Columns<T, Rank>::vector;
  T* const place = out + segment.low * Rank + panel * width;
  for (int n = static_cast<int>(threadIdx.x) * length; n < numbers; n += Threads * length) {
    const int row = n / width, column = n % width;
    if (panel * width + column >= Rank) continue;
    const Part sum = load_vector<T, length>(staged + n);
    bool changed = false;  // rows that no nonzero of the segment has are left alone
#pragma unroll
    for (int k = 0; k < length; ++k) changed |= sum.at[k] != 0;
    if (changed) add_to_global(place + static_cast<long long>(row) * Rank + column, sum);
  }
}

}  // namespace gpualto

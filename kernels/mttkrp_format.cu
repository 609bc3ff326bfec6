// MTTKRP of a tensor in any format. `Stored` is written for the format: its arrays, and
//
//   template <class Row> bool read(U position, Row* coordinates) const
//
// which gives the coordinates of a position, or false where the position only fills the format up.
#include "mttkrp.cuh"

namespace gpualto {

// The row of positions that are no entries: what is summed under it goes nowhere.
template <class Layout>
constexpr Row<Layout> no_row = ~Row<Layout>(0);

template <class Layout, int Mode, class T, class Stored, class Value>
__device__ __forceinline__ void fill_from_format(Tile<Layout, T>& tile, const Stored& stored, const Value* values,
                                                 long long first, int count) {
  const int lane = lane_number();
  Row<Layout> coordinates[Layout::modes] = {};
  T value{};
  bool is_entry = false;
  if (lane < count) {
    value = static_cast<T>(values[first + lane]);
    is_entry = (Stored::tells_zeros || value != 0) && stored.read(static_cast<U>(first + lane), coordinates);
  }
  if (!is_entry) {
#pragma unroll
    for (int mode = 0; mode < Layout::modes; ++mode) coordinates[mode] = 0;
    coordinates[Mode] = no_row<Layout>;
  }
  const int place = place_by_key(coordinates[Mode], count);
  if (lane < count) {
#pragma unroll
    for (int mode = 0; mode < Layout::modes; ++mode) tile.coordinates[mode][place] = coordinates[mode];
    tile.values[place] = value;
  }
  __syncwarp();
}

// Grid: any number of blocks in x, a panel of columns in y. `out` is zero before.
template <class Layout, class Stored, int Mode, class Value, class T, int Rank, int Threads>
__global__ void __launch_bounds__(Threads, 1)
    mttkrp_format(Stored stored, const Value* __restrict__ values, long long positions,
                  Pointers<const T, Layout::modes> factors, T* __restrict__ out) {
  __shared__ Tile<Layout, T> tiles[Threads / warp_lanes];
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
  const int panel = static_cast<int>(blockIdx.y);
  const long long begin = static_cast<long long>(blockIdx.x) * Threads + warp * warp_lanes;
  const long long stride = static_cast<long long>(gridDim.x) * Threads;
  const auto fill = [&](Tile<Layout, T>& tile, long long first, int count) {
    fill_from_format<Layout, Mode>(tile, stored, values, first, count);
  };
  const auto target = [&](Row<Layout> row, Fragment<T, Rank>& sum) {
    if (row != no_row<Layout>) add_to_row(out, static_cast<long long>(row), panel, sum);
  };
  sum_run<Layout, Mode, T, Rank>(tiles[warp], begin, positions, stride, factors, panel, fill, target);
}

}  // namespace gpualto

// The values of a CP model at the nonzeros: the sum of the product of one row of each factor.
#include "mttkrp.cuh"

namespace gpualto {

constexpr int no_mode = -1;

// Grid: any number of blocks. A warp decodes 32 nonzeros, a lane each; then groups of lanes take a nonzero's rows.
template <class Layout, class T, int Rank, int Threads>
__global__ void __launch_bounds__(Threads, 1)
    model_values(Words<Layout> words, long long nnz, Pointers<const T, Layout::modes> factors, T* __restrict__ out) {
  constexpr int lanes = Columns<T, Rank>::lanes;
  __shared__ Tile<Layout, T> tiles[Threads / warp_lanes];
  Tile<Layout, T>& tile = tiles[threadIdx.x / warp_lanes];
  const int lane = lane_number();
  const long long stride = static_cast<long long>(gridDim.x) * Threads;
  const long long begin = static_cast<long long>(blockIdx.x) * Threads + (threadIdx.x - lane);
  for (long long first = begin; first < nnz; first += stride) {
    const int count = nnz - first < warp_lanes ? static_cast<int>(nnz - first) : warp_lanes;
    if (lane < count) {
      store_coordinates(tile, lane, load_index(words, first + lane));
      tile.values[lane] = T(1);
    }
    __syncwarp();
    for (int n = lane / lanes; n < warp_lanes; n += warp_lanes / lanes) {
      T sum = 0;
      for (int panel = 0; n < count && panel < Columns<T, Rank>::panels; ++panel) {
        sum += product<Layout, no_mode, T, Rank>(tile, n, factors, panel).sum(panel);
      }
      sum = sum_over_lanes<lanes>(sum);
      if (n < count && lane % lanes == 0) out[first + n] = sum;
    }
    __syncwarp();
  }
}

}  // namespace gpualto

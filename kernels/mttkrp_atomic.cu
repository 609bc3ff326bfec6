// MTTKRP whose sums go straight to the output, by atomic additions: for output modes with little reuse.
#include "mttkrp.cuh"

namespace gpualto {

// Grid: any number of blocks in x, a panel of columns in y. `out` is zero before.
template <class Layout, int Mode, class Value, class T, int Rank, int Threads>
__global__ void __launch_bounds__(Threads, 1)
    mttkrp_atomic(Words<Layout> words, const Value* __restrict__ values, long long nnz,
                  Pointers<const T, Layout::modes> factors, T* __restrict__ out) {
  __shared__ Tile<Layout, T> tiles[Threads / warp_lanes];
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
  const int panel = static_cast<int>(blockIdx.y);
  const long long begin = static_cast<long long>(blockIdx.x) * Threads + warp * warp_lanes;
  const long long stride = static_cast<long long>(gridDim.x) * Threads;
  const auto target = [&](Row<Layout> row, Fragment<T, Rank>& sum) {
    add_to_row(out, static_cast<long long>(row), panel, sum);
  };
  const auto fill = [&](Tile<Layout, T>& tile, long long first, int count) {
    fill_tile<Layout, Mode>(tile, words, values, first, count);
  };
  sum_run<Layout, Mode, T, Rank>(tiles[warp], begin, nnz, stride, factors, panel, fill, target);
}

}  // namespace gpualto

// Linear indices to coordinates.
#include "index.cuh"

namespace gpualto {

template <class Layout, int First, int Count, class Integer, int N = 0>
__device__ __forceinline__ void store_modes(const LinearIndex<Layout>& index, Integer* coordinates, long long nnz,
                                            long long position) {
  if constexpr (N < Count) {
    coordinates[N * nnz + position] = static_cast<Integer>(coordinate<Layout, First + N>(index));
    store_modes<Layout, First, Count, Integer, N + 1>(index, coordinates, nnz, position);
  }
}

// Writes `Count` modes from mode `First` on to the rows of a (Count, nnz) array. Grid: any number of blocks.
template <class Layout, int First, int Count, class Integer, int Threads>
__global__ void __launch_bounds__(Threads, 1)
    delinearize(Words<Layout> words, long long nnz, Integer* __restrict__ coordinates) {
  const long long stride = static_cast<long long>(gridDim.x) * Threads;
  for (long long n = static_cast<long long>(blockIdx.x) * Threads + threadIdx.x; n < nnz; n += stride) {
    store_modes<Layout, First, Count>(load_index(words, n), coordinates, nnz, n);
  }
}

}  // namespace gpualto

// Sums of runs: what numbers of equal indices add up to, each run on its own and in its order.
#include "memory.cuh"

namespace gpualto {

// Row `run` of `sums` becomes the sum of the rows of `numbers` from starts[run] to the next start, or to `rows`.
// Grid: any number of blocks. A thread adds up one column of a run, in double: neighbours read neighbouring columns.
template <class T, int Threads>
__global__ void __launch_bounds__(Threads, 1)
    sum_runs(const T* __restrict__ numbers, long long rows, int columns, const long long* __restrict__ starts,
             long long runs, T* __restrict__ sums) {
  const long long stride = static_cast<long long>(gridDim.x) * Threads;
  for (long long n = static_cast<long long>(blockIdx.x) * Threads + threadIdx.x; n < runs * columns; n += stride) {
    const long long run = n / columns, column = n % columns;
    const long long end = run + 1 < runs ? starts[run + 1] : rows;
    double sum = 0;
    for (long long row = starts[run]; row < end; ++row) sum += numbers[row * columns + column];
    sums[n] = static_cast<T>(sum);
  }
}

}  // namespace gpualto

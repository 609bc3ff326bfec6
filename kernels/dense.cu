// The inverse of a Gram product, without a word to the host: what a CP-ALS update multiplies its MTTKRP with.
//
// The matrix is scaled to a unit diagonal, and inverted by Gauss-Jordan elimination, whose pivots are those of a Cholesky
// factorisation. Where one of them is tiny, the pseudo-inverse comes from an eigendecomposition by
// Jacobi rotations, as many disjoint ones at a time as there are.
#include "memory.cuh"

namespace gpualto {

constexpr double double_rounding = 2.220446049250313e-16;
constexpr double smallest_pivot = 1e-6;  // as on the host: gpualto/backends/dense.py says why
constexpr int most_sweeps = 30;

template <class T>
constexpr double smallest_square = sizeof(T) == 4 ? 1e-20 : 1e-280;  // likewise

// A square matrix in global memory, worked on by all threads of one block.
struct Matrix {
  double* numbers;
  int rank;
  __device__ __forceinline__ double& operator()(int i, int j) const { return numbers[static_cast<long long>(i) * rank + j]; }
};

// Calls body(i, j) for all entries of a rank x rank matrix, shared out among the threads.
template <class Body>
__device__ __forceinline__ void for_entries(int rows, int columns, Body body) {
  for (int n = static_cast<int>(threadIdx.x); n < rows * columns; n += static_cast<int>(blockDim.x)) {
    body(n / columns, n % columns);
  }
}

// Inverts a symmetric matrix of unit diagonal in place; returns whether it is far enough from singular.
// `row` is scratch for one row and one column.
__device__ bool invert_in_place(const Matrix& a, double* row, double* column) {
  for (int k = 0; k < a.rank; ++k) {
    const double pivot = a(k, k);
    if (!(pivot > smallest_pivot)) return false;  // the same for all threads
    for (int j = static_cast<int>(threadIdx.x); j < a.rank; j += static_cast<int>(blockDim.x)) {
      row[j] = a(k, j) / pivot;
      column[j] = a(j, k);
    }
    __syncthreads();
    for_entries(a.rank, a.rank, [&](int i, int j) {
      if (i == k) {
        a(i, j) = j == k ? 1 / pivot : row[j];
      } else {
        a(i, j) = j == k ? -column[i] / pivot : a(i, j) - column[i] * row[j];
      }
    });
    __syncthreads();
  }
  return true;
}

// The n-th pair of round `round` of a tournament in which everyone meets everyone: `players` is even.
__device__ __forceinline__ void tournament_pair(int players, int round, int n, int& p, int& q) {
  const int circle = players - 1;
  const int a = n == 0 ? circle : (round + n) % circle;
  const int b = (round + circle - n) % circle;
  p = a < b ? a : b;
  q = a < b ? b : a;
}

struct Rotation {
  double cosine, sine;
};

// The rotation that makes the entry (p, q) zero.
__device__ __forceinline__ Rotation rotation_for(const Matrix& a, int p, int q) {
  const double off = a(p, q);
  if (off == 0) return {1, 0};
  const double theta = (a(q, q) - a(p, p)) / (2 * off);
  const double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
  const double cosine = 1 / sqrt(t * t + 1);
  return {cosine, t * cosine};
}

// Diagonalises a symmetric matrix in place; the columns of `vectors` become its eigenvectors.
__device__ void diagonalise(const Matrix& a, const Matrix& vectors, Rotation* rotations, int* busy) {
  const int players = a.rank + a.rank % 2, pairs = players / 2;
  for_entries(a.rank, a.rank, [&](int i, int j) { vectors(i, j) = i == j; });
  __syncthreads();
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    if (threadIdx.x == 0) *busy = 0;
    __syncthreads();
    for (int round = 0; round < players - 1; ++round) {
      for (int n = static_cast<int>(threadIdx.x); n < pairs; n += static_cast<int>(blockDim.x)) {
        int p, q;
        tournament_pair(players, round, n, p, q);
        const bool real = q < a.rank;  // with an odd number one of them has no partner
        rotations[n] = real ? rotation_for(a, p, q) : Rotation{1, 0};
        if (real && fabs(a(p, q)) > a.rank * double_rounding) atomicExch(busy, 1);
      }
      __syncthreads();
      for_entries(pairs, a.rank, [&](int n, int j) {  // rows p and q
        int p, q;
        tournament_pair(players, round, n, p, q);
        if (q >= a.rank) return;
        const Rotation r = rotations[n];
        const double x = a(p, j), y = a(q, j);
        a(p, j) = r.cosine * x - r.sine * y;
        a(q, j) = r.sine * x + r.cosine * y;
      });
      __syncthreads();
      for_entries(pairs, a.rank, [&](int n, int i) {  // columns p and q
        int p, q;
        tournament_pair(players, round, n, p, q);
        if (q >= a.rank) return;
        const Rotation r = rotations[n];
        const double x = a(i, p), y = a(i, q), v = vectors(i, p), w = vectors(i, q);
        a(i, p) = r.cosine * x - r.sine * y;
        a(i, q) = r.sine * x + r.cosine * y;
        vectors(i, p) = r.cosine * v - r.sine * w;
        vectors(i, q) = r.sine * v + r.cosine * w;
      });
      __syncthreads();
    }
    const bool done = *busy == 0;
    __syncthreads();
    if (done) return;
  }
}

// Writes the (pseudo-)inverse of a Gram product to `inverse`. `work` holds two matrices and 4 rows.
// Grid: one block.
template <class T, int Threads>
__global__ void __launch_bounds__(Threads, 1)
    invert_gram(const double* __restrict__ gram, int rank, double* __restrict__ work, T* __restrict__ inverse) {
  __shared__ int busy;
  const Matrix a{work, rank}, vectors{work + static_cast<long long>(rank) * rank, rank};
  double* const scale = vectors.numbers + static_cast<long long>(rank) * rank;
  double* const row = scale + rank;
  double* const column = row + rank;
  Rotation* const rotations = reinterpret_cast<Rotation*>(row);  // (rank + 1) / 2 of them, in the same place
  const auto load_scaled = [&] {
    for_entries(rank, rank, [&](int i, int j) {
      a(i, j) = gram[static_cast<long long>(i) * rank + j] * (scale[i] * scale[j]);
    });
    __syncthreads();
  };
  const auto store = [&](auto entry) {
    for_entries(rank, rank, [&](int i, int j) {
      inverse[static_cast<long long>(i) * rank + j] = static_cast<T>(entry(i, j) * (scale[i] * scale[j]));
    });
  };

  for (int i = static_cast<int>(threadIdx.x); i < rank; i += Threads) {
    const double diagonal = gram[static_cast<long long>(i) * rank + i];
    scale[i] = diagonal > smallest_square<T> ? 1 / sqrt(diagonal) : 0;
  }
  __syncthreads();
  load_scaled();
  if (invert_in_place(a, row, column)) {
    store([&](int i, int j) { return a(i, j); });
    return;
  }
  __syncthreads();
  load_scaled();
  diagonalise(a, vectors, rotations, &busy);
  double largest = 0;
  for (int k = 0; k < rank; ++k) largest = fmax(largest, fabs(a(k, k)));
  store([&](int i, int j) {
    double sum = 0;
    for (int k = 0; k < rank; ++k) {
      if (fabs(a(k, k)) > rank * double_rounding * largest) sum += vectors(i, k) * vectors(j, k) / a(k, k);
    }
    return sum;
  });
}

}  // namespace gpualto

// How the columns of a factor row are shared out among lanes. A row of `Rank` numbers is read as vectors of up to 16
// bytes; `lanes` lanes take a row together, each of them `passes` vectors; what is left over is another panel.
//
//   float, rank 16    4 lanes, one vector of 4 each; 8 rows at a time in a warp
//   double, rank 64  32 lanes, one vector of 2 each
//   double, rank 7    8 lanes, one number each, one lane idle
#pragma once

#include "memory.cuh"
#include "warp.cuh"

namespace gpualto {

constexpr int most_passes = 4;  // vectors that a lane keeps in registers for one row

constexpr int ceil_divide(int a, int b) { return (a + b - 1) / b; }

template <class T>
constexpr int vector_length(int rank) {
  int length = 16 / sizeof(T);
  while (rank % length != 0) length /= 2;
  return length;
}

constexpr int passes_for(int vectors, int lanes) {
  const int needed = ceil_divide(vectors, lanes);
  return needed < most_passes ? needed : most_passes;
}

constexpr int panels_for(int vectors, int lanes) { return ceil_divide(vectors, lanes * passes_for(vectors, lanes)); }

// The number of lanes with the fewest panels, then the fewest idle slots, then the fewest passes.
constexpr int lanes_for(int vectors) {
  int best = warp_lanes;
  for (int lanes = warp_lanes; lanes >= 1; lanes /= 2) {
    const int panels = panels_for(vectors, lanes), fewest = panels_for(vectors, best);
    const int slots = lanes * passes_for(vectors, lanes), least = best * passes_for(vectors, best);
    if (panels < fewest || (panels == fewest && slots < least)) best = lanes;
  }
  return best;
}

template <class T, int Rank>
struct Columns {
  static constexpr int vector = vector_length<T>(Rank);
  static constexpr int vectors = Rank / vector;
  static constexpr int lanes = lanes_for(vectors);
  static constexpr int passes = passes_for(vectors, lanes);
  static constexpr int panels = panels_for(vectors, lanes);
  static constexpr int panel_width = panels == 1 ? Rank : lanes * passes * vector;
  static constexpr bool exact = lanes * passes * panels == vectors;
};

// This lane's part of a row: the vectors lane, lane + lanes, ... of a panel.
template <class T, int Rank>
struct Fragment {
  using Shape = Columns<T, Rank>;
  using Part = Vector<T, Shape::vector>;

  Part part[Shape::passes];

  // Column of the first number of a vector within its panel, and whether the row has it.
  static __device__ __forceinline__ int column(int pass) {
    return (pass * Shape::lanes + lane_number() % Shape::lanes) * Shape::vector;
  }
  static __device__ __forceinline__ bool exists(int pass, int panel) {
    return Shape::exact || panel * Shape::panel_width + column(pass) < Rank;
  }

  static __device__ __forceinline__ Fragment filled(T value) {
    Fragment result;
#pragma unroll
    for (int pass = 0; pass < Shape::passes; ++pass) {
#pragma unroll
      for (int n = 0; n < Shape::vector; ++n) result.part[pass].at[n] = value;
    }
    return result;
  }

  // Calls body(vector, column in the panel) for each vector that the row has.
  template <class Body>
  __device__ __forceinline__ void for_each(int panel, Body body) {
#pragma unroll
    for (int pass = 0; pass < Shape::passes; ++pass) {
      if (exists(pass, panel)) body(part[pass], column(pass));
    }
  }

  __device__ __forceinline__ void add(const Fragment& other) {
#pragma unroll
    for (int pass = 0; pass < Shape::passes; ++pass) {
#pragma unroll
      for (int n = 0; n < Shape::vector; ++n) part[pass].at[n] += other.part[pass].at[n];
    }
  }

  __device__ __forceinline__ T sum(int panel) {
    T total = 0;
    for_each(panel, [&](Part& own, int) {
#pragma unroll
      for (int n = 0; n < Shape::vector; ++n) total += own.at[n];
    });
    return total;
  }

  // Multiplies with a row of a factor; `row` points to its first number in the panel.
  __device__ __forceinline__ void multiply(const T* row, int panel) {
    for_each(panel, [&](Part& own, int column) {
      const Part other = load_vector<T, Shape::vector>(row + column);
#pragma unroll
      for (int n = 0; n < Shape::vector; ++n) own.at[n] *= other.at[n];
    });
  }

  __device__ __forceinline__ Fragment shifted(int lanes) const {
    Fragment result;
#pragma unroll
    for (int pass = 0; pass < Shape::passes; ++pass) {
#pragma unroll
      for (int n = 0; n < Shape::vector; ++n) {
        result.part[pass].at[n] = __shfl_up_sync(all_lanes, part[pass].at[n], lanes);
      }
    }
    return result;
  }
};

}  // namespace gpualto

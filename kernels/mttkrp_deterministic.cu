// MTTKRP in a fixed order of summation: the same bits on every run and on every device.
//
// Nonzeros are taken by output row, through a permutation, in pieces of equal length, each by one group of lanes from
// its first to its last. Rows that lie within a piece are complete and written. The first and the last run of a piece
// may go on in its neighbours: their sums, two a piece, are items of the next level, which does the same with them
// until one piece is left.
#include "mttkrp.cuh"

namespace gpualto {

// Walks the pieces of `length` items each: item(n) gives this lane its row and fragment of item n; it is called by
// all lanes, with n beyond the end too. Carries go to rows 2p and 2p + 1 for piece p, or, where there is
// one piece only, to the output like all other sums.
template <class T, int Rank, class Items>
__device__ __forceinline__ void sum_pieces(Items& items, long long count, int length, int panel, T* out,
                                           long long* carry_rows, T* carries) {
  using Shape = Columns<T, Rank>;
  using Sum = Fragment<T, Rank>;
  const int group = lane_number() / Shape::lanes;
  const long long warp = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) / warp_lanes;
  const long long piece = warp * (warp_lanes / Shape::lanes) + group;
  const long long begin = piece * length;
  const bool only_piece = count <= length;
  const auto write = [&](T* rows, long long row, Sum& sum) {
    T* const place = rows + row * Rank + panel * Shape::panel_width;
    sum.for_each(panel, [&](auto& vector, int column) { store_vector(place + column, vector); });
  };
  const auto carry = [&](int which, long long row, Sum& sum) {
    if (panel == 0 && lane_number() % Shape::lanes == 0) carry_rows[2 * piece + which] = row;
    write(carries, 2 * piece + which, sum);
  };

  Sum sum = Sum::filled(0);
  long long row = -1;
  bool first_run = true;
  for (int n = 0; n < length; ++n) {
    items.advance(begin, n, count);
    if (begin + n >= count) continue;
    const long long next = items.row();
    if (next != row && row >= 0) {
      if (first_run && !only_piece) {
        carry(0, row, sum);
      } else {
        write(out, row, sum);
      }
      first_run = false;
      sum = Sum::filled(0);
    }
    row = next;
    items.add_to(sum);
  }
  if (begin >= count) return;
  if (only_piece) {
    write(out, row, sum);
  } else if (first_run) {  // one run fills the piece: the second carry adds nothing to its row
    carry(0, row, sum);
    Sum nothing = Sum::filled(0);
    carry(1, row, nothing);
  } else {
    carry(1, row, sum);
  }
}

// Nonzeros by output row. A group decodes as many as it has lanes at once, and passes them round by shuffles.
template <class Layout, int Mode, class Value, class T, int Rank, class Position>
struct OrderedNonzeros {
  Words<Layout> words;
  const Value* values;
  const Position* order;
  Pointers<const T, Layout::modes> factors;
  int panel;

  Row<Layout> decoded[Layout::modes];
  T decoded_value;
  Row<Layout> coordinates[Layout::modes];
  T value;

  template <int M = 0>
  __device__ __forceinline__ void decode(const LinearIndex<Layout>& index) {
    if constexpr (M < Layout::modes) {
      decoded[M] = static_cast<Row<Layout>>(coordinate<Layout, M>(index));
      decode<M + 1>(index);
    }
  }

  __device__ __forceinline__ void advance(long long begin, int n, long long count) {
    constexpr int lanes = Columns<T, Rank>::lanes;
    if (n % lanes == 0) {
      const long long mine = begin + n + lane_number() % lanes;
      LinearIndex<Layout> index{};
      decoded_value = 0;
      if (mine < count) {
        const long long position = static_cast<long long>(order[mine]);
        index = load_index(words, position);
        decoded_value = static_cast<T>(values[position]);
      }
      decode(index);
    }
#pragma unroll
    for (int mode = 0; mode < Layout::modes; ++mode) {
      coordinates[mode] = __shfl_sync(all_lanes, decoded[mode], n % lanes, lanes);
    }
    value = __shfl_sync(all_lanes, decoded_value, n % lanes, lanes);
  }

  __device__ __forceinline__ long long row() const { return static_cast<long long>(coordinates[Mode]); }

  __device__ __forceinline__ void add_to(Fragment<T, Rank>& sum) {
    auto result = Fragment<T, Rank>::filled(value);
#pragma unroll
    for (int mode = 0; mode < Layout::modes; ++mode) {
      if (mode == Mode) continue;
      const long long row = static_cast<long long>(coordinates[mode]);
      result.multiply(factors.at[mode] + row * Rank + panel * Columns<T, Rank>::panel_width, panel);
    }
    sum.add(result);
  }
};

// Sums of the level before, their rows in increasing order.
template <class T, int Rank>
struct CarriedSums {
  const long long* rows;
  const T* sums;
  int panel;
  long long item;

  __device__ __forceinline__ void advance(long long begin, int n, long long) { item = begin + n; }
  __device__ __forceinline__ long long row() const { return rows[item]; }
  __device__ __forceinline__ void add_to(Fragment<T, Rank>& sum) {
    Fragment<T, Rank> other = Fragment<T, Rank>::filled(0);
    const T* const place = sums + item * Rank + panel * Columns<T, Rank>::panel_width;
    other.for_each(panel, [&](auto& vector, int column) {
      vector = load_vector<T, Columns<T, Rank>::vector>(place + column);
    });
    sum.add(other);
  }
};

// Grid: enough groups of lanes for all pieces in x, a panel of columns in y. `out` is zero before.
template <class Layout, int Mode, class Value, class T, int Rank, class Position, int Threads>
__global__ void __launch_bounds__(Threads, 1)
    mttkrp_deterministic(Words<Layout> words, const Value* __restrict__ values, const Position* __restrict__ order,
                         long long nnz, int length, Pointers<const T, Layout::modes> factors, T* __restrict__ out,
                         long long* __restrict__ carry_rows, T* __restrict__ carries) {
  const int panel = static_cast<int>(blockIdx.y);
  OrderedNonzeros<Layout, Mode, Value, T, Rank, Position> items{words, values, order, factors, panel, {}, 0, {}, 0};
  sum_pieces<T, Rank>(items, nnz, length, panel, out, carry_rows, carries);
}

template <class T, int Rank, int Threads>
__global__ void __launch_bounds__(Threads, 1)
    sum_carries(const long long* __restrict__ rows, const T* __restrict__ sums, long long count, int length,
                T* __restrict__ out, long long* __restrict__ carry_rows, T* __restrict__ carries) {
  const int panel = static_cast<int>(blockIdx.y);
  CarriedSums<T, Rank> items{rows, sums, panel, 0};
  sum_pieces<T, Rank>(items, count, length, panel, out, carry_rows, carries);
}

}  // namespace gpualto

// What the MTTKRP kernels share: a warp's tile of 32 nonzeros, and its sum by output row.
#pragma once

#include "columns.cuh"
#include "index.cuh"
#include "memory.cuh"
#include "warp.cuh"

namespace gpualto {

// Decoded nonzeros of one warp, in shared memory, equal output rows beside each other.
template <class Layout, class T>
struct Tile {
  Row<Layout> coordinates[Layout::modes][warp_lanes];
  T values[warp_lanes];
};

template <class Layout, class T, int Mode = 0>
__device__ __forceinline__ void store_coordinates(Tile<Layout, T>& tile, int place, const LinearIndex<Layout>& index) {
  if constexpr (Mode < Layout::modes) {
    tile.coordinates[Mode][place] = static_cast<Row<Layout>>(coordinate<Layout, Mode>(index));
    store_coordinates<Layout, T, Mode + 1>(tile, place, index);
  }
}

// Fills a tile with the `count` nonzeros from position `first` on: a lane reads and decodes one of them.
template <class Layout, int Mode, class T, class Value>
__device__ __forceinline__ void fill_tile(Tile<Layout, T>& tile, const Words<Layout>& words, const Value* values,
                                          long long first, int count) {
  const int lane = lane_number();
  LinearIndex<Layout> index{};
  T value{};
  if (lane < count) {
    index = load_index(words, first + lane);
    value = static_cast<T>(values[first + lane]);
  }
  const int place = place_by_key(static_cast<Row<Layout>>(coordinate<Layout, Mode>(index)), count);
  if (lane < count) {
    store_coordinates(tile, place, index);
    tile.values[place] = value;
  }
  __syncwarp();
}

// The product of a nonzero with the factor rows that its coordinates select, for this lane's columns.
template <class Layout, int Mode, class T, int Rank>
__device__ __forceinline__ Fragment<T, Rank> product(const Tile<Layout, T>& tile, int place,
                                                     const Pointers<const T, Layout::modes>& factors, int panel) {
  auto result = Fragment<T, Rank>::filled(tile.values[place]);
#pragma unroll
  for (int mode = 0; mode < Layout::modes; ++mode) {
    if (mode == Mode) continue;
    const long long row = static_cast<long long>(tile.coordinates[mode][place]);
    result.multiply(factors.at[mode] + row * Rank + panel * Columns<T, Rank>::panel_width, panel);
  }
  return result;
}

// Sums a tile by output row and hands each sum to `target(row, fragment)`. Groups of lanes walk neighbouring pieces of
// the tile; the sum of a run of equal rows stays in registers, and the runs that cross pieces are added up by shuffles.
template <class Layout, int Mode, class T, int Rank, class Target>
__device__ __forceinline__ void sum_tile(const Tile<Layout, T>& tile, int count,
                                         const Pointers<const T, Layout::modes>& factors, int panel, Target target) {
  using Sum = Fragment<T, Rank>;
  constexpr int lanes = Columns<T, Rank>::lanes;
  constexpr int piece = lanes;  // 32 nonzeros over 32 / lanes groups
  constexpr int depth = 2 * sizeof(Sum) <= 32 && piece > 1 ? 2 : 1;  // products in flight: at most 8 registers of them
  const int first = lane_number() / lanes * piece;
  const bool filled = first < count;
  Row<Layout> row = filled ? tile.coordinates[Mode][first] : Row<Layout>(0);
  Sum sum = Sum::filled(0);
  for (int begin = first; begin < first + piece && begin < count; begin += depth) {
    Sum products[depth];
#pragma unroll
    for (int n = 0; n < depth; ++n) {
      if (begin + n < count) products[n] = product<Layout, Mode, T, Rank>(tile, begin + n, factors, panel);
    }
#pragma unroll
    for (int n = 0; n < depth; ++n) {
      if (begin + n >= count) break;
      const Row<Layout> next = tile.coordinates[Mode][begin + n];
      if (next != row) {
        target(row, sum);
        row = next;
        sum = Sum::filled(0);
      }
      sum.add(products[n]);
    }
  }
  if (sum_over_groups<lanes>(row, filled, sum)) target(row, sum);
}

// Adds a sum to its row of the output, which other warps add to as well.
template <class T, int Rank>
__device__ __forceinline__ void add_to_row(T* out, long long row, int panel, Fragment<T, Rank>& sum) {
  T* const place = out + row * Rank + panel * Columns<T, Rank>::panel_width;
  sum.for_each(panel, [&](auto& vector, int column) { add_to_global(place + column, vector); });
}

// Takes a run of nonzeros, the warps of a block in turn by tiles, and hands sums by output row to `target`.
// fill(tile, first, count) fills a tile with `count` nonzeros from position `first` on.
template <class Layout, int Mode, class T, int Rank, class Fill, class Target>
__device__ __forceinline__ void sum_run(Tile<Layout, T>& tile, long long begin, long long end, long long stride,
                                        const Pointers<const T, Layout::modes>& factors, int panel, Fill fill,
                                        Target target) {
  for (long long first = begin; first < end; first += stride) {
    const int count = end - first < warp_lanes ? static_cast<int>(end - first) : warp_lanes;
    fill(tile, first, count);
    sum_tile<Layout, Mode, T, Rank>(tile, count, factors, panel, target);
    __syncwarp();
  }
}

}  // namespace gpualto

// Coordinates to linear indices. A thread packs one nonzero by shifts and masks that are constants; a warp votes
// on whether any of its coordinates lies outside the shape.
#include "index.cuh"
#include "warp.cuh"

namespace gpualto {

// The coordinates of one mode: any integer type, any stride.
struct CoordinateColumn {
  const char* data;
  long long stride;  // bytes
  int bytes;         // of one integer
  int is_signed;
};

template <class Integer>
__device__ __forceinline__ Integer read_integer(const CoordinateColumn& column, long long position) {
  return *reinterpret_cast<const Integer*>(column.data + position * column.stride);
}

// The coordinate as 64 bits; negative ones become larger than any length.
__device__ __forceinline__ Coordinate read_coordinate(const CoordinateColumn& column, long long position) {
  if (column.is_signed) {
    switch (column.bytes) {
      case 1: return static_cast<Coordinate>(static_cast<long long>(read_integer<signed char>(column, position)));
      case 2: return static_cast<Coordinate>(static_cast<long long>(read_integer<short>(column, position)));
      case 4: return static_cast<Coordinate>(static_cast<long long>(read_integer<int>(column, position)));
      default: return static_cast<Coordinate>(read_integer<long long>(column, position));
    }
  }
  switch (column.bytes) {
    case 1: return read_integer<unsigned char>(column, position);
    case 2: return read_integer<unsigned short>(column, position);
    case 4: return read_integer<unsigned>(column, position);
    default: return read_integer<unsigned long long>(column, position);
  }
}

template <class Layout>
struct CoordinateColumns {
  CoordinateColumn at[Layout::modes];
};

// Packs the modes from `Mode` on, and returns the first of them whose coordinate is out of bounds, else Layout::modes.
template <class Layout, int Mode = 0>
__device__ __forceinline__ int pack(const CoordinateColumns<Layout>& columns, long long position,
                                    LinearIndex<Layout>& index) {
  if constexpr (Mode == Layout::modes) {
    return Layout::modes;
  } else {
    const Coordinate value = read_coordinate(columns.at[Mode], position);
    insert<Layout, Mode>(index, value);
    const int later = pack<Layout, Mode + 1>(columns, position, index);
    return value < Layout::lengths[Mode] ? later : Mode;
  }
}

// `first_wrong` becomes the least mode * nnz + position of a coordinate that is out of bounds, if there is any.
// Grid: any number of blocks.
template <class Layout, int Threads>
__global__ void __launch_bounds__(Threads, 1)
    linearize(CoordinateColumns<Layout> columns, long long nnz, Words<Layout> words,
              unsigned long long* __restrict__ first_wrong) {
  const long long stride = static_cast<long long>(gridDim.x) * Threads;
  const long long lane = lane_number();
  for (long long first = static_cast<long long>(blockIdx.x) * Threads + threadIdx.x - lane; first < nnz;
       first += stride) {
    const long long position = first + lane;
    int wrong = Layout::modes;
    if (position < nnz) {
      LinearIndex<Layout> index{};
      wrong = pack(columns, position, index);
      store_index(words, position, index);
    }
    if (__any_sync(all_lanes, wrong < Layout::modes)) {
      const unsigned long long none = ~0ull;
      const unsigned long long key =
          wrong < Layout::modes ? static_cast<unsigned long long>(wrong) * nnz + position : none;
      const unsigned long long least = warp_minimum(key);
      if (lane == 0) atomicMin(first_wrong, least);
    }
  }
}

}  // namespace gpualto

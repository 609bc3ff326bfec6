// The linear index on the device: its words, and how the bits of one mode are gathered out of them and
// scattered into them. A tensor's bit layout is a struct of constants that comes before this file:
//
//   struct Layout {
//     static constexpr int modes = 3, words = 1;
//     static constexpr int word_bytes[words] = {4};
//     static constexpr unsigned long long lengths[modes] = {4, 8, 2};
//     static constexpr unsigned long long masks[modes][words] = {{0xa}, {0x34}, {0x1}};
//   };
//
// Every shift and every mask is then a constant of the compiled code. GPUs have no bit-gather instruction; a run
// of adjacent bits costs a shift, and a three-input logic operation that masks and merges.
#pragma once

#ifdef __CUDACC__
#define GPUALTO_FUNCTION __host__ __device__ __forceinline__
#else
#define GPUALTO_FUNCTION inline
#endif

namespace gpualto {

using Word = unsigned long long;
using Coordinate = unsigned long long;

constexpr int lowest_bit(Word mask) {
  int bit = 0;
  while (bit < 64 && !((mask >> bit) & 1)) ++bit;
  return bit;
}

// Number of adjacent ones that a mask begins with, counted from its lowest bit.
constexpr int run_length(Word mask) {
  Word ones = mask >> lowest_bit(mask);
  int length = 0;
  while (length < 64 && ((ones >> length) & 1)) ++length;
  return length;
}

constexpr int count_bits(Word mask) {
  int count = 0;
  for (; mask != 0; mask &= mask - 1) ++count;
  return count;
}

constexpr Word low_ones(int count) { return count >= 64 ? ~Word(0) : (Word(1) << count) - 1; }

constexpr Word without_first_run(Word mask) {
  return mask & ~(low_ones(run_length(mask)) << lowest_bit(mask));
}

// Collects the bits of `word` that `Mask` selects into the bits of the result from `Place` on. Each run goes straight
// to its place: shifted by a constant, then masked and merged in one operation.
//
//   gather_bits<0x34>(0b101010) == 0b100     // bits 2, 4 and 5 of the word are 0, 0 and 1
template <Word Mask, int Place = 0>
GPUALTO_FUNCTION Coordinate gather_bits(Word word) {
  if constexpr (Mask == 0) {
    return 0;
  } else {
    constexpr int length = run_length(Mask);
    const Coordinate run = (word >> (lowest_bit(Mask) - Place)) & (low_ones(length) << Place);
    return run | gather_bits<without_first_run(Mask), Place + length>(word);
  }
}

// Spreads the bits of `coordinate` from `Place` on to those that `Mask` selects: the inverse of gather_bits.
template <Word Mask, int Place = 0>
GPUALTO_FUNCTION Word scatter_bits(Coordinate coordinate) {
  if constexpr (Mask == 0) {
    return 0;
  } else {
    constexpr int length = run_length(Mask);
    const Word run = (coordinate << (lowest_bit(Mask) - Place)) & (low_ones(length) << lowest_bit(Mask));
    return run | scatter_bits<without_first_run(Mask), Place + length>(coordinate);
  }
}

// Number of bits of a mode in the words below `word`.
template <class Layout>
constexpr int bits_below(int mode, int word) {
  int bits = 0;
  for (int below = 0; below < word; ++below) bits += count_bits(Layout::masks[mode][below]);
  return bits;
}

template <class Layout>
constexpr bool has_wide_modes() {
  for (int mode = 0; mode < Layout::modes; ++mode) {
    if (bits_below<Layout>(mode, Layout::words) > 32) return true;
  }
  return false;
}

template <bool Condition, class Yes, class No>
struct Choose {
  using type = Yes;
};
template <class Yes, class No>
struct Choose<false, Yes, No> {
  using type = No;
};

// The narrowest type that holds a coordinate of any mode.
template <class Layout>
using Row = typename Choose<has_wide_modes<Layout>(), unsigned long long, unsigned>::type;

template <int Bytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using type = unsigned char;
};
template <>
struct UnsignedOf<2> {
  using type = unsigned short;
};
template <>
struct UnsignedOf<4> {
  using type = unsigned;
};
template <>
struct UnsignedOf<8> {
  using type = unsigned long long;
};

template <class Layout, int W>
using StoredWord = typename UnsignedOf<Layout::word_bytes[W]>::type;

// Where each word of the indices is stored, the low word first. A kernel's parameter, passed by value.
template <class Layout>
struct Words {
  void* at[Layout::words];
};

template <class Layout>
struct LinearIndex {
  Word word[Layout::words];
};

template <class Layout, int W = 0>
GPUALTO_FUNCTION void load_words(const Words<Layout>& words, long long position, LinearIndex<Layout>& index) {
  if constexpr (W < Layout::words) {
    index.word[W] = static_cast<const StoredWord<Layout, W>*>(words.at[W])[position];
    load_words<Layout, W + 1>(words, position, index);
  }
}

template <class Layout>
GPUALTO_FUNCTION LinearIndex<Layout> load_index(const Words<Layout>& words, long long position) {
  LinearIndex<Layout> index;
  load_words(words, position, index);
  return index;
}

template <class Layout, int W = 0>
GPUALTO_FUNCTION void store_index(const Words<Layout>& words, long long position, const LinearIndex<Layout>& index) {
  if constexpr (W < Layout::words) {
    using Stored = StoredWord<Layout, W>;
    static_cast<Stored*>(words.at[W])[position] = static_cast<Stored>(index.word[W]);
    store_index<Layout, W + 1>(words, position, index);
  }
}

// The coordinate of one mode.
template <class Layout, int Mode, int W = 0>
GPUALTO_FUNCTION Coordinate coordinate(const LinearIndex<Layout>& index) {
  if constexpr (W == Layout::words) {
    return 0;
  } else {
    const Coordinate bits = gather_bits<Layout::masks[Mode][W]>(index.word[W]);
    if constexpr (Layout::masks[Mode][W] == 0) {
      return coordinate<Layout, Mode, W + 1>(index);
    } else {
      return bits << bits_below<Layout>(Mode, W) | coordinate<Layout, Mode, W + 1>(index);
    }
  }
}

// Puts the coordinate of one mode into an index whose bits of that mode are zero.
template <class Layout, int Mode, int W = 0>
GPUALTO_FUNCTION void insert(LinearIndex<Layout>& index, Coordinate value) {
  if constexpr (W < Layout::words) {
    constexpr int below = bits_below<Layout>(Mode, W);
    if constexpr (Layout::masks[Mode][W] != 0) {
      index.word[W] |= scatter_bits<Layout::masks[Mode][W]>(value >> below);
    }
    insert<Layout, Mode, W + 1>(index, value);
  }
}

}  // namespace gpualto

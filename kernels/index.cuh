// The linear index on the device: how the bits of one mode are gathered out of its words and scattered into
// them. Masks are template parameters, so that every shift and every mask is a constant of the compiled code.
// GPUs have no bit-gather instruction; a run of adjacent bits costs a shift, a mask and an or.
//
// Compiles for the host as well, where tests hold it against gpualto.AltoEncoding.
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

constexpr Word low_ones(int count) { return count >= 64 ? ~Word(0) : (Word(1) << count) - 1; }

constexpr Word without_first_run(Word mask) {
  return mask & ~(low_ones(run_length(mask)) << lowest_bit(mask));
}

// Collects the bits of `word` that `Mask` selects into the low bits of the result.
//
//   gather_bits<0x34>(0b101010) == 0b100     // bits 2, 4 and 5 of the word are 0, 0 and 1
template <Word Mask>
GPUALTO_FUNCTION Coordinate gather_bits(Word word) {
  if constexpr (Mask == 0) {
    return 0;
  } else {
    constexpr int length = run_length(Mask);
    const Coordinate run = (word >> lowest_bit(Mask)) & low_ones(length);
    if constexpr (without_first_run(Mask) == 0) {
      return run;
    } else {
      return run | gather_bits<without_first_run(Mask)>(word) << length;
    }
  }
}

// Spreads the low bits of `coordinate` to the places that `Mask` selects: the inverse of gather_bits.
template <Word Mask>
GPUALTO_FUNCTION Word scatter_bits(Coordinate coordinate) {
  if constexpr (Mask == 0) {
    return 0;
  } else {
    constexpr int length = run_length(Mask);
    const Word run = (coordinate & low_ones(length)) << lowest_bit(Mask);
    if constexpr (without_first_run(Mask) == 0) {
      return run;
    } else {
      return run | scatter_bits<without_first_run(Mask)>(coordinate >> length);
    }
  }
}

}  // namespace gpualto

// Kernels for the tests of the harness: right ones first, then ones with a planted fault each.
#pragma once

#ifdef GPUALTO_HOST
#define DYNAMIC_SHARED(type, name) type* name = static_cast<type*>(gpuhost::dynamic_shared())
#else
#define DYNAMIC_SHARED(type, name)                        \
  extern __shared__ __align__(16) unsigned char memory[]; \
  type* name = reinterpret_cast<type*>(memory)
#endif

namespace samples {

constexpr unsigned all_lanes = 0xffffffffu;

__device__ inline int lane() { return threadIdx.x % 32; }
__device__ inline int warp() { return threadIdx.x / 32; }
__device__ inline int position() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Right.

// Adds values of equal keys, which are sorted, to sums[key].
template <class T>
__global__ void segmented_sum(const int* keys, const T* values, T* sums, int count) {
  const int i = position();
  const int key = i < count ? keys[i] : -1;
  T sum = i < count ? values[i] : T(0);
  const int previous = __shfl_up_sync(all_lanes, key, 1);
  const unsigned heads = __ballot_sync(all_lanes, lane() == 0 || previous != key);
  const int head = 31 - __clz(int(heads & ((2u << lane()) - 1)));
  for (int distance = 1; distance < 32; distance *= 2) {
    const T other = __shfl_up_sync(all_lanes, sum, distance);
    if (lane() - distance >= head) sum += other;
  }
  const bool is_last = lane() == 31 || (heads >> (lane() + 1) & 1);
  if (is_last && key >= 0) atomicAdd(&sums[key], sum);
}

template <class T, int Threads>
__global__ void __launch_bounds__(Threads) block_sum(const T* values, T* sum, int count) {
  __shared__ T of_warps[Threads / 32];
  T mine = 0;
  for (int i = position(); i < count; i += gridDim.x * Threads) mine += values[i];
#pragma unroll
  for (int distance = 16; distance; distance /= 2) mine += __shfl_down_sync(all_lanes, mine, distance);
  if (lane() == 0) of_warps[warp()] = mine;
  __syncthreads();
  if (warp() > 0) return;
  T total = lane() < Threads / 32 ? of_warps[lane()] : T(0);
  for (int distance = 16; distance; distance /= 2) total += __shfl_xor_sync(all_lanes, total, distance);
  if (lane() == 0) atomicAdd(sum, total);
}

template <int Threads>
__global__ void tree_sum(const float* values, float* sums) {
  DYNAMIC_SHARED(float, partial);
  const int thread = threadIdx.x;
  partial[thread] = values[position()];
  __syncthreads();
  for (int half = Threads / 2; half; half /= 2) {
    if (thread < half) partial[thread] += partial[thread + half];
    __syncthreads();
  }
  if (thread == 0) sums[blockIdx.x] = partial[0];
}

struct Votes {
  unsigned peers, odd;
  int sum, smallest, largest, any_negative, all_small;
};

__global__ void vote(const int* keys, Votes* votes) {
  const int key = keys[position()];
  Votes mine;
  mine.peers = __match_any_sync(all_lanes, key);
  mine.odd = __ballot_sync(all_lanes, key & 1);
  mine.sum = __reduce_add_sync(all_lanes, key);
  mine.smallest = __reduce_min_sync(all_lanes, key);
  mine.largest = __reduce_max_sync(all_lanes, key);
  mine.any_negative = __any_sync(all_lanes, key < 0);
  mine.all_small = __all_sync(all_lanes, key < 100);
  votes[position()] = mine;
}

__global__ void atomics(int* smallest, unsigned* largest, unsigned long long* count, double* sum,
                        float2* pair, int* tickets) {
  atomicMin(smallest, -position());
  atomicMax(largest, unsigned(position()));
  atomicAdd(count, 1ull);
  atomicAdd(sum, 0.5);
  atomicAdd(pair, float2{1, 2});
  const unsigned ticket = atomicAdd(reinterpret_cast<unsigned*>(&tickets[0]), 1u);
  atomicExch(&tickets[1 + ticket], int(ticket));
}

// Adds by compare-and-swap, as devices did before they could add doubles.
__global__ void add_by_swapping(unsigned long long* sum) {
  unsigned long long seen = 0, before;
  do {
    before = seen;
    seen =
        atomicCAS(sum, before, (unsigned long long)__double_as_longlong(__longlong_as_double(before) + 1.0));
  } while (seen != before);
}

template <class T>
struct alignas(16) Pack {
  T values[16 / sizeof(T)];
};

template <class T>
__global__ void scale_packs(const Pack<T>* packs, Pack<T>* scaled, T factor) {
  Pack<T> pack = packs[position()];
  for (T& value : pack.values) value *= factor;
  scaled[position()] = pack;
}

// Two halves of a warp go separate ways, each with collectives of its own, and meet again.
__global__ void halves(int* results) {
  __shared__ int scratch[32];
  const bool is_low = lane() < 16;
  const unsigned half = is_low ? 0x0000ffffu : 0xffff0000u;
  int value = lane();
  if (is_low) {
    value = __shfl_xor_sync(half, value, 1, 16);
    scratch[lane()] = value;
    __syncwarp(half);
    value += scratch[lane() ^ 3];
  } else {
    scratch[lane()] = value;
    __syncwarp(half);
    value += scratch[47 - lane()];
  }
  __syncwarp();
  results[lane()] = value + __shfl_sync(all_lanes, value, 0);
}

// Neighbours write bytes of one word.
__global__ void bytes(unsigned char* written) {
  __shared__ unsigned char local[64];
  local[threadIdx.x] = (unsigned char)threadIdx.x;
  __syncthreads();
  written[threadIdx.x] = local[63 - threadIdx.x];
}

// Blocks of two dimensions.
__global__ void coordinates(int* seen) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  seen[y * gridDim.x * blockDim.x + x] = __syncthreads_count(threadIdx.y == 0) * 1000 + y * 100 + x;
}

struct Arguments {
  const float* values;
  float factor;
  int count;
};

struct Table {
  int values[600];
};

__global__ void look_up(const Table table, const int* keys, int* found) {
  found[lane()] = table.values[keys[lane()]];
}

__global__ void scale(Arguments given, float* scaled) {
  const int i = position();
  if (i < given.count) scaled[i] = given.values[i] * given.factor;
}

// What lane 0 writes reaches lane 2 by way of lane 1.
__global__ void relay(int* seen) {
  __shared__ int message;
  if (lane() == 0) {
    message = 7;
    __syncwarp(0b011);
  } else if (lane() == 1) {
    __syncwarp(0b011);
    __syncwarp(0b110);
  } else if (lane() == 2) {
    __syncwarp(0b110);
    *seen = message;
  }
}

__global__ void intrinsics(int* results, float* as_float) {
  int* next = results;
  *next++ = __popc(0xf0u) + __popcll(1ull << 40);
  *next++ = __ffs(0b1000) + __ffsll(0) + __ffsll(1ll << 33);
  *next++ = __clz(0) + __clz(1) + __clzll(0) + __clzll(1);
  *next++ = int(__brev(0b1101u) >> 28) + int(__brevll(1) >> 63);
  *next++ = int(__umul64hi(1ull << 63, 6));
  *next++ = min(3, 4u) + max(2ll, 1) + min(7, 8);
  *next++ = int(__float_as_uint(1.0f) >> 23) + int(__double_as_longlong(1.0) >> 52);
  __stcs(as_float, __ldg(as_float) * __uint_as_float(0x40000000u));
}

// One thread at a time, by a lock.
__global__ void take_turns(int* lock, int* seen) {
  for (bool is_done = false; !is_done;) {
    if (atomicCAS(lock, 0, 1) == 0) {
      atomicAdd(seen, 1);
      atomicExch(lock, 0);
      is_done = true;
    }
  }
}

// Faulty.

template <bool IsRight>
__global__ void reverse(int* values) {
  __shared__ int scratch[128];
  scratch[threadIdx.x] = values[threadIdx.x];
  if (IsRight) __syncthreads();
  values[threadIdx.x] = scratch[127 - threadIdx.x];
}

template <bool IsRight>
__global__ void reverse_warps(int* values) {
  __shared__ int scratch[128];
  scratch[threadIdx.x] = values[threadIdx.x];
  if (IsRight) __syncwarp();
  values[threadIdx.x] = scratch[warp() * 32 + 31 - lane()];
}

// The second write may overtake the first read.
__global__ void rotate_twice(int* values) {
  __shared__ int scratch[32];
  int value = values[lane()];
  for (int i = 0; i < 2; ++i) {
    scratch[lane()] = value;
    __syncwarp();
    value = scratch[(lane() + 1) % 32];
  }
  values[lane()] = value;
}

__global__ void add_without_atomic(int* sum) { *sum += 1; }

__global__ void read_among_atomics(int* sum, int* seen) {
  atomicAdd(sum, 1);
  seen[position()] = *sum;
}

__global__ void both_blocks_write(int* value) {
  if (threadIdx.x == 0) *value = int(blockIdx.x);
}

// Clears in the first block what all blocks add to.
__global__ void clear_and_add(int* sum) {
  if (position() == 0) *sum = 0;
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(sum, 1);
}

// Right for one block.
__global__ void overwrite_after_reading(int* value, int* seen) {
  seen[position()] = *value;
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) *value = 1;
}

// The halves of a warp exchange values after a meeting of each half only.
__global__ void exchange_halves(int* values) {
  __shared__ int scratch[32];
  scratch[lane()] = values[lane()];
  __syncwarp(lane() < 16 ? 0x0000ffffu : 0xffff0000u);
  values[lane()] = scratch[lane() ^ 16];
}

__global__ void shared_counter(int* count) {
  __shared__ int counter;
  if (threadIdx.x == 0) counter = 0;
  __syncthreads();
  ++counter;
  __syncthreads();
  if (threadIdx.x == 0) *count = counter;
}

__global__ void copy(const float* from, float* to, long long offset_from, long long offset_to) {
  to[threadIdx.x + offset_to] = from[threadIdx.x + offset_from];
}

__global__ void copy_pack(const float* from, float* to, int offset) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from + offset);
}

__global__ void copy_bytes(const unsigned char* from, unsigned char* to, int count) {
  memcpy(to, from, count);
}

__global__ void follow_unwritten_index(const int* values, int* found) {
  __shared__ int index[32];
  if (lane() < 31) index[lane()] = lane();
  __syncwarp();
  found[lane()] = values[index[lane()]];
}

__global__ void read_unwritten(float* floats, double* doubles, int* integers) {
  __shared__ float some_floats[32];
  __shared__ double some_doubles[32];
  DYNAMIC_SHARED(int, some_integers);
  floats[lane()] = some_floats[lane()];
  doubles[lane()] = some_doubles[lane()];
  integers[lane()] = some_integers[lane()];
}

__global__ void divergent_barrier() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void barrier_for_half() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncwarp(lane() < 16 ? all_lanes : all_lanes - 1);
  }
}

__global__ void waits_for_who_waits() {
  if (lane() == 0) __syncthreads();
  __syncwarp();
}

__global__ void different_collectives(int* result) {
  if (lane() < 16) {
    result[lane()] = __shfl_sync(all_lanes, 1, 0);
  } else {
    result[lane()] = __ballot_sync(all_lanes, 1);
  }
}

__global__ void different_masks() { __syncwarp(lane() < 16 ? all_lanes : 0xfffffff0u); }

__global__ void exits_early(int count, int* result) {
  if (lane() >= count) return;
  result[lane()] = __shfl_sync(all_lanes, lane(), 0);
}

__global__ void shuffle_from_outside(int* result) {
  if (lane() < 16) result[lane()] = __shfl_sync(0xffffu, lane(), 20);
}

__global__ void not_in_own_mask() { __syncwarp(0xffff0000u); }

__global__ void wait_for_other_block(int* arrived) {
  atomicAdd(arrived, 1);
  while (atomicAdd(arrived, 0) < int(gridDim.x)) {
  }
}

__global__ void wild_pointer(int* nowhere) { *nowhere = 1; }

__global__ void divide(int* value, int divisor) { *value /= divisor; }

__global__ void large_shared(int* value) {
  __shared__ int values[13 << 10];
  values[threadIdx.x] = 1;
  *value = values[0];
}

}  // namespace samples

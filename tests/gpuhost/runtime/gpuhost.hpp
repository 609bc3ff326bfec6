// CUDA C++ for g++: included before the source of a kernel, it gives CUDA's keywords, built-in variables and
// functions a meaning on the host. GPUALTO_HOST tells a source that it is being compiled this way.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#include "interface.hpp"

#define GPUALTO_HOST 1

// Kernels are inline so that the local statics of all of them are public symbols: the compiler leaves
// accesses to private ones whose address is never taken out of the checker's sight.
#define __global__ inline
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

// The thread-local storage of a kernel's library is the shared memory of the block that is running: one
// range, with nothing else in it. All fibers of a block run in one thread of the operating system.
#define __shared__ static thread_local

#define threadIdx (gpuhost::current->thread_index)
#define blockIdx (gpuhost::current->block_index)
#define blockDim (gpuhost::current->block_size)
#define gridDim (gpuhost::current->grid_size)
constexpr int warpSize = gpuhost::lanes_per_warp;

#define GPUALTO_HOST_TEXT(line) #line
#define GPUALTO_HOST_LINE(line) GPUALTO_HOST_TEXT(line)
#define GPUALTO_HOST_SITE __FILE__ ":" GPUALTO_HOST_LINE(__LINE__)

#define __syncthreads() ((void)gpuhost::block_barrier(gpuhost::Barrier::plain, GPUALTO_HOST_SITE, 0))
#define __syncthreads_or(predicate) \
  gpuhost::block_barrier(gpuhost::Barrier::any, GPUALTO_HOST_SITE, (predicate) != 0)
#define __syncthreads_and(predicate) \
  gpuhost::block_barrier(gpuhost::Barrier::all, GPUALTO_HOST_SITE, (predicate) != 0)
#define __syncthreads_count(predicate) \
  gpuhost::block_barrier(gpuhost::Barrier::count, GPUALTO_HOST_SITE, (predicate) != 0)

inline void __threadfence() { gpuhost::yield(); }
inline void __threadfence_block() { gpuhost::yield(); }
[[noreturn]] inline void __trap() { __builtin_trap(); }
inline void __nanosleep(unsigned) { gpuhost::yield(); }

#include "vectors.hpp"
#include "warp.hpp"
#include "atomics.hpp"
#include "arithmetic.hpp"
#include "entry.hpp"

// Memory: vectors of up to 16 bytes, atomic additions, dynamic shared memory, and with it the few things that differ
// between a device and the host build of the tests (GPUALTO_HOST).
#pragma once

#ifdef GPUALTO_HOST
#define GPUALTO_DYNAMIC_SHARED(Type, name) Type* const name = static_cast<Type*>(gpuhost::dynamic_shared())
#else
#define GPUALTO_DYNAMIC_SHARED(Type, name)                  \
  extern __shared__ __align__(16) unsigned char name##_bytes[]; \
  Type* const name = reinterpret_cast<Type*>(name##_bytes)
#endif

namespace gpualto {

// Adjacent numbers that are loaded, stored and added together.
template <class T, int Length>
struct alignas(sizeof(T) * Length) Vector {
  T at[Length];
};

// Pointers of one kind, a kernel's parameter, passed by value.
template <class T, int Count>
struct Pointers {
  T* at[Count];
};

template <class T, int Length>
__device__ __forceinline__ Vector<T, Length> load_vector(const T* source) {
  return *reinterpret_cast<const Vector<T, Length>*>(source);
}

template <class T, int Length>
__device__ __forceinline__ void store_vector(T* target, const Vector<T, Length>& vector) {
  *reinterpret_cast<Vector<T, Length>*>(target) = vector;
}

template <class T, int Length>
__device__ __forceinline__ void add_singly(T* target, const Vector<T, Length>& vector) {
#pragma unroll
  for (int n = 0; n < Length; ++n) atomicAdd(target + n, vector.at[n]);
}

// Adds to global memory that other threads add to as well: one operation for two or four floats from
// compute capability 9.0 on, else one for each number.
template <class T, int Length>
__device__ __forceinline__ void add_to_global(T* target, const Vector<T, Length>& vector) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (sizeof(T) == 4 && Length == 4) {
    const float4 packed = make_float4(vector.at[0], vector.at[1], vector.at[2], vector.at[3]);
    atomicAdd(reinterpret_cast<float4*>(target), packed);
  } else if constexpr (sizeof(T) == 4 && Length == 2) {
    atomicAdd(reinterpret_cast<float2*>(target), make_float2(vector.at[0], vector.at[1]));
  } else {
    add_singly(target, vector);
  }
#else
  add_singly(target, vector);
#endif
}

template <class T, int Length>
__device__ __forceinline__ void add_to_shared(T* target, const Vector<T, Length>& vector) {
  add_singly(target, vector);
}

}  // namespace gpualto

// CUDA's short vectors, with CUDA's alignment.
#pragma once

#define GPUALTO_HOST_VECTOR2(name, type)  \
  struct alignas(2 * sizeof(type)) name { \
    type x, y;                            \
  };                                      \
  inline name make_##name(type x, type y) { return name{x, y}; }

#define GPUALTO_HOST_VECTOR4(name, type) \
  struct alignas(16) name {              \
    type x, y, z, w;                     \
  };                                     \
  inline name make_##name(type x, type y, type z, type w) { return name{x, y, z, w}; }

GPUALTO_HOST_VECTOR2(int2, int)
GPUALTO_HOST_VECTOR2(uint2, unsigned)
GPUALTO_HOST_VECTOR2(float2, float)
GPUALTO_HOST_VECTOR2(double2, double)
GPUALTO_HOST_VECTOR2(longlong2, long long)
GPUALTO_HOST_VECTOR2(ulonglong2, unsigned long long)
GPUALTO_HOST_VECTOR4(int4, int)
GPUALTO_HOST_VECTOR4(uint4, unsigned)
GPUALTO_HOST_VECTOR4(float4, float)

#undef GPUALTO_HOST_VECTOR2
#undef GPUALTO_HOST_VECTOR4

"""How fast a device copies memory, reads its L2 cache, and adds atomically: what MTTKRP is held against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np

from gpualto.backends.cuda.launching import address

ROUNDS = 5
_THREADS = 256
_READS = 64
"""Times that the cache is read in one run."""

_SOURCE = """
extern "C" __global__ void read_again(const float4* numbers, long long count, int reads, float* sink) {
  const long long threads = (long long)gridDim.x * blockDim.x;
  const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int read = 0; read < reads; ++read) {
    for (long long n = first; n < count; n += threads) {
      const float4 four = numbers[(n + read) % count];
      sum += four.x + four.y + four.z + four.w;
    }
  }
  if (sum == -1) *sink = sum;  // never, as the compiler cannot know
}

// Rows of 16 numbers, each added to by 16 neighbouring threads, in an order that no cache foresees.
extern "C" __global__ void add_rows(float* numbers, long long rows, long long count) {
  const long long threads = (long long)gridDim.x * blockDim.x;
  for (long long n = (long long)blockIdx.x * blockDim.x + threadIdx.x; n < count; n += threads) {
    const unsigned long long row = (unsigned long long)(n / 16) * 0x9e3779b97f4a7c15ull >> 20;
    atomicAdd(numbers + row % rows * 16 + n % 16, 1.0f);
  }
}
"""


@dataclass(frozen=True)
class Limits:
    """Bytes, or additions, a second."""

    copy: float
    cache: float
    atomics: float

    def __str__(self) -> str:
        return (
            f"copy {self.copy / 1e9:,.0f} GB/s (read and written), L2 reads {self.cache / 1e9:,.0f} GB/s, "
            f"atomic additions {self.atomics / 1e9:,.1f} G/s"
        )


def measure_limits(cupy: ModuleType, copied: int, cached: int, added: int) -> Limits:
    """Return the limits of the current device.

    Parameters
    ----------
    copied, cached : int
        Bytes of the array that is copied, beyond any cache, and of the one that is read again and again.
    added : int
        Number of atomic additions, to rows of as many bytes as `cached`.
    """
    blocks = 8 * int(cupy.cuda.Device().attributes["MultiProcessorCount"])
    source, target = cupy.zeros(copied, np.uint8), cupy.empty(copied, np.uint8)
    copying = seconds(cupy, lambda: cupy.copyto(target, source))
    numbers, sink = cupy.zeros(cached // 4, np.float32), cupy.zeros(1, np.float32)
    read, add = (cupy.RawKernel(_SOURCE, name) for name in ("read_again", "add_rows"))
    reading = (address(numbers), np.int64(cached // 16), np.int32(_READS), address(sink))
    reads = seconds(cupy, lambda: read((blocks,), (_THREADS,), reading))
    adding = (address(numbers), np.int64(cached // 64), np.int64(added))
    adds = seconds(cupy, lambda: add((blocks,), (_THREADS,), adding))
    return Limits(2 * copied / copying, _READS * (cached // 16 * 16) / reads, added / adds)


def seconds(cupy: ModuleType, run: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Return the median time of a run on the device, by events, after one run that warms it up."""
    run()
    times = []
    for _ in range(rounds):
        before, after = cupy.cuda.Event(), cupy.cuda.Event()
        before.record()
        run()
        after.record()
        after.synchronize()
        times.append(float(cupy.cuda.get_elapsed_time(before, after)) / 1e3)
    return median(times)

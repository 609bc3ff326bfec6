"""MTTKRP of tensors in any format, by CUDA C++ that is written for the format."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpualto._arrays import Array, array_module
from gpualto.backends import Fill
from gpualto.backends.cuda.columns import columns_of
from gpualto.backends.cuda.launching import address, blocks_for, c_name, kernel, pointers
from gpualto.encoding import AltoEncoding
from gpualto.format.source import Decoder, UnwritableError, array_name, arrays_of, write_decoder
from gpualto.format.storage import StoredTensor
from gpualto.kernels import layout_source, translation_unit

_THREADS = 128
_FILE = "mttkrp_format.cu"

_PREAMBLE = """\
using U = unsigned long long;
using I = long long;

// The parent whose places include this one: the last with pos[parent] <= place.
template <class Integer>
__device__ inline U parent_of(const Integer* pos, U count, U place) {
  U low = 0, high = count;
  while (high - low > 1) {
    const U middle = low + (high - low) / 2;
    if (U(pos[middle]) <= place) low = middle; else high = middle;
  }
  return low;
}

__device__ inline I floor_quotient(I a, I b) { return a / b - (a % b < 0); }
__device__ inline I floor_remainder(I a, I b) { return a % b < 0 ? a % b + b : a % b; }
"""


class Cuda:
    """CUDA C++: positions come in any order, and each parent is found by bisection."""

    def number(self, number: int) -> str:
        """Return an unsigned constant."""
        return f"{number}ull"

    def assign(self, name: str, code: str) -> str:
        """Return a declaration, of what may not be needed: the block of a mode that is shorter than one."""
        return f"[[maybe_unused]] const U {name} = {code};"

    def skip_if(self, condition: str) -> list[str]:
        """Return that there is no entry."""
        return [f"if ({condition}) return false;"]

    def quotient(self, left: str, right: str, *, signed: bool) -> str:
        """Return a quotient, rounded down."""
        return f"floor_quotient({left}, {right})" if signed else f"({left} / {right})"

    def remainder(self, left: str, right: str, *, signed: bool) -> str:
        """Return a remainder that is not negative."""
        return f"floor_remainder({left}, {right})" if signed else f"({left} % {right})"

    def gather(self, word: str, mask: int) -> str:
        """Return each run of bits, moved to its place: see ``index.cuh``."""
        pieces, place = [], 0
        while mask:
            lowest = (mask & -mask).bit_length() - 1
            run = mask >> lowest
            length = (~run & (run + 1)).bit_length() - 1
            pieces.append(f"({word} >> {lowest - place} & {((1 << length) - 1) << place:#x}ull)")
            place += length
            mask &= ~(((1 << length) - 1) << lowest)
        return f"({' | '.join(pieces)})"

    def find_parent(
        self, pos: str, parent: str, place: str, *, one_by_one: bool
    ) -> tuple[list[str], list[str]]:
        """Return a search."""
        return [], [f"const U {parent} = parent_of({pos}, {pos}_parents, {place});"]


CUDA = Cuda()


def plan_mttkrp(X: StoredTensor, mode: int, rank: int, dtype: np.dtype[Any]) -> Fill:
    """Return the MTTKRP of a mode; sums go to the output by atomic additions.

    Raises
    ------
    ValueError
        If no code is written for the format in this shape.
    """
    if X.nse == 0:
        return lambda factors, out: out.fill(0)
    cupy = array_module(X.values)
    decoder = _decoder(X)
    types = f"{mode}, {c_name(X.dtype)}, {c_name(dtype)}, {rank}, {_THREADS}"
    expression = f"mttkrp_format<Layout, Stored, {types}>"
    function = kernel(cupy, AltoEncoding(X.shape), _FILE, expression, stored_source(X, decoder))
    grid = (blocks_for(cupy, function, _THREADS, X.nse), columns_of(rank, dtype).panels)
    stored = _parameter(X, decoder)

    def fill(factors: list[Array | None], out: Array) -> None:
        out.fill(0)
        inputs = pointers([np.uint64(0) if f is None else address(f) for f in factors])
        function(grid, (_THREADS,), (stored, address(X.values), np.int64(X.nse), inputs, address(out)))

    return fill


def explain(X: StoredTensor, mode: int) -> str:
    """Return how the MTTKRP of a mode is computed."""
    _decoder(X)
    return f"mode {mode}: code written for {X.format}, atomic"


def source(X: StoredTensor) -> str:
    """Return the CUDA C++ that CuPy compiles."""
    parts = [layout_source(AltoEncoding(X.shape)), stored_source(X, _decoder(X)), translation_unit(_FILE)]
    return "\n".join(parts)


def stored_source(X: StoredTensor, decoder: Decoder) -> str:
    """Return the struct `Stored` of ``mttkrp_format.cu`` for a format, shape and types of arrays."""
    fields = []
    for one, array in zip(decoder.arrays, arrays_of(X, decoder), strict=True):
        name = array_name(*one)
        fields.append(f"const {c_name(array.dtype)}* {name};")
        if one[0] == "pos":
            fields.append(f"U {name}_parents;")
    results = [f"coordinates[{mode}] = Row({code});" for mode, code in enumerate(decoder.coordinates)]
    lines = [*decoder.body, *results, "return true;"]
    return "\n".join(
        [
            _PREAMBLE,
            f"// {X.format}",
            "struct Stored {",
            f"  static constexpr bool tells_zeros = {str(X.format.tells_zeros).lower()};",
            *(f"  {line}" for line in fields),
            "  template <class Row>",
            "  __device__ inline bool read(U position, Row* coordinates) const {",
            *(f"    {line}" for line in lines),
            "  }",
            "};",
        ]
    )


def _parameter(X: StoredTensor, decoder: Decoder) -> Array:
    """Return the struct `Stored` as a parameter passed by value; the tensor keeps the arrays alive."""
    values: list[Any] = []
    for one, array in zip(decoder.arrays, arrays_of(X, decoder), strict=True):
        values.append(address(array))
        if one[0] == "pos":
            values.append(np.uint64(array.size - 1))
    return pointers(values or [np.uint64(0)])


def _decoder(X: StoredTensor) -> Decoder:
    try:
        if max(X.shape) >= 2**32 - 1 and max(AltoEncoding(X.shape).bits_per_mode) <= 32:
            raise UnwritableError("a mode is as long as 32 bits count")
        return write_decoder(X.format, X.shape, CUDA)
    except UnwritableError as error:
        raise ValueError(
            f"X: no code is written for {X.format} in the shape {X.shape}: {error}; "
            f"pass X.to_format(gpualto.formats.ALTO({X.ndim}))"
        ) from None

"""Synthetic tensors with the shapes of real ones, by name.

The shapes are those of table 1 of the ALTO paper (ICS 2021); the files themselves, from FROSTT, are large
and often not at hand. A coordinate of mode n is ``floor(u**a_n * I_n)``, u uniform on [0, 1): the exponent
a_n says how much the low coordinates are preferred. The labels of each mode are then permuted, so that the
popular ones lie anywhere, and draws that repeat are drawn again. Real data has more locality than that.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import gpualto
from gpualto._arrays import Array, Coordinates
from gpualto.encoding import AltoEncoding, LinearIndex
from gpualto.ordering import argsort, first_of_equals


@dataclass(frozen=True)
class Spec:
    """What a synthetic tensor looks like.

    Parameters
    ----------
    name : str
        Also the seed.
    shape : tuple of int
        Length of each mode.
    skew : tuple of float
        Exponent of each mode; 1 is uniform.
    nnz : int
        Default number of nonzeros, for a machine with 24 GB.
    """

    name: str
    shape: tuple[int, ...]
    skew: tuple[float, ...]
    nnz: int


# The comment is the number of nonzeros in the paper. The exponents of nips, uber, darpa, nell-2 and flickr
# are part of their definition here: figures taken elsewhere with the same ones can be compared. Those of
# chicago, enron, deli, nell-1 and amazon are our own guesses at how popular the most popular labels are.
SPECS = {
    spec.name: spec
    for spec in (
        Spec("nips", (2482, 2862, 14036, 17), (2, 2, 2.5, 1.2), 3_100_000),  # 3.1M
        Spec("uber", (183, 24, 1140, 1717), (1.2, 1.3, 2, 2), 3_300_000),  # 3.3M
        Spec("chicago", (6186, 24, 77, 32), (1.1, 1.3, 1.5, 2.5), 5_300_000),  # 5.3M
        Spec("darpa", (22476, 22476, 23776223), (4, 4, 1.3), 5_000_000),  # 28.4M
        Spec("enron", (6066, 5699, 244268, 1176), (3, 3, 2.5, 1.3), 5_000_000),  # 54.2M
        Spec("nell-2", (12092, 9184, 28818), (2.5, 2.5, 2.5), 10_000_000),  # 76.9M
        Spec("flickr", (319686, 28153045, 1607191, 731), (2.5, 1.5, 2.5, 1.5), 5_000_000),  # 112.9M
        Spec("deli", (532924, 17262471, 2480308, 1443), (2, 1.5, 3, 1.3), 5_000_000),  # 140.1M
        Spec("nell-1", (2902330, 2143368, 25495389), (2.5, 2.5, 2), 5_000_000),  # 143.6M
        Spec("amazon", (4821207, 1774269, 1805187), (1.5, 2, 4), 10_000_000),  # 1.74G
    )
}


@dataclass(frozen=True, eq=False)
class Entries:
    """Nonzeros in random order: what a tensor is made from."""

    name: str
    shape: tuple[int, ...]
    coords: Coordinates
    values: Array

    @property
    def nnz(self) -> int:
        """Number of nonzeros."""
        return int(self.values.size)

    def __str__(self) -> str:
        return f"{self.name}: {' x '.join(map(str, self.shape))}, {self.nnz:,} nonzeros"


def load(name: str, nnz: int | None = None) -> Entries:
    """Return the nonzeros of a tensor of this module by its name, or of a file by its path.

    Parameters
    ----------
    name : str
        A key of `SPECS`, or the path of a file that `gpualto.read` reads.
    nnz : int, optional
        Number of nonzeros to draw; a file gives those that it has.
    """
    if name in SPECS:
        coords, values = draw(SPECS[name], nnz)
        return Entries(name, SPECS[name].shape, coords, values)
    X = gpualto.read(name)
    order = _generator(name).permutation(X.nnz)
    return Entries(Path(name).name, X.shape, tuple(X.coords[:, order]), X.values[order])


def draw(spec: Spec, nnz: int | None = None, dtype: Any = np.float64) -> tuple[Coordinates, Array]:
    """Return distinct coordinates, one int64 array per mode, and values uniform on (0, 1].

    The same arguments give the same arrays, on one machine and version of NumPy.

    Examples
    --------
    >>> coords, values = draw(SPECS["uber"], 1000)
    >>> len(coords), values.shape
    (4, (1000,))
    """
    count = spec.nnz if nnz is None else nnz
    if count > math.prod(spec.shape):
        raise ValueError(f"nnz: {spec.name} has {math.prod(spec.shape)} cells, fewer than {count}")
    for_positions, for_labels, for_values = _generator(spec.name).spawn(3)
    encoding = AltoEncoding(spec.shape)
    index = _draw_distinct(spec, encoding, count, for_positions)
    order = for_values.permutation(count)
    positions = encoding.delinearize(tuple(word[order] for word in index))
    labels = (for_labels.permutation(length) for length in spec.shape)
    coords = tuple(label[position] for label, position in zip(labels, positions, strict=True))
    return coords, (1.0 - for_values.random(count)).astype(dtype)


def _generator(name: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(name.encode()))


def _draw_distinct(
    spec: Spec, encoding: AltoEncoding, count: int, generator: np.random.Generator
) -> LinearIndex:
    """Return the first `count` distinct linear indices of an endless row of draws."""
    index = encoding.linearize([np.empty(0, np.int64)] * encoding.ndim)
    share_of_new = 1.0
    while (missing := count - index[0].size) > 0:
        # At most as many as there are in all, so that a crowded tensor takes rounds and not memory.
        drawn = min(int(1.02 * missing / share_of_new) + 100, count + 100)
        fresh = encoding.linearize(list(_positions(spec, drawn, generator)))
        pool = tuple(np.concatenate(words) for words in zip(index, fresh, strict=True))
        distinct = _first_occurrences(pool)
        share_of_new = max((distinct.size - index[0].size) / drawn, 1e-3)
        index = tuple(word[distinct[:count]] for word in pool)
    return index


def _positions(spec: Spec, count: int, generator: np.random.Generator) -> Iterator[Array]:
    """Yield the coordinates of each mode before their labels are permuted."""
    for length, exponent in zip(spec.shape, spec.skew, strict=True):
        # Rounding may reach the length itself.
        yield np.minimum((generator.random(count) ** exponent * length).astype(np.int64), length - 1)


def _first_occurrences(index: LinearIndex) -> Array:
    """Return the positions, increasing, at which a linear index stands for the first time."""
    order = argsort(index)
    kept = np.zeros(order.size, bool)
    kept[order[first_of_equals(tuple(word[order] for word in index))]] = True
    return np.flatnonzero(kept)

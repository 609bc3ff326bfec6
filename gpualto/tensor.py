"""The sparse tensor: a shape, sorted linear indices and values, on one device."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from gpualto._arrays import (
    Array,
    array_module,
    as_array,
    as_coordinates,
    as_values,
    blocks,
    kind_of,
    mover_to,
)
from gpualto.backends import backend_for_construction
from gpualto.encoding import AltoEncoding, LinearIndex
from gpualto.format.decoding import convert
from gpualto.format.format import Format, as_format
from gpualto.format.indices import NARROW_BITS
from gpualto.format.named import ALTO
from gpualto.format.storage import LevelArrays, StoredTensor
from gpualto.indexing import as_key, contains, expand, size_of
from gpualto.labels import AnyLabels, ModeLabels, as_labels, mode_number
from gpualto.methods import TensorMethods
from gpualto.ordering import find, first_of_equals
from gpualto.profiling import annotate

if TYPE_CHECKING:
    from gpualto.tables.columns import Missing
    from gpualto.tables.dataframes import Aggregate, Modes

Duplicates = Literal["sum", "error"]


@dataclass(frozen=True, eq=False, repr=False)
class Tensor(TensorMethods):
    """A sparse tensor, its nonzeros in adaptive linearized tensor order.

    Build one with `from_coo`, `from_dataframe`, `from_dense`, `from_scipy` or `gpualto.read`; the
    constructor itself takes arrays that are sorted already and does not check them. A tensor never
    changes: every method gives a new one, and its arrays are read-only.

    A *nonzero* is a stored entry. Explicit zeros are kept (`prune` drops them); what is not stored is zero.

    Parameters
    ----------
    encoding : AltoEncoding
        Shape and bit layout.
    index : tuple of (nnz,) arrays
        Words of the linear indices, increasing.
    values : (nnz,) array
        float32 or float64.
    labels : tuple of ModeLabels
        Names of the modes and of their indices.

    Attributes
    ----------
    derived : dict
        What backends have worked out about this tensor and keep with it, such as plans.

    Examples
    --------
    >>> X = Tensor.from_coo([[0, 1, 3], [0, 6, 4], [0, 1, 0]], [1.0, 2.0, 3.0], shape=(4, 8, 2))
    >>> X
    gpualto.Tensor(4 x 8 x 2, nnz=3, density=0.0469, float64, cpu)
      ALTO: 6 bits in uint32, 36 bytes
    >>> X[1, 6, 1]
    2.0
    >>> X[3].shape
    (8, 2)
    """

    encoding: AltoEncoding
    index: LinearIndex
    values: Array
    labels: tuple[ModeLabels, ...] = field(default=())
    derived: dict[Any, Any] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", tuple(map(_read_only, self.index)))
        object.__setattr__(self, "values", _read_only(self.values))
        object.__setattr__(self, "labels", as_labels(self.labels or None, self.shape))

    # Construction ---------------------------------------------------------------------------------------

    @classmethod
    def from_coo(
        cls,
        coords: Array | Sequence[Array],
        values: Array,
        shape: Sequence[int] | None = None,
        *,
        duplicates: Duplicates = "sum",
        labels: AnyLabels | None = None,
    ) -> Self:
        """Make a tensor from coordinates and values.

        Parameters
        ----------
        coords : (ndim, nnz) array or sequence of ndim arrays
            Coordinates, any integer type, any order: what ``numpy.nonzero`` gives. NumPy or CuPy arrays, or
            what offers ``__cuda_array_interface__`` or DLPack; the tensor lives where they do.
        values : (nnz,) array
            float32 and float64 are kept, integers and booleans become float64.
        shape : sequence of int, optional
            By default the largest coordinate of each mode plus one.
        duplicates : {"sum", "error"}
            What to do with equal coordinates.
        labels : sequence or mapping, optional
            Labels of each mode, or None for a mode without; a mapping gives the modes' names as well.

        Raises
        ------
        TypeError
            If coordinates are not integers, values not real, or the arguments are out of order.
        ValueError
            If lengths disagree, a coordinate is out of bounds, or duplicates are refused.

        Examples
        --------
        >>> X = Tensor.from_coo([[1, 0, 1], [3, 2, 3]], [0.25, 1.0, 0.5], shape=(2, 4))
        >>> X.nnz, X[1, 3]
        (2, 0.75)
        """
        coordinates = as_coordinates(coords)
        checked_values = as_values(values)
        _require_one_kind(coordinates, checked_values)
        if duplicates not in ("sum", "error"):
            raise ValueError(f'duplicates: expected "sum" or "error", got {duplicates!r}')
        nnz = coordinates[0].size
        if checked_values.size != nnz:
            hint = "; coords has one row per mode: pass coords.T" if len(coordinates) == len(values) else ""
            raise ValueError(
                f"values: {checked_values.size} values for {nnz} coordinates in each of "
                f"{len(coordinates)} modes{hint}"
            )
        if shape is None:
            if nnz == 0:
                raise ValueError("shape: needed where there are no nonzeros to infer it from")
            shape = tuple(int(coordinate.max()) + 1 for coordinate in coordinates)
        encoding = AltoEncoding(shape)
        with annotate("construct"):
            backend = backend_for_construction(checked_values)
            index, sorted_values = backend.sort_entries(encoding, coordinates, checked_values)
            index, merged = _merge_duplicates(encoding, index, sorted_values, duplicates)
        return cls(encoding, index, merged, as_labels(labels, encoding.shape))

    @classmethod
    def from_dense(cls, array: Array, *, labels: AnyLabels | None = None) -> Self:
        """Make a tensor from the nonzero entries of a dense array.

        Examples
        --------
        >>> Tensor.from_dense(np.eye(3)).nnz
        3
        """
        dense = as_array(array)
        if dense.dtype == object:
            raise TypeError(
                f"array: expected numbers, got {type(array).__name__}; gpualto.from_any takes sparse arrays"
            )
        if dense.ndim == 0:
            raise ValueError("array: a tensor has at least one mode, got a scalar")
        coords = dense.nonzero()
        return cls.from_coo(coords, dense[coords], dense.shape, labels=labels)

    @classmethod
    def from_scipy(
        cls, array: Any, *, duplicates: Duplicates = "sum", labels: AnyLabels | None = None
    ) -> Self:
        """Make a tensor from a SciPy sparse array of any format, n-dimensional ``coo_array`` included.

        The sparse matrices of ``cupyx.scipy`` give a tensor on their device.

        Examples
        --------
        >>> import scipy.sparse
        >>> Tensor.from_scipy(scipy.sparse.eye_array(3)).nnz
        3
        """
        coo = array.tocoo()
        coords = coo.coords if hasattr(coo, "coords") else (coo.row, coo.col)  # cupyx has the latter
        return cls.from_coo(coords, coo.data, coo.shape, duplicates=duplicates, labels=labels)

    @classmethod
    def from_dataframe(
        cls,
        df: Any,
        modes: Modes,
        value: str | None = None,
        *,
        aggregate: Aggregate = "sum",
        missing: Missing = "error",
    ) -> Self:
        """Make a tensor with labels from the rows of a table: a mode for each of some columns.

        The indices of a mode are the distinct values of its column, in order: numbers by size, times by
        time, False before True, text as Python sorts it. Ordered categories, of pandas, polars or Arrow,
        keep their order, and those that no row has. What no row says is zero.

        Parameters
        ----------
        df : table
            A DataFrame of pandas or polars, a table of pyarrow, or what else has ``__arrow_c_stream__``; or a
            mapping of names to arrays.
        modes : sequence of str or bins
            A column for each mode, or bins of one: see `gpualto.bins`.
        value : str, optional
            A numeric column; by default rows are counted. float32 is kept, the rest becomes float64.
        aggregate : {"sum", "count", "mean", "min", "max"}
            What to do with rows of equal coordinates. Sums of zero are stored.
        missing : {"error", "drop"}
            What to do with rows that have no value (None, NaN or NaT) in a column that is used.

        Raises
        ------
        TypeError
            If `df` is no table, or `modes` no sequence of columns.
        ValueError
            If the table has no rows, a column is not there or has rows without a value, the values are not
            numbers, or one is an integer beyond 2**53.
        MissingPackageError
            If pyarrow is not installed.

        Examples
        --------
        >>> flights = {"carrier": ["UA", "AA", "UA"], "hour": [7, 15, 7], "count": [3, 1, 2]}
        >>> X = Tensor.from_dataframe(flights, ["carrier", "hour"], "count")
        >>> X.todense()
        array([[0., 1.], [5., 0.]])
        >>> X.labels[0]
        ModeLabels(name='carrier', entries=('AA', 'UA'))
        """
        from gpualto.tables.dataframes import entries_of

        entries = entries_of(df, modes, value, aggregate, missing)
        return cls.from_coo(entries.coords, entries.values, entries.shape, labels=entries.labels)

    def to_table(self, value: str = "value") -> dict[str, Array]:
        """Return the nonzeros as columns of a table: labels, or coordinates where there are none, and values.

        ``pandas.DataFrame``, ``polars.DataFrame`` and ``pyarrow.table`` take it.

        Parameters
        ----------
        value : str
            Name of the column of values.

        Raises
        ------
        ValueError
            If two columns would have the same name.

        Examples
        --------
        >>> X = Tensor.from_coo([[0, 1], [2, 0]], [1.5, 2.0], labels={"who": ["ann", "bob"], "day": None})
        >>> for column, entries in X.to_table().items():
        ...     print(column, entries)
        who ['bob' 'ann']
        day [0 2]
        value [2.  1.5]
        """
        from gpualto.tables.export import columns_of_tensor

        return columns_of_tensor(self, value)

    # What it is -----------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # a field elsewhere
        """Length of each mode."""
        return self.encoding.shape

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        return int(self.values.size)

    @property
    def nse(self) -> int:
        """Number of stored positions, which are all nonzeros here: see `StoredTensor`."""
        return self.nnz

    @property
    def size(self) -> int:
        """Number of cells, stored or not: an exact Python integer."""
        return math.prod(self.shape)

    @property
    def density(self) -> float:
        """Stored entries per cell."""
        return self.nnz / self.size if self.size else 0.0

    @property
    def nbytes(self) -> int:
        """Bytes of the index and the values."""
        return int(self.values.nbytes + sum(word.nbytes for word in self.index))

    def to_device(self, device: str) -> Self:
        """Return the tensor with its arrays on a device; the same tensor where they are there already.

        Parameters
        ----------
        device : str
            ``"cpu"``, ``"cuda"`` for the current device, or ``"cuda:1"`` for a device by its number.

        Raises
        ------
        ValueError
            If the name is none of these.
        MissingPackageError
            If CuPy is not installed.

        Examples
        --------
        >>> X = Tensor.from_coo([[0, 2]], [3.0, 4.0])
        >>> X.to_device("cpu") is X
        True
        """
        move = mover_to(device)
        moved = replace(self, index=tuple(map(move, self.index)), values=move(self.values))
        return self if moved.device == self.device else moved

    @property
    def coords(self) -> Array:
        """Coordinates of the nonzeros in their stored order: a new (ndim, nnz) int64 array."""
        return backend_for_construction(self.values).delinearize(self.encoding, self.index)

    @property
    def format(self) -> Format:
        """How the nonzeros are stored, in the format language."""
        return ALTO(self.ndim)

    def pos(self, level: int) -> Array:
        """Return where the nonzeros begin and end; the format has one level, number 0."""
        return self._stored().pos(level)

    def crd(self, level: int) -> Array | LinearIndex:
        """Return the linear indices; a tuple of words, the low word first, from 64 bits on."""
        return self._stored().crd(level)

    def describe(self) -> str:
        """Return a drawing of the arrays: see `gpualto.StoredTensor.describe`."""
        return self._stored().describe()

    def _stored(self) -> StoredTensor:
        """Return the same arrays as a tensor of the format language."""
        pos = array_module(self.values).asarray(np.array([0, self.nnz]))
        crd = self.index[0] if self.encoding.nbits < NARROW_BITS else self.index
        return StoredTensor(self.format, self.shape, (LevelArrays(pos, crd),), self.values, self.labels)

    def to_format(self, format: Format | str) -> Tensor | StoredTensor:
        """Return the tensor in another format of the format language, on the same device.

        Explicit zeros are kept where the format tells entries from what fills it up. Array operations
        only: the nonzeros are sorted into the order of the format, and the levels built one by one.

        Parameters
        ----------
        format : Format or str
            A format of as many modes; `gpualto.formats` has the usual ones.

        Returns
        -------
        StoredTensor, or this tensor where the format is its own

        Raises
        ------
        FormatError
            If the text is no sound format.
        ValueError
            If it has another number of modes, or its levels cannot hold the tensor.

        Examples
        --------
        >>> X = Tensor.from_coo([[0, 2], [1, 0], [3, 3]], [1.0, 2.0], shape=(3, 2, 4))
        >>> X.to_format("(i, j, k) -> (k : compressed, i : compressed, j : compressed)").crd(1)
        array([0, 2], dtype=int8)
        """
        target = as_format(format)
        return self if target.is_alto and target.ndim == self.ndim else convert(self._stored(), target)

    def entries(self) -> tuple[Array, Array]:
        """Return coordinates, (ndim, nnz) int64, and values of the nonzeros, in their stored order."""
        return self.coords, self.values

    def parts(self, size: int) -> Iterator[tuple[Array, Array]]:
        """Yield coordinates and values of `size` nonzeros at a time."""
        for block in blocks(self.nnz, size=size):
            yield self.decode(block), self.values[block]

    def decode(self, positions: slice) -> Array:
        """Return the coordinates, (ndim, n) int64, of a run of stored positions."""
        return self.encoding.delinearize(tuple(word[positions] for word in self.index))

    # What it gives --------------------------------------------------------------------------------------

    def with_values(self, values: Array) -> Self:
        """Return the tensor with other values at the same coordinates; plans that were made are kept.

        Parameters
        ----------
        values : (nnz,) array
            In stored order, on the same device.

        Raises
        ------
        ValueError
            If there are not as many as entries.

        Examples
        --------
        >>> X = Tensor.from_coo([[0, 2]], [3.0, 4.0])
        >>> X.with_values(np.log2(X.values)).values.round(2)
        array([1.58, 2.  ])
        """
        checked = as_values(values)
        if checked.size != self.nnz:
            raise ValueError(f"values: {checked.size} values for {self.nnz} entries")
        _require_one_kind(self.index[:1], checked)
        return self._with_own(checked.copy())

    def _with_own(self, values: Array) -> Self:
        """Return the tensor with other values, in an array that nobody else has."""
        other = replace(self, values=values)
        object.__setattr__(other, "derived", self.derived)
        return other

    def align(
        self,
        labels: Sequence[ModeLabels | Sequence[str] | None],
        *,
        unknown: Literal["error", "drop"] = "error",
    ) -> Tensor:
        """Return the tensor with the indices of its modes where other labels have them.

        For new data that are to go with a model or a tensor made before: ``X_new.align(model.labels)``.

        Parameters
        ----------
        labels : sequence of ModeLabels, labels or None
            One for each mode. Modes without labels, here or there, stay as they are.
        unknown : {"error", "drop"}
            What to do with entries whose label is not among them.

        Raises
        ------
        ValueError
            If an entry has a label that is not among them; the mode and the label are named. Also if a mode
            has the name of another one there.

        Examples
        --------
        >>> new = Tensor.from_coo([[0, 1]], [1.0, 2.0], labels={"who": ["bob", "ann"]})
        >>> new.align([ModeLabels("who", ("ann", "bob", "eve"))]).todense()
        array([2., 1., 0.])
        """
        from gpualto.ops.alignment import align

        return align(self, labels, unknown)

    def prune(self) -> Self:
        """Return the tensor without its explicit zeros."""
        return self.select(self.values != 0)

    def select(self, kept: Array) -> Self:
        """Return the tensor of some of its entries.

        Parameters
        ----------
        kept : (nnz,) bool array
            Which to keep, in stored order.

        Raises
        ------
        ValueError
            If it is no such mask.

        Examples
        --------
        >>> X = Tensor.from_coo([[0, 2]], [3.0, -4.0])
        >>> X.select(X.values > 0).nnz
        1
        """
        mask = as_array(kept)
        if mask.dtype != bool or mask.shape != (self.nnz,):
            raise ValueError(
                f"kept: expected a mask of {self.nnz} entries, got {mask.dtype} of shape {mask.shape}"
            )
        return replace(self, index=tuple(word[mask] for word in self.index), values=self.values[mask])

    def permute(self, modes: Sequence[int | str]) -> Self:
        """Return the tensor with its modes in another order: mode n of the result is mode ``modes[n]``.

        Examples
        --------
        >>> X = Tensor.from_coo([[0], [5]], [1.0], shape=(2, 9), labels={"who": None, "day": None})
        >>> X.permute((1, 0))[5, 0], X.permute(["day", "who"]).shape
        (1.0, (9, 2))
        """
        if not isinstance(modes, (Sequence, np.ndarray)):
            raise TypeError(f"modes: expected a sequence of modes, got {modes!r}")
        order = [mode_number(mode, self.labels, "modes") for mode in modes]
        if sorted(order) != list(range(self.ndim)):
            raise ValueError(f"modes: {tuple(modes)} is not a permutation of the {self.ndim} modes")
        shape, labels = zip(*((self.shape[mode], self.labels[mode]) for mode in order), strict=True)
        return type(self).from_coo(self.coords[order], self.values, shape, labels=labels)

    def __getitem__(self, key: Any) -> Any:
        """Return one value where every mode has an integer, else the tensor of the modes that are left.

        Integers may be negative, slices may have steps, and an ellipsis stands for the modes not named.

        Raises
        ------
        IndexError
            If an integer is out of bounds or there are too many of them.
        """
        keys = [as_key(k, mode, self.shape[mode]) for mode, k in enumerate(expand(key, self.ndim))]
        if all(isinstance(k, int) for k in keys):
            position = find(self.index, self.encoding.linearize([[k] for k in keys]))
            return self.dtype.type(0).item() if position is None else self.values[position].item()
        return self._slice(keys)

    def _slice(self, keys: list[int | range]) -> Self:
        coords = self.coords
        kept = array_module(self.values).ones(self.nnz, bool)
        for coordinate, k in zip(coords, keys, strict=True):
            kept &= (coordinate == k) if isinstance(k, int) else contains(k, coordinate)
        left = {mode: k for mode, k in enumerate(keys) if isinstance(k, range)}
        return type(self).from_coo(
            [(coords[mode, kept] - k.start) // k.step for mode, k in left.items()],
            self.values[kept],
            [size_of(k) for k in left.values()],
            labels=[self.labels[mode].take(k) for mode, k in left.items()],
        )

    # How it looks ---------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Tell whether shape, type, stored coordinates and values are exactly equal."""
        if not isinstance(other, Tensor):
            return NotImplemented
        return (
            (self.shape, self.dtype, self.nnz) == (other.shape, other.dtype, other.nnz)
            and all(bool((a == b).all()) for a, b in zip(self.index, other.index, strict=True))
            and bool((self.values == other.values).all())
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor, which makes the arrays read-only again."""
        return type(self), (self.encoding, self.index, self.values, self.labels)

    def __repr__(self) -> str:
        words = " + ".join(str(word.dtype) for word in reversed(self.index))
        names = [item.title(mode) for mode, item in enumerate(self.labels)]
        named = f"; {' x '.join(names)}" if any(item.name for item in self.labels) else ""
        what = f"nnz={self.nnz:,}, density={self.density:.3g}, {self.dtype}, {self.device}"
        lines = [
            f"gpualto.Tensor({' x '.join(map(str, self.shape))}, {what})",
            f"  ALTO: {self.encoding.nbits} bits in {words}, {format_bytes(self.nbytes)}{named}",
        ]
        return "\n".join(line if len(line) <= 110 else line[:107] + "..." for line in lines)


AnyTensor = Tensor | StoredTensor


def require_any_tensor(X: object) -> None:
    """Raise `TypeError` for what is no tensor of any format."""
    if not isinstance(X, StoredTensor):
        require_tensor(X)


def require_tensor(X: object) -> None:
    """Raise `TypeError` for what is no tensor."""
    if isinstance(X, StoredTensor):
        raise TypeError(
            f"X: this takes ALTO only, the tensor is in {X.format}; "
            f"pass X.to_format(gpualto.formats.ALTO({X.ndim}))"
        )
    if not isinstance(X, Tensor):
        raise TypeError(
            f"X: expected a gpualto.Tensor, got {type(X).__name__}; "
            "gpualto.from_any makes one of arrays, Tensor.from_coo of coordinates, from_dataframe of tables"
        )


def format_bytes(count: int) -> str:
    """Return a number of bytes for reading, in decimal units.

    Examples
    --------
    >>> format_bytes(36), format_bytes(1_234_567)
    ('36 bytes', '1.23 MB')
    """
    if count < 1000:
        return f"{count} bytes"
    power = next(n for n in range(1, 6) if count < 999.5 * 1000**n or n == 5)
    return f"{count / 1000**power:.3g} {'kMGTP'[power - 1]}B"


def _merge_duplicates(
    encoding: AltoEncoding, index: LinearIndex, values: Array, duplicates: Duplicates
) -> tuple[LinearIndex, Array]:
    """Sum the values of equal neighbours among sorted linear indices, or refuse them."""
    first = first_of_equals(index)
    surplus = values.size - int(np.count_nonzero(first))
    if surplus == 0:
        return index, values
    if duplicates == "error":
        position = int((~first).argmax())
        where = tuple(
            encoding.delinearize(tuple(word[position : position + 1] for word in index))[:, 0].tolist()
        )
        raise ValueError(
            f"coords: {surplus} surplus entries repeat a coordinate, the first at {where}; "
            'duplicates="sum" would add them'
        )
    starts = first.nonzero()[0]
    sums = backend_for_construction(values).sum_runs(values, starts)
    return tuple(word[starts] for word in index), sums


def _require_one_kind(coords: Sequence[Array], values: Array) -> None:
    """Refuse a mixture of NumPy and CuPy arrays: a transfer is the caller's decision."""
    for mode, coordinate in enumerate(coords):
        if array_module(coordinate) is not array_module(values):
            raise TypeError(
                f"coords, values: mode {mode} of coords is a {kind_of(array_module(coordinate))} array and "
                f"values is a {kind_of(array_module(values))} array; pass all of one kind"
            )


def _read_only(array: Array) -> Array:
    if array_module(array) is not np:  # CuPy has no read-only arrays
        return array
    view = array.view()
    view.flags.writeable = False
    return view

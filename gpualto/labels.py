"""What the modes and their indices are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from gpualto._arrays import as_mode


@dataclass(frozen=True)
class ModeLabels:
    """Name of one mode and, where known, the label of each of its indices.

    Parameters
    ----------
    name : str, optional
        What the mode counts: ``"carrier"``.
    entries : tuple of str, optional
        One label for each index.

    Examples
    --------
    >>> month = ModeLabels("month", ("Jan", "Feb"))
    >>> month.text(1)
    'Feb'
    >>> ModeLabels().text(1)
    '1'
    """

    name: str | None = None
    entries: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", as_entries(self.entries))

    def text(self, index: int) -> str:
        """Return the label of an index, or the index itself where there are no labels."""
        return str(index) if self.entries is None else self.entries[index]

    def title(self, mode: int) -> str:
        """Return the name of the mode, or its number where it has no name."""
        return self.name or f"mode {mode}"

    @cached_property
    def is_ordered(self) -> bool:
        """Whether the labels are increasing numbers, such as years, so that their order says something.

        Examples
        --------
        >>> ModeLabels("year", ("1999", "2000")).is_ordered
        True
        >>> ModeLabels("month", ("Jan", "Feb")).is_ordered
        False
        """
        try:
            numbers = [float(entry) for entry in self.entries or ()]
        except ValueError:
            return False
        return len(numbers) > 1 and all(a < b for a, b in pairwise(numbers))

    def find(self, texts: Sequence[str], mode: int) -> list[int]:
        """Return the indices that have some labels.

        Raises
        ------
        ValueError
            If there is no such label, or more than one.

        Examples
        --------
        >>> ModeLabels("month", ("Jan", "Feb")).find(["Feb", "Jan", "Feb"], 0)
        [1, 0, 1]
        """
        if self.entries is None:
            raise ValueError(f"coords: {self.title(mode)} has no labels; pass indices")
        places = {entry: index for index, entry in enumerate(self.entries)}
        twice = {entry for entry, count in Counter(self.entries).items() if count > 1}
        for text in texts:
            if text not in places or text in twice:
                known = "is no label of" if text not in places else "is there more than once in"
                raise ValueError(f"coords: {text!r} {known} {self.title(mode)}")
        return [places[text] for text in texts]

    def take(self, indices: Iterable[int]) -> ModeLabels:
        """Return the labels of some of the indices."""
        if self.entries is None:
            return self
        return ModeLabels(self.name, tuple(self.entries[index] for index in indices))


def mode_number(mode: int | str, labels: Sequence[ModeLabels], argument: str = "mode") -> int:
    """Return a mode counted from the front, which may be given by its name, or counted from the back.

    Examples
    --------
    >>> labels = [ModeLabels("carrier"), ModeLabels("month")]
    >>> mode_number("month", labels), mode_number(-1, labels)
    (1, 1)
    """
    if not isinstance(mode, str):
        return as_mode(mode, len(labels), argument)
    names = [item.title(n) for n, item in enumerate(labels)]
    if names.count(mode) != 1:
        problem = "no mode" if mode not in names else "more than one mode"
        raise ValueError(f"{argument}: {problem} is called {mode!r}; they are {', '.join(names)}")
    return names.index(mode)


def check_order(own: Sequence[ModeLabels], wanted: Sequence[ModeLabels], name: str = "X") -> None:
    """Raise if a mode has the name of another one of those that it is to go with.

    Examples
    --------
    >>> check_order([ModeLabels("to"), ModeLabels("day")], [ModeLabels("day"), ModeLabels("to")])
    Traceback (most recent call last):
    ...
    ValueError: X: mode 0 is called 'to', which is mode 1 of the other; `permute` puts the modes in its order
    """
    names = [item.name for item in wanted]
    for mode, item in enumerate(own):
        if item.name is not None and item.name in names and names[mode] != item.name:
            raise ValueError(
                f"{name}: mode {mode} is called {item.name!r}, which is mode {names.index(item.name)} of the "
                "other; `permute` puts the modes in its order"
            )


def check_same(own: Sequence[ModeLabels], wanted: Sequence[ModeLabels], name: str = "X") -> None:
    """Raise if the labels of two things say that the same index is not the same."""
    check_order(own, wanted, name)
    for mode, (mine, other) in enumerate(zip(own, wanted, strict=True)):
        if mine.entries is not None and other.entries is not None and mine.entries != other.entries:
            raise ValueError(
                f"{name}: {mine.title(mode)} has other labels than the other, or in another order; "
                "X.align(model.labels) gives a tensor those of a model"
            )


AnyLabels = Sequence[ModeLabels | Sequence[str] | None] | Mapping[str, Sequence[str] | None]
"""One item per mode: its labels or None; a mapping also gives the names."""


def as_labels(labels: AnyLabels | None, shape: tuple[int, ...]) -> tuple[ModeLabels, ...]:
    """Return one `ModeLabels` per mode, checked against the shape."""
    if labels is None:
        return (ModeLabels(),) * len(shape)
    if not isinstance(labels, (Mapping, Sequence)):
        raise TypeError(f"labels: expected an item for each mode, got {labels!r}")
    if isinstance(labels, Mapping):
        modes = [ModeLabels(name, as_entries(entries)) for name, entries in labels.items()]
    else:
        modes = [
            item if isinstance(item, ModeLabels) else ModeLabels(None, as_entries(item)) for item in labels
        ]
    if len(modes) != len(shape):
        raise ValueError(f"labels: {len(modes)} modes were given for a tensor of {len(shape)}")
    for mode, (item, length) in enumerate(zip(modes, shape, strict=True)):
        if item.entries is not None and len(item.entries) != length:
            raise ValueError(
                f"labels: {item.title(mode)} has {len(item.entries)} labels for a length of {length}"
            )
    return tuple(modes)


def as_entries(entries: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the labels of a mode as text."""
    return None if entries is None else tuple(map(str, entries))

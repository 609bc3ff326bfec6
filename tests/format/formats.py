"""Random sound formats, for hypothesis."""

import math

from hypothesis import strategies as st

from gpualto.format import Format, FormatError

NAMES = "ijkl"
COMPUTED = ["dense", "batch"]


@st.composite
def pieces_of(draw, name):
    """Return expressions that say a mode's coordinate together."""
    kind = draw(st.sampled_from(["whole", "whole", "blocks", "nested"]))
    a, b = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    if kind == "whole":
        return [name]
    if kind == "blocks":
        return [f"{name}/{a}", f"{name}%{a}"]
    return [f"{name}/{a * b}", f"{name}%{a * b}/{b}", f"{name}%{b}"]


@st.composite
def format_texts(draw, ndim):
    """Return a text in the grammar, that may be unsound."""
    names = NAMES[:ndim]
    pieces = [draw(pieces_of(name)) for name in names]
    if ndim > 1 and draw(st.integers(0, 3)) == 0:  # a diagonal in place of one mode
        sign = draw(st.sampled_from("+-"))
        pieces[:2] = [[f"{names[1]}{sign}{names[0]}"], [draw(st.sampled_from(names[:2]))]]
    if draw(st.integers(0, 2)) == 0:  # a linear index of the first piece of each mode
        order = draw(st.sampled_from(["alto", "morton", "lin"]))
        call = f"{order}({', '.join(parts[0] for parts in pieces)})"
        cut = draw(st.sampled_from([None, 2, 4, 2**63, 2**64]))
        whole = [call] if cut is None else [f"{call}/{cut}", f"{call}%{cut}"]
        pieces = [whole, *(parts[1:] for parts in pieces)]
    levels = draw(merged(pieces))
    types = [draw(level_types(n, expression)) for n, expression in enumerate(levels)]
    return f"({', '.join(names)}) -> ({', '.join(map(' : '.join, zip(levels, types, strict=True)))})"


@st.composite
def merged(draw, pieces):
    """Return all pieces in one list, those of a mode in their order."""
    rest = [list(parts) for parts in pieces if parts]
    result = []
    while rest:
        parts = draw(st.sampled_from(rest))
        result.append(parts.pop(0))
        rest = [parts for parts in rest if parts]
    return result


@st.composite
def level_types(draw, number, expression):
    if number == 0 and draw(st.integers(0, 5)) == 0:
        return "batch"
    bits, count = draw(st.integers(1, 3)), math.prod([3, draw(st.integers(1, 40))])
    return draw(
        st.sampled_from(
            ["dense", "compressed", "compressed", "compressed(nonunique)", "singleton", "range",
             f"delta({bits})", f"structured({count})"]
        )
    )  # fmt: skip


@st.composite
def formats(draw, ndim):
    """Return a sound format."""
    text = draw(format_texts(ndim).filter(is_sound))
    return Format(text)


def is_sound(text):
    try:
        Format(text)
    except FormatError:
        return False
    return True

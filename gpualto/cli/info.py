"""``gpualto info``: what a file holds and how it is stored."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from inspect import Parameter, isfunction, signature

from gpualto.backends import backend_for
from gpualto.cli.arguments import Commands, add_command, positive
from gpualto.cli.inputs import add_input, read_input
from gpualto.format import Format, FormatError, StoredTensor, named
from gpualto.format.indices import nbytes_of
from gpualto.partition import choose_strategy, fiber_reuse
from gpualto.tensor import Tensor, format_bytes


def _needs_at_most_modes(function: object) -> bool:
    parameters = signature(function).parameters.values() if isfunction(function) else ()
    return isfunction(function) and all(
        p.default is not Parameter.empty or p.name == "ndim" for p in parameters
    )


NAMES = tuple(name for name, item in vars(named).items() if name[0].isupper() and _needs_at_most_modes(item))
"""Formats that their name and the number of modes say."""


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "info",
        "show what a tensor file holds, its bit layout and the bytes that formats take",
        "  gpualto info flights.tns\n  gpualto info zero-based.tns.gz --index-base 0\n"
        "  gpualto info flights.csv --modes carrier,dest,hour --value count\n"
        '  gpualto info ratings.tns --format "(i, j) -> (i : dense, j : compressed)"',
    )
    add_input(parser)
    parser.add_argument("--rank", type=positive, default=16, help="rank to plan for (default: 16)")
    parser.add_argument(
        "--format",
        type=sound_format,
        metavar="TEXT",
        help="a format to show the bytes of, or its name, such as CSF",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    X = read_input(options)
    levels = f"\n{format_levels(X.to_format(named_format(options.format, X.ndim)))}" if options.format else ""
    print(format_info(X, options.rank) + levels)
    return 0


def named_format(format: Format | str, ndim: int) -> Format:
    """Return a format for a number of modes, where it was given by its name."""
    if isinstance(format, Format):
        return format
    make: Callable[..., Format] = getattr(named, format)
    return make(ndim) if "ndim" in signature(make).parameters else make()


def sound_format(text: str) -> Format | str:
    """Return the format that a text says, or the name of one."""
    if text in NAMES:
        return text
    try:
        return Format(text)
    except FormatError as error:
        raise argparse.ArgumentTypeError(
            f"{error.problem}: {error.text[error.place]!r} in {text!r}"
        ) from None


def format_levels(X: Tensor | StoredTensor) -> str:
    """Return the bytes of each level of a tensor."""
    titles = [level.write(X.format.names) for level in X.format.levels]
    width = max(map(len, [*titles, "values"]))
    lines = [str(X.format)]
    for number, title in enumerate(titles):
        pos, crd = nbytes_of(X.pos(number)), nbytes_of(X.crd(number))
        lines.append(f"  {title:<{width}}  {format_bytes(pos + crd):>10}")
    lines.append(f"  {'values':<{width}}  {format_bytes(X.values.nbytes):>10}  {X.values.size:,} positions")
    lines.append(f"  {'together':<{width}}  {format_bytes(X.nbytes):>10}")
    return "\n".join(lines)


def format_info(X: Tensor, rank: int = 16) -> str:
    """Return the report on a tensor."""
    return "\n".join(
        [
            f"shape     {' x '.join(map(str, X.shape))}",
            f"nonzeros  {X.nnz:,}",
            f"density   {X.density:.3g}",
            f"values    {X.dtype}{_range(X)}, norm {X.norm():.6g}",
            "",
            *_modes(X),
            "",
            f"layout    {X.encoding}",
            "",
            *_sizes(X),
            "",
            *_computation(X, rank),
        ]
    )


def _range(X: Tensor) -> str:
    if X.nnz == 0:
        return ""
    return f" from {X.values.min():.6g} to {X.values.max():.6g}"


def _modes(X: Tensor) -> list[str]:
    """Return a table of the modes: reuse is what decides how MTTKRP resolves write conflicts."""
    titles = [item.title(mode) for mode, item in enumerate(X.labels)]
    width = max(len("mode"), *map(len, titles))
    lines = [f"{'mode':<{width}}  {'length':>12}  {'reuse':>10}  strategy"]
    for title, length, reuse in zip(titles, X.shape, fiber_reuse(X), strict=True):
        lines.append(f"{title:<{width}}  {length:>12,}  {reuse:>10.4g}  {choose_strategy(reuse)}")
    return [*lines, "(reuse: nonzeros per row; above 4 the paper stages the updates, else they are atomic)"]


def _computation(X: Tensor, rank: int) -> list[str]:
    """Return who computes an MTTKRP and how."""
    backend = backend_for(X)
    plans = [f"  {backend.explain(X, mode, rank)}" for mode in range(X.ndim)]
    return [f"MTTKRP at rank {rank}: {backend.describe()}", *plans]


def _sizes(X: Tensor) -> list[str]:
    """Return the bytes of the tensor in coordinate format, in ALTO with 64-bit words, and as it is stored."""
    value = X.dtype.itemsize
    words = max(-(-X.encoding.nbits // 64), 1)
    per_nonzero = {
        "COO, 64-bit coordinates": X.ndim * 8 + value,
        "ALTO, 64-bit words": words * 8 + value,
        "ALTO, as stored": X.encoding.index_nbytes + value,
    }
    return [
        f"{name:<24} {format_bytes(X.nnz * count):>10}  {count} bytes a nonzero"
        for name, count in per_nonzero.items()
    ]

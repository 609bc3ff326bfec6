"""What goes in and out of a benchmark script: arguments, tables to read, and a JSON file."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.harness import Result
from bench.machine import Machine
from bench.tensors import SPECS
from gpualto.io.files import replacing

_DIGITS = {"fit": 8}
"""Significant digits of figures that need more than others."""


@dataclass(frozen=True)
class Section:
    """What was measured with one tensor."""

    title: str
    results: Sequence[Result]

    def __str__(self) -> str:
        return f"{self.title}\n{format_results(self.results)}"


def parse_arguments(
    arguments: Sequence[str] | None,
    description: str | None,
    *,
    tensors: Sequence[str],
    peers: Sequence[str],
    more: dict[str, tuple[int, str]] | None = None,
) -> argparse.Namespace:
    """Return the options that all scripts have, and those of `more`: integers by name, default and help."""
    parser = argparse.ArgumentParser(
        description=description,
        epilog=f"tensors: {', '.join(SPECS)}",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "--tensors", nargs="+", type=_tensor, default=tensors, metavar="NAME", help="names, or .tns files"
    )
    parser.add_argument("--nnz", type=_positive, metavar="N", help="nonzeros to draw, not the tensor's own")
    parser.add_argument("--repeats", type=_positive, default=5, metavar="N", help="timed runs of each")
    parser.add_argument(
        "--budget", type=float, default=60.0, metavar="S", help="seconds after which a contestant stops"
    )
    parser.add_argument("--peers", nargs="*", choices=peers, default=peers, help="what to compare with")
    parser.add_argument(
        "--threads", type=_positive, nargs="+", default=[os.cpu_count() or 1], metavar="T", help="in turn"
    )
    parser.add_argument("--alto", type=Path, metavar="FOLDER", help="of a build of IntelLabs/ALTO")
    parser.add_argument("--splatt", type=Path, metavar="PROGRAM", help="of a build of ShadenSmith/splatt")
    parser.add_argument("--double-only", action="store_true", help="leave out float32, which takes memory")
    parser.add_argument("--json", type=_output, metavar="PATH", help="write all figures to a file")
    for name, (default, text) in (more or {}).items():
        parser.add_argument(f"--{name}", type=_positive, default=default, metavar="N", help=text)
    return parser.parse_args(arguments)


def publish(options: argparse.Namespace, machine: Machine, sections: Iterable[Section]) -> int:
    """Print each section as it comes, write the file that the options ask for, and return an exit status.

    The status is 1 if anyone computed something else than the others.
    """
    print(machine)
    done = []
    for section in sections:
        print(f"\n{section}", flush=True)
        done.append(section)
    if options.json:
        write_json(options.json, _document(options, machine, done))
    return int(any(result.wrong for section in done for result in section.results))


def format_results(results: Sequence[Result]) -> str:
    """Return a table of results: runs, minimum, figures of the median, ratio and difference."""
    names = list(dict.fromkeys(name for result in results for name in result.figures))
    header = [
        "",
        *(name.replace("_", " ") for name in names),
        "min/median",
        "runs",
        "ratio",
        "difference",
        "",
    ]
    rows = [
        [
            result.name,
            *(_format(result.figures.get(name), _DIGITS.get(name, 3)) for name in names),
            _format(result.timing.minimum / result.timing.median if result.timing else None),
            str(len(result.timing.seconds)) if result.timing else "-",
            _format(result.ratio),
            "-" if result.difference is None else f"{result.difference:.1e}",
            result.note,
        ]
        for result in results
    ]
    return format_table(header, rows)


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return aligned columns: the first and the last are text, those between are numbers.

    Examples
    --------
    >>> print(format_table(["", "ms", ""], [["one", "1.5", ""], ["three", "-", "fails"]]))
             ms
    one     1.5
    three     -  fails
    """
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    last = len(header) - 1
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in (0, last) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write a document, whole or not at all."""
    with replacing(path) as file:
        file.write(f"{json.dumps(document, indent=1)}\n".encode())


def _document(options: argparse.Namespace, machine: Machine, sections: list[Section]) -> dict[str, Any]:
    # Paths are those of one machine: a published file says nothing of them.
    arguments = {name: value for name, value in vars(options).items() if not isinstance(value, Path)}
    return {
        "machine": asdict(machine),
        "arguments": arguments,
        "sections": [
            {"title": section.title, "results": [result.record() for result in section.results]}
            for section in sections
        ],
    }


def _format(number: float | None, digits: int = 3) -> str:
    """Return some significant digits or, of large numbers, all that stand before the point."""
    if number is None:
        return "-"
    return f"{number:,.0f}" if abs(number) >= 10**digits else f"{number:.{digits}g}"


def _tensor(text: str) -> str:
    if text not in SPECS and not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"{text!r} is neither a file nor one of {', '.join(SPECS)}")
    return text


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, got {number}")
    return number


def _output(text: str) -> Path:
    """Return a path that can be written to: known before the work, not after it."""
    path = Path(text)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {path.parent}")
    return path

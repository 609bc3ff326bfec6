"""``gpualto warmup``: CUDA kernels compiled before they are needed."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from gpualto._arrays import as_shape
from gpualto.cli.arguments import Commands, add_command, index_base, positive
from gpualto.io import read


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "warmup",
        "compile the CUDA kernels for tensors of a shape ahead of time",
        "  gpualto warmup ratings.tns --rank 16\n  gpualto warmup --shape 2482,2862,14036,17 --dtype float32",
    )
    shape = parser.add_mutually_exclusive_group(required=True)
    shape.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="a tensor with the shape in question"
    )
    shape.add_argument("--shape", type=lengths, metavar="I,J,K", help="lengths of the modes")
    parser.add_argument(
        "--index-base", type=index_base, default=1, metavar="{1,0,auto}", help="of FILE (default: 1)"
    )
    parser.add_argument("--rank", type=positive, default=16, help="number of components (default: 16)")
    parser.add_argument(
        "--dtype", choices=("float32", "float64"), default="float64", help="(default: float64)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from gpualto.backends.cuda.warmup import warm_up

    shape = options.shape or read(options.file, index_base=options.index_base).shape
    print(f"{' x '.join(map(str, shape))}, rank {options.rank}, {options.dtype}:")
    began = time.perf_counter()
    for compiled in warm_up(shape, options.rank, np.dtype(options.dtype)):
        now = time.perf_counter()
        print(f"{now - began:7.2f} s  {compiled}")
        began = now
    return 0


def lengths(text: str) -> tuple[int, ...]:
    """Return the shape that a list of lengths gives."""
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"expected lengths such as 100,200,300, got {text!r}")
    return as_shape([int(part) for part in parts])

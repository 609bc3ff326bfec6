"""Arguments that several commands share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NoReturn

from gpualto.io.files import COMPRESSIBLE, split_suffix

EXIT_INTERRUPTED = 130
"""What a shell expects after Ctrl-C."""

EXIT_CLOSED_PIPE = 141
"""And where whoever reads has had enough: ``gpualto info FILE | head``."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors take one line."""

    def error(self, message: str) -> NoReturn:
        """Print an error and exit with 2."""
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


Commands = Any
"""What ``add_subparsers`` returns; argparse keeps its type private."""


def add_command(commands: Commands, name: str, summary: str, examples: str) -> argparse.ArgumentParser:
    """Add a command whose help ends in examples."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    assert isinstance(parser, argparse.ArgumentParser)
    return parser


TENSOR_FILES = ".tns, .tns.gz, .tns.bz2, .tns.xz or .npz"


def add_input(parser: argparse.ArgumentParser, files: str = TENSOR_FILES) -> None:
    """Add the tensor file and how its indices count."""
    parser.add_argument("file", type=Path, metavar="FILE", help=files)
    parser.add_argument(
        "--index-base",
        type=index_base,
        default=1,
        metavar="{1,0,auto}",
        help="smallest index of a .tns file (default: 1, as in FROSTT)",
    )


def method(text: str) -> str:
    """Return the name of a method, which the library has with ``cp_`` before it."""
    return text.removeprefix("cp_")


def mode(text: str) -> int | str:
    """Return the number of a mode, or its name."""
    return int(text) if text.removeprefix("-").isdecimal() else text


def index_base(text: str) -> int | str:
    """Return an index base, or "auto"."""
    if text not in ("0", "1", "auto"):
        raise argparse.ArgumentTypeError(f"expected 1, 0 or auto, got {text!r}")
    return text if text == "auto" else int(text)


def natural(text: str) -> int:
    """Return an integer that is not negative."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected an integer that is not negative, got {text!r}")
    return int(text)


def positive(text: str) -> int:
    """Return an integer above zero."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a positive integer, got {text!r}")
    return int(text)


def check_output(path: Path, suffixes: tuple[str, ...]) -> None:
    """Raise before the work starts if its result could not be written."""
    suffix, compression = split_suffix(path)
    if suffix not in suffixes or (compression and suffix not in COMPRESSIBLE):
        raise ValueError(f"{path}: expected a name that ends in {' or '.join(suffixes)}")
    if path.is_dir():
        raise ValueError(f"{path}: is a folder")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}")

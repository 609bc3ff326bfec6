"""The command line: one module per command, each with ``add_to(commands)`` and ``run(options)``."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence

from gpualto import __version__
from gpualto._optional import MissingPackageError
from gpualto.cli import check, convert, cpd, demo, formats, info, ranks, show, warmup
from gpualto.cli.arguments import EXIT_CLOSED_PIPE, EXIT_INTERRUPTED, Parser

EXIT_ERROR = 2

_FLAGS = {
    "fixed_modes": "--fixed",
    "held_out": "--held-out",
    "index_base": "--index-base",
    "init": "--init",
    "l2": "--l2",
    "modes": "--modes",
    "n_restarts": "--restarts",
    "tol": "--tol",
}
"""What arguments of the library are called on the command line."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status: 2 after an error, which takes one line."""
    given = sys.argv[1:] if arguments is None else arguments
    parser = _parser()
    options, unknown = parser.parse_known_args(given)
    if unknown:
        parser.prog = f"gpualto {options.command}"
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    options.command_line = shlex.join(["gpualto", *given])
    try:
        status = int(options.run(options))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CLOSED_PIPE
    except (ValueError, TypeError, OSError, MemoryError, MissingPackageError) as error:
        print(f"gpualto {options.command}: {_one_line(error)}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        print(f"gpualto {options.command}: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    argument, colon, rest = str(error).partition(":")
    text = f"{_FLAGS.get(argument, argument)}{colon}{rest}"
    return " ".join(text.split()) or type(error).__name__


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="gpualto",
        description="Decompose and inspect sparse tensors.",
        epilog="examples:\n"
        "  gpualto demo\n"
        "  gpualto info ratings.tns\n"
        "  gpualto cpd ratings.tns --rank 8 --output model.npz\n"
        "  gpualto cpd flights.csv --modes carrier,dest,hour --value count --rank 8 --report page.html\n"
        "  gpualto ranks ratings.tns --ranks 2 4 8\n"
        "  gpualto show model.npz --plot model.png\n"
        "  gpualto check ratings.tns --fix clean.tns\n"
        "  gpualto convert ratings.tns.gz ratings.npz\n"
        "  gpualto formats ratings.tns\n\n"
        "'gpualto COMMAND --help' says more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"gpualto {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (demo, info, cpd, ranks, show, check, convert, formats, warmup):
        command.add_to(commands)
    return parser

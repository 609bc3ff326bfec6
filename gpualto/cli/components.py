"""A CP model as text: each component as the labels that weigh most."""

from __future__ import annotations

import argparse

import numpy as np

from gpualto.cli.arguments import positive
from gpualto.decomposition.model import CPModel
from gpualto.decomposition.words import amount, share

_SMALLEST_SHARE = 0.05
"""Entries below this share of the largest of their column are not shown."""


def add_options(parser: argparse.ArgumentParser, top: int = 8) -> None:
    """Add how components are printed."""
    parser.add_argument(
        "--top", type=positive, default=top, metavar="K", help=f"labels per mode (default: {top})"
    )
    parser.add_argument("--describe", action="store_true", help="say each component in a line of words")


def print_components(model: CPModel, options: argparse.Namespace) -> None:
    """Print the components of a model, in numbers or in words."""
    print(model.describe() if options.describe else format_components(model, options.top))


def format_components(model: CPModel, top: int, width: int = 100) -> str:
    """Return the components of a model, each mode with its `top` largest entries.

    The number beside a label is its entry in the column of norm one.
    """
    titles = [item.title(mode) for mode, item in enumerate(model.labels)]
    margin = max(map(len, titles))
    blocks = []
    for component, weight in enumerate(model.weights):
        lines = [
            f"component {component + 1}: weight {amount(weight)}, {share(model.weights, component)} of all"
        ]
        for mode, title in enumerate(titles):
            entries = "  ".join(_largest_entries(model, mode, component, top))
            lines.append(_shorten(f"  {title:>{margin}}  {entries or '-'}", width))
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _largest_entries(model: CPModel, mode: int, component: int, top: int) -> list[str]:
    column = model.factors[mode][:, component]
    sizes = abs(column)
    order = np.argsort(-sizes, kind="stable")[:top]
    shown = order[sizes[order] > _SMALLEST_SHARE * sizes.max(initial=0)]
    return [f"{model.labels[mode].text(int(index))} {column[index]:.2f}" for index in shown]


def _shorten(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 3] + "..."

"""A CP model as a page: components with labels and pictures, the fit, the data, and how it was made."""

from __future__ import annotations

import base64
import io
import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from gpualto.decomposition.model import CPModel, require_cp_model
from gpualto.decomposition.words import amount, components_text, sentences, share
from gpualto.io.files import replacing
from gpualto.ops.model_values import model_values
from gpualto.plot import plot_column, plot_fit
from gpualto.plot.figures import quiet_about_glyphs, shorten
from gpualto.tensor import Tensor, format_bytes, require_tensor

_LONGEST_LABEL = 60
_VISIBLE = 1e-6
"""Entries below this share of the largest of their column are shown as zero."""

_SURPRISES = 10
_PACKAGES = ("numpy", "numba", "scipy", "cupy")

_LEGEND = (
    "A component is a group of indices that go together, one set in each mode. Its share is that of the "
    "weights. Bars and areas show the entries of its columns, each on a scale of its own; of long modes the "
    "largest are drawn. The line below the share names the entries that make up half of each column. “Every” "
    "means that the indices of a mode are about alike, “above all” that there are more than those named. "
    "A fit of 1 would be exact; it is one minus the size of what is missed over the size of the data."
)


def write_report(
    path: str | os.PathLike[str],
    model: CPModel,
    X: Tensor | None = None,
    *,
    title: str = "CP model",
    details: Mapping[str, object] | None = None,
    top: int = 10,
) -> None:
    """Write a page that shows a CP model: one self-contained HTML file, whole or not at all.

    Parameters
    ----------
    path : path
        Its name ends in ``.html``.
    model : CPModel
        On any device.
    X : Tensor, optional
        What the model was fitted to: adds a summary of the data, and the entries that the model misses most.
    title : str
    details : mapping of str to object, optional
        What else is worth knowing, such as the command and the seed, for the last table; versions are added.
    top : int
        Entries shown of a long mode.

    Raises
    ------
    TypeError
        If `model` is no CP model.
    ValueError
        If the name does not end in ``.html``, the shapes of model and tensor differ, or the model has numbers
        that are not finite.
    MissingPackageError
        If matplotlib is not installed.

    Examples
    --------
    >>> import gpualto, pathlib, tempfile
    >>> X = gpualto.datasets.flights()
    >>> model = gpualto.cp_apr(X, rank=2, random_state=0, n_iter_max=10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = pathlib.Path(folder, "flights.html")
    ...     write_report(page, model, X, title="Flights", details={"seed": 0})
    ...     "<h1>Flights</h1>" in page.read_text(encoding="utf-8")
    True
    """
    require_cp_model(model)
    path = Path(path)
    if path.suffix.lower() != ".html":
        raise ValueError(f"path: the name of a report ends in .html, got {str(path)!r}")
    page = render(model, X, title, details or {}, top)
    with replacing(path) as file:
        file.write(page.encode())


def render(model: CPModel, X: Tensor | None, title: str, details: Mapping[str, object], top: int) -> str:
    """Return the page."""
    model = model.to_device("cpu")
    sections = []
    if model.fits:
        sections.append(_section("Fit", _picture(plot_fit(model), "The fit after each sweep")))
    if X is not None:
        require_tensor(X)
        model.check_describes(X)
        X = X.to_device("cpu")
        sections += [_section("What it misses", _surprises(model, X)), _section("Data", _data(X))]
    return Template(_template()).substitute(
        title=escape(title),
        summary=escape(_summary(model)),
        legend=escape(_LEGEND),
        components="\n".join(_components(model, top)),
        sections="\n".join(sections),
        provenance=_pairs({**_versions(), **details}),
    )


def _template() -> str:
    return files("gpualto").joinpath("data", "report.html").read_text(encoding="utf-8")


def _summary(model: CPModel) -> str:
    parts = [f"{components_text(model.rank)} of a tensor of {_lengths(model.shape)}"]
    if model.fit is not None:
        parts.append(f"fit {model.fit:.4f} (1 would be exact)")
    parts += [f"{name} {amount(series[-1])}" for name, series in model.measures.items() if series]
    if model.fits:
        end = "converged" if model.converged else "stopped"
        seconds = f" in {model.times[-1]:.1f} s" if model.times else ""
        parts.append(f"{end} after {model.n_iter} sweeps{seconds}")
    return "; ".join(parts) + "."


def _components(model: CPModel, top: int) -> Iterable[str]:
    widest = float(abs(model.weights).max(initial=0)) or 1.0
    for component, (weight, words) in enumerate(zip(model.weights, sentences(model), strict=True)):
        cells = "\n".join(_cell(model, component, mode, top) for mode in range(model.ndim))
        yield (
            f'<section class="component" id="component-{component + 1}">\n'
            f"<h3>Component {component + 1}: {share(model.weights, component)}</h3>\n"
            f'<p><span class="share" style="width: {8 * abs(weight) / widest:.2f}rem"></span>'
            f"weight {amount(weight)}</p>\n<p>{escape(words)}</p>\n"
            f'<div class="modes">\n{cells}\n</div>\n{_entries(model, component, top)}\n</section>'
        )


def _cell(model: CPModel, component: int, mode: int, top: int) -> str:
    title = model.labels[mode].title(mode)
    picture = _picture(
        plot_column(model, component, mode, top), f"Column of {title} in component {component + 1}"
    )
    return f"<figure><figcaption>{escape(title)}</figcaption>{picture}</figure>"


def _entries(model: CPModel, component: int, top: int) -> str:
    """Return the largest entries of all modes as a table that unfolds."""
    columns = [factor[:, component] for factor in model.factors]
    orders = [np.argsort(-abs(column), kind="stable")[:top] for column in columns]
    rows = []
    for place in range(max(map(len, orders))):
        cells: list[str] = []
        for labels, column, order in zip(model.labels, columns, orders, strict=True):
            if place < len(order):
                index = int(order[place])
                entry = column[index] if abs(column[index]) > _VISIBLE * abs(column).max() else 0.0
                cells += [_text(labels.text(index)), _number(amount(entry))]
            else:
                cells += ["<td></td>", "<td></td>"]
        rows.append(cells)
    heads = [cell for mode, item in enumerate(model.labels) for cell in (item.title(mode), "")]
    return f"<details><summary>The largest entries</summary>{_table(heads, rows)}</details>"


def _surprises(model: CPModel, X: Tensor) -> str:
    """Return the entries that the model is farthest off."""
    if X.nnz == 0:
        return "<p>There are no nonzeros.</p>"
    expected = model_values(X, model)
    order = np.argsort(-abs(X.values - expected), kind="stable")[:_SURPRISES]
    rows = [
        [
            *(_text(item.text(int(index))) for item, index in zip(X.labels, column, strict=True)),
            _number(amount(X.values[place])),
            _number(amount(expected[place])),
            _number(amount(X.values[place] - expected[place])),
        ]
        for place, column in zip(order, X.coords[:, order].T, strict=True)
    ]
    heads = [item.title(mode) for mode, item in enumerate(X.labels)]
    return (
        "<p>The nonzeros whose values are farthest from those of the model.</p>"
        f"{_table([*heads, 'value', 'model', 'difference'], rows)}"
    )


def _data(X: Tensor) -> str:
    facts: dict[str, object] = {
        "shape": _lengths(X.shape),
        "nonzeros": f"{X.nnz:,}",
        "density": f"{X.density:.3g}",
        "stored as": f"{X.encoding.nbits} bits in {format_bytes(X.nbytes)}, {X.dtype}",
    }
    if X.nnz:
        low, high, total = map(amount, (X.values.min(), X.values.max(), X.values.sum(dtype=np.float64)))
        facts["values"] = f"{low} to {high}, sum {total}"
    rows = []
    for mode, (item, coordinate) in enumerate(zip(X.labels, X.coords, strict=True)):
        used = len(np.unique(coordinate))
        ends = [item.text(index) for index in (0, X.shape[mode] - 1)] if X.shape[mode] else ["", ""]
        rows.append(
            [
                _text(item.title(mode)),
                _number(f"{X.shape[mode]:,}"),
                _number(f"{used:,}"),
                *map(_text, ends),
            ]
        )
    return _pairs(facts) + _table(["mode", "indices", "with nonzeros", "first", "last"], rows)


def _versions() -> dict[str, object]:
    from gpualto import __version__

    loaded = [name for name in _PACKAGES if name in sys.modules]
    packages = ", ".join(f"{name} {sys.modules[name].__version__}" for name in loaded)
    return {
        "gpualto": __version__,
        "with": f"Python {platform.python_version()}, {packages}",
        "on": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPU cores",
    }


def _lengths(shape: tuple[int, ...]) -> str:
    return " x ".join(f"{length:,}" for length in shape)


def _section(title: str, content: str) -> str:
    return f"<h2>{escape(title)}</h2>\n{content}"


def _pairs(facts: Mapping[str, object]) -> str:
    rows = [f"<tr><th>{escape(name)}</th><td>{_code(str(value))}</td></tr>" for name, value in facts.items()]
    return f"<table>{''.join(rows)}</table>"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>" if text.startswith("gpualto ") else escape(text)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(title)}</th>" for title in heads)
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _text(text: str) -> str:
    return f"<td>{escape(shorten(text, _LONGEST_LABEL))}</td>"


def _number(text: str) -> str:
    return f'<td class="number">{escape(text)}</td>'


def _picture(figure: Any, description: str) -> str:
    """Return a figure as an image within the page; its letters stay letters."""
    import matplotlib

    content = io.BytesIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "gpualto"}), quiet_about_glyphs():
        figure.savefig(content, format="svg", metadata={"Date": None})
    data = base64.b64encode(content.getvalue()).decode()
    return f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(description)}">'

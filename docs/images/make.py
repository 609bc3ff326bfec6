"""Draw the pictures of this folder again, from data in the package, the tests and ``bench/results``.

From the root of the repository: ``PYTHONPATH=. python docs/images/make.py``.
"""

import json
from pathlib import Path

import numpy as np

import gpualto
from gpualto import formats
from gpualto.plot import plot_components, plot_fit, plot_layout, plot_rank_scan, plot_reuse
from gpualto.plot.figures import COLORS, GREY, new_figure, open_frame

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def main() -> None:
    """Draw and save all of them."""
    flights = gpualto.datasets.flights()
    names = gpualto.read(ROOT / "tests" / "data" / "babynames.tns")
    models = [gpualto.cp_als(flights, rank, random_state=0, n_restarts=3) for rank in (2, 4, 6, 8, 10)]
    figures = {
        "flights": plot_components(models[3]),
        "airlines": plot_components(gpualto.cp_apr(flights, 8, random_state=0, n_restarts=2)),
        "babynames": plot_components(gpualto.cp_nn(names, 6, random_state=0)),
        "fit": plot_fit(models),
        "ranks": plot_rank_scan(gpualto.rank_scan(flights, range(2, 13, 2), method="apr", random_state=0)),
        "layout": plot_layout(flights.encoding, flights.labels),
        "reuse": plot_reuse(names),
        "orders": orders(),
        "formats": compared_formats(),
        "programs": compared_programs(),
    }
    for name, figure in figures.items():
        figure.savefig(HERE / f"{name}.png")


def orders() -> object:
    """Draw the way of three linear orders through a matrix of 4 x 16, in four equal segments."""
    shape = (4, 16)
    dense = gpualto.Tensor.from_dense(np.ones(shape))
    figure = new_figure("orders", 9.0, 3.6)
    panels = {"row by row (LCO)": formats.LCO(2), "Morton": formats.Morton(2), "ALTO": formats.ALTO(2)}
    for axis, (title, format) in zip(figure.subplots(3, 1, sharex=True), panels.items(), strict=True):
        rows, columns = dense.to_format(format).entries()[0]
        axis.plot(columns, rows, color=GREY, linewidth=1, zorder=1)
        for segment in range(4):
            part = slice(16 * segment, 16 * segment + 16)
            axis.scatter(
                columns[part], rows[part], color=COLORS[segment], marker="os^D"[segment], s=45, zorder=2
            )
        axis.set_ylim(3.6, -0.6)
        axis.set_yticks([0, 3])
        axis.set_xticks([0, 15])
        axis.set_title(title, fontsize=10, loc="left")
        open_frame(axis)
    return figure


def compared_formats() -> object:
    """Draw bytes, construction and MTTKRP of the formats on our own engine: the paper's comparison."""
    tensors = ("nips", "nell-2")
    sections = [_sections(f"cpu-formats-{name}.json") for name in tensors]
    names = ["ALTO", "Morton", "LCO", "COO", "HiCOO", "CSF"]
    panels = {
        "bytes a nonzero": [_numbers(part, "from coordinates", "bytes_a_nonzero") for part in sections],
        "construction, ns a nonzero": [
            _numbers(part, "from coordinates", "ns_a_nonzero") for part in sections
        ],
        "MTTKRP, time beside ALTO's": [_numbers(part, "1 threads", "ratio") for part in sections],
    }
    figure = new_figure("formats", 10.0, 3.6)
    for axis, (title, numbers) in zip(figure.subplots(1, 3, sharey=True), panels.items(), strict=True):
        for offset, (tensor, found) in enumerate(zip(tensors, numbers, strict=True)):
            places = np.arange(len(names)) + 0.38 * (offset - 0.5)
            lengths = [found[name] for name in names]
            bars = axis.barh(places, lengths, height=0.36, color=COLORS[offset], label=tensor)
            axis.bar_label(bars, [f" {length:.3g}" for length in lengths], fontsize=8)
        axis.set_title(title, fontsize=10)
        axis.set_yticks(range(len(names)), names)
        axis.margins(x=0.15)
        open_frame(axis)
    axis.invert_yaxis()
    figure.legend(*axis.get_legend_handles_labels(), frameon=False, loc="outside lower right", ncols=2)
    return figure


def compared_programs() -> object:
    """Draw MTTKRP of all modes beside ALTO's C++ code and SPLATT, on two threads."""
    results = [*_sections("cpu-mttkrp-nips-uber-nell2-darpa.json"), *_sections("cpu-mttkrp-flickr.json")]
    found = {
        title.partition(":")[0]: {result["name"]: result["ms"] for result in rows}
        for title, rows in results
        if "2 threads" in title
    }
    programs = {
        "gpualto float64": "gpualto",
        "ALTO C++": "ALTO, C++",
        "SPLATT": "SPLATT, a CSF for each mode",
    }
    figure = new_figure("programs", 8.0, 3.2)
    axis = figure.subplots()
    for offset, (name, label) in enumerate(programs.items()):
        heights = [times[name] for times in found.values()]
        bars = axis.bar(
            np.arange(len(found)) + 0.27 * (offset - 1),
            heights,
            width=0.25,
            color=COLORS[offset],
            label=label,
        )
        axis.bar_label(bars, [f"{height:,.0f}" for height in heights], fontsize=8, padding=1)
    axis.set_xticks(range(len(found)), found)
    axis.set_yscale("log")
    axis.set_ylim(10, 6000)
    axis.set_ylabel("ms, all modes, rank 16")
    axis.legend(frameon=False, loc="upper left")
    open_frame(axis)
    return figure


def _sections(name: str) -> list[tuple[str, list[dict]]]:
    data = json.loads((ROOT / "bench" / "results" / name).read_text())
    return [(section["title"], section["results"]) for section in data["sections"]]


def _numbers(sections: list[tuple[str, list[dict]]], words: str, key: str) -> dict[str, float]:
    rows = next(rows for title, rows in sections if words in title)
    return {row["name"]: row[key] for row in rows}


if __name__ == "__main__":
    main()

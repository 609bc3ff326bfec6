"""Draw the pictures of this folder again, from data in the package and the tests.

From the root of the repository: ``PYTHONPATH=. python docs/images/make.py``.
"""

from pathlib import Path

import gpualto
from gpualto.plot import plot_components, plot_fit, plot_layout, plot_reuse

HERE = Path(__file__).parent


def main() -> None:
    """Draw and save all of them."""
    flights = gpualto.datasets.flights()
    names = gpualto.read(HERE.parents[1] / "tests" / "data" / "babynames.tns")
    models = [gpualto.cp_als(flights, rank, random_state=0, n_restarts=3) for rank in (2, 4, 6, 8, 10)]
    baby_models = gpualto.cp_als(names, 6, random_state=0)
    figures = {
        "flights": plot_components(models[3]),
        "babynames": plot_components(baby_models),
        "fit": plot_fit(models),
        "layout": plot_layout(flights.encoding, flights.labels),
        "reuse": plot_reuse(names),
    }
    for name, figure in figures.items():
        figure.savefig(HERE / f"{name}.png")


if __name__ == "__main__":
    main()

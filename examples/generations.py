"""Generations, in the names that children were given in the United States.

Each component is a fashion: names that rose and fell together, for girls or for boys.
Run ``python examples/generations.py``.
"""

from pathlib import Path

import gpualto

DATA = Path(__file__).parent.parent / "tests" / "data"


def main() -> None:
    """Fit the births by Poisson CP, and print the fashions in the order of their peaks."""
    X = gpualto.read(DATA / "babynames.tns")  # name x year x sex: number of births
    model = gpualto.cp_apr(X, rank=10, random_state=0, n_iter_max=50)
    names, years, sexes = model.labels
    for component in model.factors[1].argmax(axis=0).argsort():
        name, year, sex = (factor[:, component] for factor in model.factors)
        span = [years.text(index) for index in (year > year.max() / 2).nonzero()[0][[0, -1]]]
        top = ", ".join(names.text(index) for index in (-name).argsort()[:6])
        print(f"{span[0]} to {span[1]}, {sexes.text(sex.argmax())}: {top}")


if __name__ == "__main__":
    main()

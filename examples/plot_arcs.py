"""The plot arcs of Les Misérables, from who meets whom in which book.

Each component is a circle of characters and the books in which they meet.
Run ``python examples/plot_arcs.py``.
"""

from pathlib import Path

import gpualto

DATA = Path(__file__).parent.parent / "tests" / "data"


def full_names() -> dict[str, str]:
    """Return who the two letters of a character stand for."""
    text = (DATA / "lesmis.names.txt").read_text()
    for tex, letter in (("\\'e", "é"), ("\\`e", "è"), ("\\c{c}", "ç"), ("\\^o", "ô")):
        text = text.replace(tex, letter)
    rows = (line.split("\t") for line in text.splitlines())
    return {letters: person.partition(",")[0] for letters, person in rows}


def main() -> None:
    """Fit the counts of scenes by Poisson CP, and name those who matter in each component."""
    X = gpualto.read(DATA / "lesmis.tns")  # character x character x book: number of scenes
    # Restarts matter: there are poor local optima here.
    model = gpualto.cp_apr(X, rank=8, random_state=0, n_restarts=5)
    names = full_names()
    characters, _, books = model.labels
    for weight, character, book in zip(model.weights, model.factors[0].T, model.factors[2].T, strict=True):
        circle = ", ".join(names[characters.text(index)] for index in (-character).argsort()[:5])
        where = ", ".join(books.text(index) for index in (-book).argsort()[:2])
        print(f"books {where}: {circle} ({weight:.0f} scenes)")


if __name__ == "__main__":
    main()

import numpy as np
import pytest

import gpualto
from gpualto import CPModel
from gpualto.decomposition.words import amount, sentences


def words_of(column, labels=None):
    return sentences(CPModel([1.0], [np.array(column, float)[:, np.newaxis]], {"day": labels}))[0]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([0.0, 5.0, 1.0], "day 1"),
        ([3.0, 0.0, 3.0, 0.1], "day 0, 2"),
        ([5.0, 4.0, 3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.0, 0.0], "day above all 0, 1, 2"),
        ([5.0, 4.5, 0.0, 4.2, 1.0], "day 0, 1, 3"),
        ([5.0, 5.0, 5.0, 5.0, 5.0, 0.0, 0.0], "day 0, 1, 2, 3, 4"),
        ([1.0] * 6 + [0.0] * 6, "day above all 0, 1, 2"),
        ([1.0, 1.1, 1.0], "every day"),
        ([-1.0, -1.0, -1.1], "every day"),
        ([1.0, -1.0], "day 0, 1 (negative)"),
        ([0.1, -1.0], "day 1 (negative)"),
        ([2.0], "day 0"),
        ([0.0, 0.0], "day none"),
    ],
)
def test_a_mode_in_words(column, words):
    assert words_of(column) == words


def test_labels_stand_for_indices():
    assert words_of([0.2, 3.0], ["Mon", "Tue"]) == "day Tue"


def test_airlines_are_read_off_the_words():
    X = gpualto.datasets.flights()
    lines = gpualto.cp_apr(X, 8, random_state=0, n_restarts=2).describe().splitlines()
    assert len(lines) == 8
    assert all(line.endswith("every month") for line in lines[:6])
    assert {"DL", "US", "WN"} <= {line.split("carrier ")[1].split(";")[0] for line in lines}


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0, "0"), (1234.5, "1,234"), (-1e6, "-1,000,000"), (999.0, "999"), (1e20, "1e+20"), (1e-7, "1e-07")],
)
def test_amounts(number, text):
    assert amount(number) == text

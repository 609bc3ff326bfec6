import numpy as np
import pytest

from gpualto import CPModel
from gpualto.labels import ModeLabels
from gpualto.plot import plot_components


def tick_labels(axis):
    return [text.get_text() for text in axis.get_xticklabels()]


@pytest.fixture
def figure():
    rng = np.random.default_rng(0)
    labels = (
        ModeLabels("carrier", ("AA", "UA", "a very long carrier")),
        ModeLabels("year", tuple(map(str, range(1900, 1940)))),
        ModeLabels("word", tuple(f"w{n}" for n in range(99, 0, -1))),
    )
    return plot_components(
        CPModel([3.0, 1.0], [rng.standard_normal((n, 2)) for n in (3, 40, 99)], labels), top=4
    )


def test_a_row_for_each_component_and_a_column_for_each_mode(figure):
    assert len(figure.axes) == 6
    assert [axis.get_title() for axis in figure.axes[:3]] == ["carrier", "year", "word"]
    assert [figure.axes[n].get_ylabel() for n in (0, 3)] == ["1\n75%", "2\n25%"]


def test_a_short_mode_is_drawn_whole_and_labelled_once(figure):
    assert [len(figure.axes[n].patches) for n in (0, 3)] == [3, 3]
    assert tick_labels(figure.axes[0]) == []
    assert tick_labels(figure.axes[3]) == ["AA", "UA", "a very long…"]


def test_a_long_mode_of_numbers_is_drawn_whole_in_its_order(figure):
    assert list(figure.axes[1].patches) == []
    assert len(figure.axes[1].collections) == 1
    assert tick_labels(figure.axes[4])[0] == "1900"
    assert tick_labels(figure.axes[4])[-1] == "1939"


def test_of_another_long_mode_the_largest_entries_are_drawn(figure):
    for axis in (figure.axes[2], figure.axes[5]):
        heights = [abs(bar.get_height()) for bar in axis.patches]
        assert heights == sorted(heights, reverse=True)
        assert len(heights) == len(tick_labels(axis)) == 4


def test_columns_of_zeros_can_be_drawn(tmp_path):
    plot_components(CPModel([0.0], [np.zeros((3, 1)), np.zeros((50, 1))])).savefig(tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")

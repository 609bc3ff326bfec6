from types import SimpleNamespace

import numpy as np
import pytest

from gpualto import AltoEncoding, CPModel, Tensor, TuckerModel
from gpualto.labels import ModeLabels
from gpualto.plot import plot_column, plot_components, plot_fit, plot_layout, plot_rank_scan, plot_reuse
from tests.oracle import random_tensor


def bar_heights(axis):
    """Return the heights of the bars, negative ones too; nothing of an area, which has one outline."""
    (collection,) = axis.collections
    corners = [path.vertices for path in collection.get_paths()]
    return [float(points[1, 1]) for points in corners if len(points) == 5]


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


def test_a_short_mode_is_drawn_whole_and_labelled_once(figure):
    assert [len(bar_heights(figure.axes[n])) for n in (0, 3)] == [3, 3]
    assert tick_labels(figure.axes[0]) == []
    assert tick_labels(figure.axes[3]) == ["AA", "UA", "a very …arrier"]


def test_a_long_mode_of_numbers_is_drawn_whole_in_its_order(figure):
    assert bar_heights(figure.axes[1]) == []
    assert tick_labels(figure.axes[4])[0] == "1900"
    assert tick_labels(figure.axes[4])[-1] == "1939"


def test_of_another_long_mode_the_largest_entries_are_drawn(figure):
    for axis in (figure.axes[2], figure.axes[5]):
        heights = [abs(height) for height in bar_heights(axis)]
        assert heights == sorted(heights, reverse=True)
        assert len(heights) == len(tick_labels(axis)) == 4


def test_columns_of_zeros_can_be_drawn(tmp_path):
    plot_components(CPModel([0.0], [np.zeros((3, 1)), np.zeros((50, 1))])).savefig(tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_shares_are_of_the_weights_by_size():
    figure = plot_components(CPModel([3.0, -1.0], [[[1.0, 2.0]], [[1.0, 1.0]]]))
    assert [figure.axes[n].get_ylabel() for n in (0, 2)] == ["1\n75%", "2\n25%"]


def test_labels_are_no_formulas(tmp_path):
    labels = (ModeLabels("$\\mode$", ("$x$", "$\\foo$", "a\nb\0")), ModeLabels())
    figure = plot_components(CPModel([1.0], [np.ones((3, 1)), np.ones((2, 1))], labels))
    figure.savefig(tmp_path / "x.png")
    assert tick_labels(figure.axes[0])[:2] == ["$x$", "$\\foo$"]


def test_numbers_that_are_not_finite_are_refused_by_their_place():
    with pytest.raises(ValueError, match="mode 1 has nan in row 2 of component 0"):
        plot_components(CPModel([1.0], [np.ones((2, 1)), np.array([[1.0], [1.0], [np.nan]])]))


def test_what_is_no_cp_model_is_refused():
    with pytest.raises(TypeError, match=r"model: expected a gpualto\.CPModel, got TuckerModel"):
        plot_components(TuckerModel(np.ones((1, 1)), [np.ones((2, 1)), np.ones((3, 1))]))
    with pytest.raises(ValueError, match=r"top: expected a positive integer, got 'x\.png'"):
        plot_components(CPModel([1.0], [np.ones((3, 1))]), "x.png")


def test_a_column_alone_has_its_labels():
    model = CPModel(
        [1.0], [np.array([[3.0], [4.0]]), np.ones((1, 1))], (ModeLabels("m", ("a", "b")), ModeLabels())
    )
    (axis,) = plot_column(model, 0, 0).axes
    assert tick_labels(axis) == ["a", "b"]
    assert bar_heights(axis) == pytest.approx([3, 4])
    with pytest.raises(ValueError, match="component: expected a number from 0 to 0, got 1"):
        plot_column(model, 1, 0)


def test_fits_have_a_line_for_each_model_and_a_panel_for_each_measure():
    factors = [np.ones((2, 1))] * 2
    plain = CPModel(None, factors, fits=(0.1, 0.2))
    poisson = CPModel(None, factors, fits=(0.1, 0.3, 0.4), measures={"log-likelihood": (-9.0, -8.0, -7.0)})
    figure = plot_fit([plain, poisson], ["als", "apr"])
    fit, likelihood = figure.axes
    assert [line.get_ydata().tolist() for line in fit.lines] == [[0.1, 0.2], [0.1, 0.3, 0.4]]
    assert likelihood.get_ylabel() == "log-likelihood"
    assert list(likelihood.lines[1].get_ydata()) == [-9.0, -8.0, -7.0]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["als", "apr"]
    assert len({(line.get_color(), line.get_linestyle()) for line in fit.lines}) == 2
    assert likelihood.get_yscale() == "linear"
    falling = CPModel(None, factors, fits=(0.1, 0.3), measures={"violation": (900.0, 1e-4)})
    assert plot_fit(falling).axes[1].get_yscale() == "log"
    tucker = TuckerModel(np.ones((1, 1)), factors, fits=(0.1, 0.3))
    assert plot_fit(tucker).axes[0].lines[0].get_ydata().tolist() == [0.1, 0.3]
    assert plot_fit([plain, tucker]).legends[0].get_texts()[1].get_text() == "2: ranks 1 x 1"
    with pytest.raises(ValueError, match="model 0 has no fits"):
        plot_fit(CPModel(None, factors))


@pytest.mark.parametrize("shape", [(4, 8, 2), (1 << 40, 1 << 26), (1, 1), (2,) * 20, (1 << 30,) * 3])
def test_a_layout_has_a_cell_for_each_bit_in_the_order_of_the_index(shape):
    encoding = AltoEncoding(shape)
    figure = plot_layout(encoding, {f"m{mode}": None for mode in range(len(shape))})
    (axis,) = figure.axes
    bits = [text for text in axis.texts if text.get_gid() == "bit"]
    assert " ".join(text.get_text() for text in bits) == encoding.layout
    assert len({text.get_position()[1] for text in bits}) == -(-encoding.nbits // 32)
    assert len(figure.legends[0].get_texts()) == len(shape)


def test_reuse_is_nonzeros_by_length_and_the_spread_adds_up():
    X = random_tensor(0, (5, 40, 7), 60)
    averages, spread = plot_reuse(X).axes
    assert [bar.get_width() for bar in averages.patches] == [X.nnz / length for length in X.shape]
    for mode, line in enumerate(spread.lines[: X.ndim]):
        assert (
            line.get_ydata().tolist() == sorted(np.bincount(X.coords[mode])[np.unique(X.coords[mode])])[::-1]
        )
    with pytest.raises(ValueError, match="has no nonzeros"):
        plot_reuse(Tensor.from_dense(np.zeros((2, 2))))


def test_a_rank_scan_keeps_its_scale_and_says_what_lies_far_below():
    nan = float("nan")
    scan = SimpleNamespace(
        ranks=(1, 2, 3), fits=(0.2, 0.4, 0.5), core_consistencies=(100.0, nan, -4e5), match_scores=(nan,) * 3
    )
    fit, consistency, match = plot_rank_scan(scan).axes
    assert list(fit.lines[0].get_ydata()) == [0.2, 0.4, 0.5]
    assert consistency.get_ylim()[0] > -50
    assert [text.get_text() for text in consistency.texts] == ["< -999%"]
    assert [text.get_text() for text in match.texts] == ["not known"]
    with pytest.raises(ValueError, match=r"scan\.fits: 0 numbers were given for 3 ranks"):
        plot_rank_scan(SimpleNamespace(**{**vars(scan), "fits": ()}))


def test_a_very_long_mode_of_numbers_keeps_its_peaks():
    column = np.zeros((50_000, 1))
    column[[7, 31_234], 0] = [3.0, -5.0]
    labels = {"year": [str(n) for n in range(50_000)]}
    axis = plot_column(CPModel([1.0], [column], labels), 0, 0).axes[0]
    heights = axis.collections[0].get_paths()[0].vertices[:, 1]
    assert len(heights) < 5000
    assert (heights.max(), heights.min()) == (3, -5)
    assert [text.get_text() for text in axis.get_xticklabels()][-1] == "49999"

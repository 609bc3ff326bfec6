"""The page about a model: well-formed, self-contained, and free of what labels could smuggle in."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import gpualto
from gpualto import CPModel, Tensor
from gpualto.report import write_report

VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """Checks that elements are closed in order; collects texts, and addresses that are loaded."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.loaded, self.tags = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.loaded += [value for name, value in attributes if name in ("src", "href", "data")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip() and self.open[-1:] != ["style"]:
            self.texts.append(data.strip())


@pytest.fixture
def report(tmp_path):
    def report(*arguments, **options):
        write_report(tmp_path / "page.html", *arguments, **options)
        return Page((tmp_path / "page.html").read_text(encoding="utf-8"))

    return report


def test_it_shows_components_fit_data_and_origin(report):
    X = gpualto.datasets.flights()
    model = gpualto.cp_als(X, 3, random_state=0)
    page = report(model, X, title="Flights", details={"command": "gpualto cpd flights.tns", "seed": 7})
    text = " ".join(page.texts)
    assert page.texts.count("Flights") == 2
    assert [f"Component {n + 1}" in text for n in range(4)] == [True] * 3 + [False]
    for words in model.describe().splitlines():
        assert words.partition(": ")[2] in page.texts
    assert page.tags.count("img") == 3 * 4 + 1
    for expected in ("16 x 105 x 20 x 12", "14,775", "336,776", "gpualto cpd flights.tns", "7", "carrier"):
        assert expected in text
    assert f"gpualto {gpualto.__version__}" in text
    assert f"numpy {np.__version__}" in text


def test_it_loads_nothing_from_elsewhere(report):
    page = report(gpualto.cp_als(gpualto.datasets.flights(), 1, random_state=0))
    assert page.loaded
    assert all(address.startswith("data:image/svg+xml;base64,") for address in page.loaded)


def test_the_entries_that_are_missed_most_are_listed_with_both_values(report):
    X = Tensor.from_coo([[0, 1, 2], [0, 1, 1]], [5.0, 1.0, 90.0], labels={"a": "xyz", "b": ["p", "q"]})
    page = report(CPModel(None, [np.ones((3, 1)), np.ones((2, 1))]), X)
    start = page.texts.index("What it misses")
    assert page.texts[start + 2 : start + 17] == [
        *("a", "b", "value", "model", "difference"),
        *("z", "q", "90", "1", "89"),
        *("x", "p", "5", "1", "4"),
    ]


def test_labels_and_titles_are_text_and_not_markup(report):
    evil = "<script>alert(1)</script>&amp;"
    X = Tensor.from_coo([[0, 1], [0, 1]], [1.0, 2.0], labels={evil: [evil, "b"], "<b>": None})
    page = report(gpualto.cp_als(X, 1, random_state=0), X, title=evil, details={"<i>": "<script>"})
    assert not {"script", "i", "b"} & set(page.tags)
    assert evil in page.texts


def test_a_model_alone_and_empty_tensors(report):
    assert "Fit" not in report(CPModel([1.0], [np.ones((3, 1))])).texts
    empty = Tensor.from_coo([[], []], [], (3, 2))
    assert "There are no nonzeros." in report(gpualto.cp_als(empty, 2, random_state=0), empty).texts


def test_data_of_other_labels_are_refused(tmp_path):
    model = CPModel(None, [np.ones((2, 1))], {"who": ["a", "b"]})
    X = Tensor.from_coo([[0, 1]], [1.0, 2.0], labels={"who": ["b", "a"]})
    with pytest.raises(ValueError, match="X: who has other labels"):
        write_report(tmp_path / "a.html", model, X)


def test_a_model_of_another_package_with_half_a_history(report):
    model = CPModel([1.0], [[[1.0]], [[1.0]]], fit=0.8, fits=(0.5, 0.8), measures={"objective": ()})
    assert "stopped after 2 sweeps." in " ".join(report(model).texts)


def test_the_same_model_gives_the_same_page(tmp_path):
    model = CPModel([1.0], [np.ones((3, 1)), np.arange(30.0)[:, np.newaxis]])
    pages = []
    for name in ("a.html", "b.html"):
        write_report(tmp_path / name, model)
        pages.append((tmp_path / name).read_text(encoding="utf-8"))
    assert pages[0] == pages[1]
    assert not re.search(r"\d{4}-\d\d-\d\dT", pages[0])


def test_what_does_not_fit_is_refused_and_nothing_is_written(tmp_path):
    model = CPModel([1.0], [np.ones((3, 1)), np.full((2, 1), np.nan)])
    with pytest.raises(ValueError, match="mode 1 has nan in row 0"):
        write_report(tmp_path / "a.html", model)
    with pytest.raises(TypeError, match=r"model: expected a gpualto\.CPModel, got str"):
        write_report(model, "a.html")
    with pytest.raises(ValueError, match=r"X: has shape \(2, 2\), the model \(3, 2\)"):
        write_report(tmp_path / "a.html", model, Tensor.from_dense(np.eye(2)))
    with pytest.raises(ValueError, match=r"path: the name of a report ends in \.html"):
        write_report(tmp_path / "a.pdf", model)
    assert list(tmp_path.iterdir()) == []

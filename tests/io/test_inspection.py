import pytest

from gpualto.io.inspection import inspect


@pytest.fixture
def inspected(tmp_path):
    def run(text, base="auto"):
        (tmp_path / "x.tns").write_text(text)
        return inspect(tmp_path / "x.tns", base)

    return run


def test_a_clean_file_has_no_problems(inspected):
    inspection = inspected("# dims: 2 3\n1 1 1.0\n2 3 2.0\n")
    assert inspection.problems == []
    assert inspection.shape == (2, 3)
    assert inspection.tensor().todense().tolist() == [[1, 0, 0], [0, 0, 2]]


def test_every_problem_is_named_by_its_line(inspected):
    inspection = inspected("1 1 1.0\n1 x 1.0\n\n1 1 2.0\n2 2\n2 2 nan\n3 2 5.0\n1 1 4.0\n")
    assert list(map(str, inspection.problems)) == [
        "line 2: mode 1: the index 'x' is not an integer",
        "line 4: repeats the coordinates of line 1",
        "line 5: expected 2 indices and a value, got 2 fields",
        "line 6: the value nan is not finite",
        "line 8: repeats the coordinates of line 1",
    ]
    assert inspection.tensor().todense().tolist() == [[7, 0], [0, 0], [0, 5]]


def test_the_header_is_checked_against_the_lines(inspected):
    inspection = inspected("sptensor\n2\n2 2\n3\n1 1 1.0\n3 1 1.0\n")
    assert list(map(str, inspection.problems)) == [
        "line 4: the header declares 3 nonzeros, 1 are readable",
        "line 6: mode 0: the index 3 is beyond the length 2",
    ]


def test_the_base_is_guessed_once_or_taken(inspected):
    assert inspected("0 1 1.0\n1 2 2.0\n").index_base == 0
    assert inspected("0 1 1.0\n1 2 2.0\n").problems == []
    assert len(inspected("0 1 1.0\n1 2 2.0\n", base=1).problems) == 1


def test_a_file_of_nothing_readable(inspected):
    inspection = inspected("x y 1.0\n")
    assert len(inspection.problems) == 1
    assert inspection.tensor().nnz == 0

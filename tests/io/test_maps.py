import gzip

import pytest

import gpualto
from gpualto import Tensor, read, write
from gpualto.io.files import DataFileError
from gpualto.labels import ModeLabels


def test_label_files_beside_a_tensor_are_its_labels():
    X = gpualto.datasets.flights()
    assert [item.name for item in X.labels] == ["carrier", "dest", "hour", "month"]
    assert X.labels[0].entries[:3] == ("9E", "AA", "AS")


def test_labels_come_back(tmp_path):
    X = Tensor.from_coo([[0, 1], [0, 0]], [1.0, 2.0], labels={"who": ["Ann", "Zoë"], "what": None})
    for name in ("x.tns", "y.tns.gz", "z.npz"):
        write(tmp_path / name, X)
        assert read(tmp_path / name).labels[0] == X.labels[0]
    assert sorted(path.name for path in tmp_path.glob("*.map")) == ["x.mode-1-who.map", "y.mode-1-who.map"]


def test_labels_give_the_length_where_nothing_else_does(tmp_path):
    (tmp_path / "x.tns").write_text("1 1 1.0\n")
    (tmp_path / "x.mode-2-what.map").write_bytes(b"one\r\ntwo\r\n\r\nfour")
    X = read(tmp_path / "x.tns")
    assert X.shape == (1, 4)
    assert X.labels == (ModeLabels(), ModeLabels("what", ("one", "two", "", "four")))


def test_compressed_label_files(tmp_path):
    (tmp_path / "x.tns").write_text("1 1.0\n")
    (tmp_path / "x.mode-1-who.map.gz").write_bytes(gzip.compress(b"Ann\n"))
    assert read(tmp_path / "x.tns").labels[0].entries == ("Ann",)


@pytest.mark.parametrize("suffix", [".tns", ".tns.gz", ".npz"])
def test_any_name_and_any_label_of_one_line_come_back(tmp_path, suffix):
    labels = [
        ModeLabels("km/h: \n#", ("\ufeffx", " y ", "")),
        ModeLabels(None, ("a",)),
        ModeLabels("no labels"),
        ModeLabels("", ("#", "%")),
        ModeLabels(),
    ]
    X = Tensor.from_coo([[2], [0], [5], [1], [0]], [1.0], (3, 1, 6, 2, 1), labels=labels)
    write(tmp_path / f"x{suffix}", X)
    assert read(tmp_path / f"x{suffix}").labels == tuple(labels)


def test_a_comment_of_someone_else_about_modes(tmp_path):
    for comment in (
        "# modes: " + "[" * 100_000,
        "# modes: 3",
        "# modes: a, b",
        '# modes: ["a", 3]',
        '# modes: ["a"]',
    ):
        (tmp_path / "x.tns").write_text(f"{comment}\n1 1 1.0\n")
        assert read(tmp_path / "x.tns").labels == (ModeLabels(), ModeLabels())


class TestOverwriting:
    X = Tensor.from_coo([[0, 1], [0, 0]], [1.0, 2.0], labels={"who": ["Ann", "Zoë"], "what": ["box"]})

    def names(self, folder):
        return sorted(path.name for path in folder.iterdir())

    def test_labels_take_the_place_of_those_that_were_there(self, tmp_path):
        write(
            tmp_path / "x.tns", Tensor.from_coo([[0, 1], [0, 2]], [1.0, 2.0], labels={"a": "pq", "b": "rst"})
        )
        write(tmp_path / "x.other.tns", self.X)
        write(tmp_path / "x.tns", self.X)
        assert read(tmp_path / "x.tns").labels == read(tmp_path / "x.other.tns").labels == self.X.labels
        write(tmp_path / "x.tns", Tensor.from_coo([[0, 5]], [1.0, 2.0]))
        assert read(tmp_path / "x.tns").labels == (ModeLabels(),)
        assert self.names(tmp_path) == [
            "x.other.mode-1-who.map",
            "x.other.mode-2-what.map",
            "x.other.tns",
            "x.tns",
        ]

    def test_what_cannot_be_written_leaves_what_was_there(self, tmp_path):
        write(tmp_path / "x.tns", self.X)
        before = self.names(tmp_path)
        broken = Tensor.from_coo([[0, 1]], [1.0, 2.0], labels={"who": ["a\nb", "c"]})
        with pytest.raises(ValueError, match="who has the label 'a\\\\nb', a .map file has one a line"):
            write(tmp_path / "x.tns", broken)
        assert self.names(tmp_path) == before
        assert read(tmp_path / "x.tns").labels == self.X.labels

    def test_an_interrupted_run_leaves_what_was_there(self, tmp_path, monkeypatch):
        write(tmp_path / "x.tns", self.X)
        other = Tensor.from_coo([[0, 1]], [1.0, 2.0])
        monkeypatch.setattr(Tensor, "decode", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path / "x.tns", other)
        monkeypatch.undo()
        assert read(tmp_path / "x.tns") == self.X
        assert read(tmp_path / "x.tns").labels == self.X.labels

    def test_labels_of_a_file_beside_it_stay(self, tmp_path):
        write(tmp_path / "x.tns", self.X)
        write(tmp_path / "x.tns.gz", Tensor.from_coo([[0, 1], [0, 0]], [1.0, 2.0]))
        assert read(tmp_path / "x.tns").labels == self.X.labels

    def test_labels_without_a_name(self, tmp_path):
        X = Tensor.from_coo([[0, 1]], [1.0, 2.0], labels=[["a", "b"]])
        write(tmp_path / "y.tns", X)
        assert read(tmp_path / "y.tns").labels == X.labels

    def test_two_label_files_for_a_mode_are_refused(self, tmp_path):
        write(tmp_path / "x.tns", self.X)
        (tmp_path / "x.mode-1-whom.map").write_text("a\nb\n")
        with pytest.raises(
            DataFileError, match=r"whom\.map: is for mode 0, and so is x\.mode-1-who\.map; keep one"
        ):
            read(tmp_path / "x.tns")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.mode-1-who.map", b"Ann\n", r"x\.tns: who has 1 labels for a length of 2; its \.map file needs"),
        ("x.mode-3-who.map", b"Ann\n", r"x\.mode-3-who\.map: is for mode 2, and x\.tns has 1 modes"),
        ("x.mode-1-who.map", b"\xff\n\n", r"x\.mode-1-who\.map: is not UTF-8 text"),
    ],
)
def test_labels_that_do_not_fit_are_refused(tmp_path, name, content, message):
    (tmp_path / "x.tns").write_text("# dims: 2\n2 1.0\n")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataFileError, match=message):
        read(tmp_path / "x.tns")


def test_a_label_of_two_lines_has_no_place_in_a_label_file(tmp_path):
    X = Tensor.from_coo([[0]], [1.0], labels=[["a\nb"]])
    with pytest.raises(ValueError, match=r"mode 0 has the label 'a\\nb', a \.map file has one a line"):
        write(tmp_path / "x.tns", X)
    write(tmp_path / "x.npz", X)
    assert read(tmp_path / "x.npz").labels == X.labels

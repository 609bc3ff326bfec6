import io
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings

from gpualto import CPModel, Tensor, read, write
from gpualto.io.files import DataFileError
from gpualto.testing import assert_tensors_equal
from tests.oracle import random_tensor, small_tensors


@settings(max_examples=25)
@given(small_tensors())
def test_round_trip(tmp_path_factory, X):
    path = tmp_path_factory.mktemp("out") / "x.npz"
    write(path, X)
    assert_tensors_equal(read(path), X)


@pytest.mark.parametrize("bits", [20, 40, 72, 140])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_width_and_type(tmp_path, bits, dtype):
    X = random_tensor(0, (1024,) * (bits // 10), 50, dtype)
    write(tmp_path / "x.npz", X)
    assert_tensors_equal(read(tmp_path / "x.npz"), X)


def test_a_shape_is_checked(tmp_path):
    X = random_tensor(0, (3, 4), 5)
    write(tmp_path / "x.npz", X)
    assert read(tmp_path / "x.npz", shape=(3, 4)) == X
    with pytest.raises(DataFileError, match=r"holds a tensor of shape \(3, 4\), not \(3, 5\)"):
        read(tmp_path / "x.npz", shape=(3, 5))


def five_nonzeros():
    return Tensor.from_coo([[0, 0, 1, 2, 2], [0, 3, 1, 0, 2]], np.arange(1.0, 6), (3, 4))


def archive_of(**changes):
    """Return the bytes of an archive of a small tensor with some arrays changed; None leaves one out."""
    X = five_nonzeros()
    arrays = {
        "kind": np.array("gpualto tensor 1"),
        "labels": np.frombuffer(b"[[null, null], [null, null]]", np.uint8),
        "shape": np.array(X.shape, np.uint64),
        "index_0": X.index[0],
        "values": X.values,
    }
    file = io.BytesIO()
    np.savez(file, **{name: a for name, a in {**arrays, **changes}.items() if a is not None})
    return file.getvalue()


def test_the_archive_that_the_next_test_damages_is_good(tmp_path):
    (tmp_path / "x.npz").write_bytes(archive_of())
    assert_tensors_equal(read(tmp_path / "x.npz"), five_nonzeros())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not an archive",
        archive_of()[:-30],
        archive_of()[:40] + b"\xff" * 40 + archive_of()[80:],
        archive_of(kind=None),
        archive_of(kind=np.array("another program")),
        archive_of(values=None),
        archive_of(values=np.zeros(4)),
        archive_of(values=np.zeros(5, np.int64)),
        archive_of(values=np.array([object()] * 5)),
        archive_of(index_0=np.zeros(5, np.uint32)),
        archive_of(index_0=np.arange(5, dtype=np.uint64)),
        archive_of(index_0=np.arange(5, dtype=np.uint32)[::-1]),
        archive_of(index_0=np.array([0, 1, 2, 3, 31], np.uint32)),
        archive_of(index_0=np.array([0, 1, 2, 3, 13], np.uint32)),
        archive_of(shape=np.array([3, -4])),
        archive_of(labels=np.frombuffer(b"[[null", np.uint8)),
        archive_of(labels=np.frombuffer(b"[[null, null]]", np.uint8)),
    ],
)
def test_a_damaged_or_foreign_file_is_refused_by_name(tmp_path, content):
    path = tmp_path / "x.npz"
    path.write_bytes(content)
    with pytest.raises(DataFileError, match=r"x\.npz: "):
        read(path)
    with pytest.raises(DataFileError, match=r"x\.npz: "):
        CPModel.load(path)


def test_a_single_array_is_not_an_archive(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(3))
    (tmp_path / "x.npy").rename(tmp_path / "x.npz")
    with pytest.raises(DataFileError, match=r"x\.npz: damaged, or not an archive of gpualto"):
        read(tmp_path / "x.npz")


def test_objects_are_never_unpickled(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        file = io.BytesIO()
        np.save(file, np.array([print], object), allow_pickle=True)
        archive.writestr("kind.npy", file.getvalue())
    with pytest.raises(DataFileError, match="allow_pickle"):
        read(tmp_path / "x.npz")


def test_a_model_needs_its_suffix(tmp_path):
    with pytest.raises(ValueError, match=r"^path: the name of an archive ends in \.npz"):
        CPModel(None, [np.ones((2, 1))]).save(tmp_path / "model")


def test_nothing_is_left_of_a_write_that_fails(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="disk full"):
        write(tmp_path / "x.npz", random_tensor(0, (2, 2), 2))
    assert list(tmp_path.iterdir()) == []

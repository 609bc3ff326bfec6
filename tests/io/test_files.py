from pathlib import Path

import pytest

from gpualto.io.files import replacing, split_suffix, stem


@pytest.mark.parametrize(
    ("name", "suffixes", "base"),
    [
        ("a.tns", (".tns", ""), "a"),
        ("a.b.tns.gz", (".tns", ".gz"), "a.b"),
        ("a.TNS.XZ", (".tns", ".xz"), "a"),
        ("a.gz", ("", ".gz"), "a"),
        ("a", ("", ""), "a"),
    ],
)
def test_suffixes_say_format_and_compression(name, suffixes, base):
    assert split_suffix(Path(name)) == suffixes
    assert stem(Path(name)) == base


def test_two_at_once_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "x.bin"
    with replacing(path) as first:
        first.write(b"first")
        with replacing(path) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_links_and_permissions_stay(tmp_path):
    path, link = tmp_path / "x.bin", tmp_path / "link.bin"
    path.write_bytes(b"before")
    path.chmod(0o600)
    link.symlink_to(path)
    with replacing(link) as file:
        file.write(b"after")
    assert link.is_symlink()
    assert path.read_bytes() == b"after"
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_name_says_how_it_is_compressed_and_not_what_it_points_at(tmp_path):
    link = tmp_path / "link.tns"
    link.symlink_to(tmp_path / "real.tns.gz")
    with replacing(link) as file:
        file.write(b"text")
    assert (tmp_path / "real.tns.gz").read_bytes() == b"text"


def test_a_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "x.bin"
    with replacing(path) as file:
        file.write(b"all")
        assert not path.exists()
    assert path.read_bytes() == b"all"
    assert list(tmp_path.iterdir()) == [path]

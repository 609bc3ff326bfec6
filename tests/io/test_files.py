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


def test_a_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "x.bin"
    with replacing(path) as file:
        file.write(b"all")
        assert not path.exists()
    assert path.read_bytes() == b"all"
    assert list(tmp_path.iterdir()) == [path]

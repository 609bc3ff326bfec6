"""The guides write files: each runs in a folder of its own."""

import pytest


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))

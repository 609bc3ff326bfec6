"""Whole programs on device arrays: examples and commands."""

import runpy
import sys
from pathlib import Path

import pytest

from gpualto.backends.cuda import launching
from gpualto.cli import main

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_als_in_cupy_finds_the_hours_of_each_group(cupy, capsys):
    runpy.run_path(str(EXAMPLES / "als_in_cupy.py"), run_name="__main__")
    groups = capsys.readouterr().out.splitlines()[-1].partition(": ")[2].split()
    found = [set(groups[first : first + 6]) for first in range(0, 24, 6)]
    assert all(len(group) == 1 for group in found)
    assert len(set.union(*found)) == 4


def test_warmup_compiles_all_that_a_tensor_can_need(standin_cupy, capsys, monkeypatch):
    assert main(["warmup", "--shape", "5,6,7", "--rank", "4", "--dtype", "float32"]) == 0
    out = capsys.readouterr().out
    assert "5 x 6 x 7, rank 4, float32:" in out
    for mode in range(3):
        for strategy in ("staged", "atomic", "deterministic"):
            assert f"MTTKRP of mode {mode}, {strategy}" in out
    kernels = {
        expression.partition("<")[0]
        for module, _, expression, _ in launching._modules
        if module is standin_cupy
    }
    assert kernels == {
        "delinearize",
        "invert_gram",
        "linearize",
        "mttkrp_atomic",
        "mttkrp_deterministic",
        "mttkrp_staged",
        "segment_intervals",
        "sum_carries",
    }


@pytest.mark.parametrize("text", ["5,x", "", "5,,6", "-1,2"])
def test_warmup_refuses_what_is_no_shape(capsys, text):
    with pytest.raises(SystemExit) as stop:
        main(["warmup", f"--shape={text}"])
    assert stop.value.code == 2
    assert "expected lengths such as 100,200,300" in capsys.readouterr().err


def test_warmup_without_cupy(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert main(["warmup", "--shape", "5,6"]) == 2
    assert 'pip install "gpualto[cuda13]"' in capsys.readouterr().err

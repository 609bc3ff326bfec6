"""Inputs that broke other tools, by their names in cases.jsonl, and files with known properties."""

import json
from pathlib import Path
from typing import Any

import numpy as np

import gpualto

TESTS = Path(__file__).parent
DATA = TESTS / "data"
REFERENCE: dict[str, Any] = json.loads((DATA / "reference.json").read_text())
CASES: dict[str, dict[str, Any]] = {
    case["id"]: case for case in map(json.loads, (TESTS / "cases.jsonl").read_text().splitlines())
}


def case(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return input and expected answer of a case."""
    return CASES[name]["input"], CASES[name]["expected"]


def case_tensor(given: dict[str, Any], dtype: Any = None) -> gpualto.Tensor:
    """Return the tensor that a case describes by coordinates, one row a nonzero."""
    coords = np.array(given["coords0"], np.int64).reshape(-1, len(given["shape"])).T
    values = np.array(given["vals"], dtype or np.float64)
    return gpualto.Tensor.from_coo(coords, values, given["shape"])


def factors_of(given: dict[str, Any]) -> list[np.ndarray]:
    return [np.array(factor, np.float64) for factor in given["U"]]


def data_file(name: str) -> Path:
    """Return the path of a file named in reference.json."""
    folder = Path(gpualto.__file__).parent / "data" if name == "flights" else DATA
    return folder / REFERENCE[name]["file"]

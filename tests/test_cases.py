"""Every case is in some test, or is listed here with what it waits for."""

import re

from tests.cases import CASES, TESTS

WAITING = {
    "cp-seed": "named by behaviour: decomposition/test_als.py, TestSeeds",
    "cp-normalize": "named by behaviour: decomposition/test_als.py, TestHardInputs",
    "arg-order": "named by behaviour: test_tensor.py, TestConstruction",
}


def test_every_case_is_used_or_waits():
    used = set()
    for path in TESTS.rglob("test_*.py"):
        used |= set(re.findall(r'\bcase\("([a-z0-9-]+)"\)', path.read_text()))
    assert used | set(WAITING) == set(CASES)
    assert not used & set(WAITING)

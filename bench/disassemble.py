"""The machine code of compiled kernels, by NVIDIA's disassembler: how many instructions something takes."""

from __future__ import annotations

import re
import site
import subprocess
import tempfile
from pathlib import Path

from bench.compile import CompileError

_FUNCTION = re.compile(r"^\.text\.(\S+):$", re.MULTILINE)
_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d+\s+)?([A-Z][A-Z0-9_.]*)", re.MULTILINE)
_PADDING = {"NOP", "BRA"}


def instructions(binary: bytes) -> dict[str, list[str]]:
    """Return the operations of each kernel, in order, by its lowered name; without what fills up its end.

    Raises
    ------
    CompileError
        If there is no disassembler.
    """
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(binary)
        file.flush()
        command = [str(_nvdisasm()), "--print-code", file.name]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    _, *parts = _FUNCTION.split(text)
    return {
        name: _without_padding(_INSTRUCTION.findall(code))
        for name, code in zip(parts[::2], parts[1::2], strict=True)
    }


def _without_padding(operations: list[str]) -> list[str]:
    while operations and operations[-1] in _PADDING:
        operations.pop()
    return operations


def _nvdisasm() -> Path:
    folders = [Path(folder) for folder in (*site.getsitepackages(), site.getusersitepackages())]
    found = [path for folder in folders for path in folder.glob("nvidia/*/bin/nvdisasm")]
    if not found:
        raise CompileError("there is no nvdisasm here: pip install nvidia-cuda-nvdisasm")
    return max(found)

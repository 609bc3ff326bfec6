"""What the CUDA kernels compile to: registers, spills and shared memory, from NVRTC and without a GPU."""

from __future__ import annotations

import ctypes
import json
import os
import re
import site
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain, product
from pathlib import Path

from gpualto.kernels import layout_source, translation_unit

from bench.report import format_table
from gpualto import AltoEncoding
from gpualto.io.files import replacing

SHAPES = {
    "nips": (2482, 2862, 14036, 17),
    "flickr": (319686, 28153045, 1607191, 731),  # 75 bits: two words
    "nell-2": (12092, 9184, 28818),
}
RANKS = (8, 16, 32, 64)
ODD_RANKS = {"nips": (7, 33, 160)}
ARCHITECTURES = (75, 80, 90, 100)
"""Those of them are compiled for that the installed NVRTC knows."""

SOURCES = (
    "linearize.cu",
    "delinearize.cu",
    "intervals.cu",
    "mttkrp_atomic.cu",
    "mttkrp_staged.cu",
    "mttkrp_deterministic.cu",
    "model_values.cu",
    "dense.cu",
    "runs.cu",
)
# CuPy adds the first two to the options that it is given.
OPTIONS = ("-ftz=true", "--device-as-default-execution-space", "-std=c++17", "--ptxas-options=-v")


class CompileError(Exception):
    """A compiler that is not there, or what it has to say against the sources."""


@dataclass(frozen=True)
class Kernel:
    """What one instance of a kernel takes up on one architecture."""

    tensor: str
    architecture: int
    instance: str
    registers: int
    stack_bytes: int
    spill_bytes: int
    shared_bytes: int

    @property
    def name(self) -> str:
        """Name without the template arguments."""
        return self.instance.partition("<")[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile all instances, print and write what they take up, and return the exit status."""
    parser = ArgumentParser(prog="python -m bench.compile", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="PATH", help="write all figures to a file")
    options = parser.parse_args(arguments)
    began = time.perf_counter()
    try:
        architectures = supported_architectures()
        kernels = compile_all(SHAPES, architectures)
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    print(format_kernels(kernels))
    print(f"\nNVRTC {version()}, {len(kernels)} kernels in {time.perf_counter() - began:.0f} s")
    if options.json:
        write_kernels(options.json, kernels)
    return 0


def instances(modes: int, ranks: Iterable[int]) -> list[str]:
    """Return the kernels of a tensor as C++ expressions, without the namespace.

    Examples
    --------
    >>> instances(3, [8])[0]
    'linearize<Layout, 256>'
    """
    found = [
        "linearize<Layout, 256>",
        f"delinearize<Layout, 0, {modes}, long long, 256>",
        "delinearize<Layout, 0, 1, unsigned, 256>",
        "segment_intervals<Layout, 128>",
    ]
    ranks = list(ranks)
    for T in ("float", "double"):
        found += [f"invert_gram<{T}, 256>", f"sum_runs<{T}, 256>"]
        for rank in ranks:
            found += [
                f"mttkrp_atomic<Layout, 0, {T}, {T}, {rank}, 128>",
                f"mttkrp_staged<Layout, 0, {T}, {T}, {rank}, 256>",
                f"mttkrp_deterministic<Layout, 0, {T}, {T}, {rank}, unsigned, 128>",
                f"sum_carries<{T}, {rank}, 128>",
                f"model_values<Layout, {T}, {rank}, 128>",
            ]
    return found


def compile_all(tensors: Iterable[str], architectures: Iterable[int]) -> list[Kernel]:
    """Compile all instances of some of the `SHAPES`: a program for each of them and each architecture.

    Raises
    ------
    CompileError
        If there is no NVRTC, or it reports an error or a warning.
    """
    tensors, architectures = zip(*product(tensors, architectures), strict=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(chain.from_iterable(pool.map(compile_tensor, tensors, architectures)))


def compile_tensor(tensor: str, architecture: int) -> list[Kernel]:
    """Compile all instances of one of the `SHAPES` for one architecture."""
    shape = SHAPES[tensor]
    source = f"{layout_source(AltoEncoding(shape))}\n{translation_unit(*SOURCES)}"
    names = instances(len(shape), RANKS + ODD_RANKS.get(tensor, ()))
    program = compile_program(source, [f"gpualto::{name}" for name in names], architecture)
    complaints = [
        line for line in program.log.splitlines() if re.search("warning|error", line, re.IGNORECASE)
    ]
    if complaints:
        raise CompileError("\n".join([f"{tensor} on sm_{architecture}:", *complaints]))
    found = {lowered: figures for lowered, *figures in _resources(program.log)}
    return [
        Kernel(tensor, architecture, name, *found[lowered])
        for name, lowered in zip(names, program.lowered_names, strict=True)
    ]


def _resources(log: str) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield name, registers, and bytes of stack, spills and shared memory from what ptxas prints.

    Functions that are not inlined are counted with the kernel that they are printed with.

    Examples
    --------
    >>> list(_resources('''
    ... ptxas info    : Compiling entry function 'f' for 'sm_90'
    ... ptxas info    : Function properties for f
    ...     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
    ... ptxas info    : Used 32 registers, used 1 barriers, 8 bytes stack, 512 bytes smem'''))
    [('f', 32, 8, 8, 512)]
    """
    for block in log.split("Compiling entry function '")[1:]:
        name = block.partition("'")[0]
        registers = _numbers(block, r"Used (\d+) registers")
        stack = _numbers(block, r"(\d+) bytes stack frame")
        spills = _numbers(block, r"(\d+) bytes spill (?:stores|loads)")
        shared = _numbers(block, r"(\d+) bytes smem")
        if not (registers and stack and spills):
            raise CompileError(f"ptxas says nothing of {name}")
        yield name, max(registers), max(stack), sum(spills), max(shared, default=0)


def _numbers(text: str, pattern: str) -> list[int]:
    return [int(number) for number in re.findall(pattern, text)]


# Reports ----------------------------------------------------------------------------------------------------


def format_kernels(kernels: Iterable[Kernel]) -> str:
    """Return a table, a row for each kernel."""
    header = ["tensor", "kernel", "sm", "registers", "stack B", "spills B", "shared B"]
    rows = [
        [
            k.tensor,
            k.instance,
            *map(str, (k.architecture, k.registers, k.stack_bytes, k.spill_bytes, k.shared_bytes)),
        ]
        for k in kernels
    ]
    return format_table(header, rows)


def write_kernels(path: Path, kernels: Iterable[Kernel]) -> None:
    """Write all figures as JSON, a line for each kernel."""
    lines = ",\n".join(json.dumps(asdict(kernel)) for kernel in kernels)
    head = f'"nvrtc": {json.dumps(version())},\n"options": {json.dumps(OPTIONS)}'
    with replacing(path) as file:
        file.write(f'{{\n{head},\n"kernels": [\n{lines}\n]\n}}\n'.encode())


# NVRTC ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """A compiled program: what the compiler printed, the binary, and the names of its kernels there."""

    log: str
    binary: bytes
    lowered_names: list[str]


def version() -> str:
    """Return the version of NVRTC."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(_nvrtc().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return f"{major.value}.{minor.value}"


def supported_architectures() -> list[int]:
    """Return those of `ARCHITECTURES` that the installed NVRTC compiles for."""
    count = ctypes.c_int()
    _check(_nvrtc().nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    known = (ctypes.c_int * count.value)()
    _check(_nvrtc().nvrtcGetSupportedArchs(known))
    return [architecture for architecture in ARCHITECTURES if architecture in known]


def compile_program(source: str, expressions: Sequence[str], architecture: int) -> Program:
    """Compile instances of templates to a binary.

    Raises
    ------
    CompileError
        If there is no NVRTC, or the source has an error.
    """
    nvrtc, program = _nvrtc(), ctypes.c_void_p()
    _check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"gpualto.cu", 0, None, None))
    try:
        for expression in expressions:
            _check(nvrtc.nvrtcAddNameExpression(program, expression.encode()))
        options = [option.encode() for option in (*OPTIONS, f"-arch=sm_{architecture}")]
        status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        log = _output(program, "ProgramLog").value.decode()
        if status:
            raise CompileError(f"sm_{architecture}: {log}")
        lowered_names = [_lowered_name(program, expression) for expression in expressions]
        return Program(log, _output(program, "CUBIN").raw, lowered_names)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _output(program: ctypes.c_void_p, kind: str) -> ctypes.Array[ctypes.c_char]:
    size = ctypes.c_size_t()
    _check(getattr(_nvrtc(), f"nvrtcGet{kind}Size")(program, ctypes.byref(size)))
    content = ctypes.create_string_buffer(size.value)
    _check(getattr(_nvrtc(), f"nvrtcGet{kind}")(program, content))
    return content


def _lowered_name(program: ctypes.c_void_p, expression: str) -> str:
    name = ctypes.c_char_p()
    _check(_nvrtc().nvrtcGetLoweredName(program, expression.encode(), ctypes.byref(name)))
    return (name.value or b"").decode()


@cache
def _nvrtc() -> ctypes.CDLL:
    folders = [Path(folder) for folder in (*site.getsitepackages(), site.getusersitepackages())]
    found = [path for folder in folders for path in folder.glob("nvidia/*/lib/libnvrtc.so.1[23]")]
    if not found:
        raise CompileError("there is no NVRTC here: pip install nvidia-cuda-nvrtc")
    library = ctypes.CDLL(str(max(found, key=lambda path: path.name)))
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    return library


def _check(status: int) -> None:
    if status:
        raise CompileError(_nvrtc().nvrtcGetErrorString(status).decode())


if __name__ == "__main__":
    sys.exit(main())

"""Compile CUDA C++ kernels for the host, once for each source, instance and set of flags.

Everything is kept in a folder of the system's temporary folder, under hashes of all that went in.
"""

import contextlib
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.gpuhost.launch import KernelFault, Library

__all__ = ["CompileError", "KernelFault", "Library", "compile_kernels"]

RUNTIME_SOURCES = Path(__file__).parent / "runtime"
RUNTIME_FLAGS = [
    "-std=c++20",
    "-O2",
    "-U_FORTIFY_SOURCE",  # it would refuse the jump from a fiber back to the launcher
    "-fPIC",
    "-fvisibility=hidden",
    "-shared",
    "-Wall",
    "-Wextra",
    "-Werror",
]
KERNEL_FLAGS = [
    "-std=c++17",  # what the device compiler gets
    "-O1",
    "-g1",  # lines, for the messages of faults
    "-gdwarf-4",  # of version 5, addr2line confuses the names of files
    "-fPIC",
    "-fvisibility=hidden",
    # A library's shared variables are its own, also where another has the same instance.
    "-fno-gnu-unique",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Winvalid-pch",
    "-Wno-unknown-pragmas",  # #pragma unroll
]
# -O1: 12 instances of an MTTKRP kernel take 1.0 s, at -O2 1.3 s, and run as fast.
# A device refuses vectors that are not aligned, the host does not; the checker has a test of its own.
UNCHECKED_FLAGS = ["-fsanitize=alignment", "-fsanitize-undefined-trap-on-error"]
CHECKED_FLAGS = ["-fsanitize=thread", "--param=tsan-instrument-func-entry-exit=0"]
# Calls of the C library have no hooks of their own. The library of the thread sanitizer is not linked.
CHECKED_LINK_FLAGS = ["-Wl,--wrap=memcpy", "-Wl,--wrap=memset", "-Wl,--wrap=memmove"]

SHOWN_CHARACTERS = 4000
KEPT_SECONDS = 7 * 24 * 3600


class CompileError(RuntimeError):
    """The compiler refused a source, or there is no compiler."""


def compile_kernels(
    source: str, expressions: Sequence[str], *, checked: bool = False, include: Sequence[Path] = ()
) -> Library:
    """Compile instances of the kernels in a CUDA C++ source, and return them ready for launch.

    Parameters
    ----------
    source
        CUDA C++ text. It sees the macro GPUALTO_HOST.
    expressions
        Kernels by name, with template arguments where they are templates: ``scale<float, 4>``.
    checked
        Whether launches look for races and accesses out of bounds. They are some ten times slower.
    include
        Folders of files that the source includes.
    """
    flags = [*KERNEL_FLAGS, *(f"-I{Path(folder).resolve()}" for folder in include)]
    flags += CHECKED_FLAGS if checked else UNCHECKED_FLAGS
    folder = _prepare_source(source, flags, include)
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        files = workers.map(
            lambda expression: _compile_instance(folder, expression, flags, checked), expressions
        )
        return Library(_runtime_file(), dict(zip(expressions, files, strict=True)), checked)


def _prepare_source(source: str, flags: list[str], include: Sequence[Path]) -> Path:
    """Return a folder with the source and the runtime's headers, parsed once for all instances."""

    def make(folder: Path) -> None:
        (folder / "kernels.cu").write_text(source)
        (folder / "kernels.hpp").write_text(
            f'#include "{RUNTIME_SOURCES}/gpuhost.hpp"\n#include "kernels.cu"\n'
        )
        _run_compiler([*flags, "-x", "c++-header", "kernels.hpp", "-o", "kernels.hpp.gch"], folder)

    included = [text for folder in include for text in _texts(folder)]
    return _cached("source", make, [source, str(_runtime_file()), *flags, *included])


def _compile_instance(folder: Path, expression: str, flags: list[str], checked: bool) -> Path:
    file = folder / f"{_hash([expression])}.so"
    if file.exists():
        return file
    runtime = _runtime_file()
    link_flags = [
        "-shared",
        "-Wl,--no-undefined",
        str(runtime),
        f"-Wl,-rpath,{runtime.parent}",
        *(CHECKED_LINK_FLAGS if checked else []),
    ]
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        unfinished, made = Path(scratch) / "kernel.o", Path(scratch) / "kernel.so"
        arguments = [*flags, "-include", "kernels.hpp", "-x", "c++", "-c", "-", "-o", str(unfinished)]
        _run_compiler(arguments, folder, f"GPUALTO_HOST_ENTRY({expression})\n")
        # Linked without -fsanitize=thread, which would bring in libtsan.
        _run_compiler([str(unfinished), *link_flags, "-o", str(made)], folder)
        made.replace(file)
    return file


@functools.cache
def _runtime_file() -> Path:
    """Return the runtime's library."""

    def make(folder: Path) -> None:
        sources = sorted(str(file) for file in RUNTIME_SOURCES.glob("*.cpp"))
        _run_compiler([*RUNTIME_FLAGS, *sources, "-o", "libgpuhost.so"], folder)

    return _cached("runtime", make, [*RUNTIME_FLAGS, *_texts(RUNTIME_SOURCES)]) / "libgpuhost.so"


def _cached(kind: str, make: Callable[[Path], None], ingredients: Sequence[str]) -> Path:
    """Return the folder that `make` fills, which is made if there is none of the same ingredients.

    It is filled under another name and renamed when complete, so that several processes may do so at once.
    """
    cache = _cache_folder()
    folder = cache / f"{kind}-{_hash([_compiler_version(), *ingredients])}"
    if folder.exists():
        os.utime(folder)
    else:
        _forget_old(cache)
        unfinished = Path(tempfile.mkdtemp(dir=cache))
        try:
            make(unfinished)
            unfinished.rename(folder)
        except OSError:
            if not folder.exists():
                raise
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def _cache_folder() -> Path:
    folder = Path(tempfile.gettempdir()) / f"gpualto-gpuhost-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to somebody else")
    return folder


def _forget_old(cache: Path) -> None:
    """Remove what nobody has used for a while: the headers of one source, parsed, take 20 MB."""
    for folder in cache.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process has renamed it meanwhile
            if time.time() - folder.stat().st_mtime > KEPT_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def _texts(folder: Path) -> Iterator[str]:
    """Names and contents of all source files below a folder."""
    for file in sorted(Path(folder).resolve().rglob("*")):
        if file.suffix in {".cpp", ".cu", ".cuh", ".h", ".hpp"}:
            yield str(file)
            yield file.read_text()


def _hash(texts: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(f"{len(text)} {text}".encode())
    return digest.hexdigest()[:24]


def _compiler() -> str:
    compiler = shutil.which("g++")
    if compiler is None:
        raise CompileError(
            "running CUDA sources on the host needs the compiler g++, which is not on the path"
        )
    return compiler


@functools.cache
def _compiler_version() -> str:
    command = [_compiler(), "--version"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _run_compiler(arguments: Sequence[str], folder: Path, text: str | None = None) -> None:
    command = [_compiler(), *arguments]
    result = subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True, check=False)
    if result.returncode:
        subject = text.strip() if text else "the source"
        raise CompileError(f"g++ refuses {subject}:\n{result.stderr[:SHOWN_CHARACTERS]}")

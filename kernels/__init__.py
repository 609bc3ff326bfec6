"""The CUDA sources, installed as ``gpualto.kernels``."""

from pathlib import Path


def source(name: str) -> str:
    """Return the text of a source file.

    Examples
    --------
    >>> "gather_bits" in source("index.cuh")
    True
    """
    return (Path(__file__).parent / name).read_text()

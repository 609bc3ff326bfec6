"""The CUDA sources, installed as ``gpualto.kernels``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpualto.encoding import AltoEncoding

_INCLUDE = re.compile(r'^#include "([^"]+)"\n', re.MULTILINE)


def source(name: str) -> str:
    """Return the text of a source file.

    Examples
    --------
    >>> "gather_bits" in source("index.cuh")
    True
    """
    return (Path(__file__).parent / name).read_text()


@cache
def translation_unit(*names: str) -> str:
    """Return source files, and what they include, as one text: each file once, in the order of need.

    A compiler that gets it needs no include path, and a cache that is keyed by it knows of every change.

    Examples
    --------
    >>> "#include" in translation_unit("linearize.cu")
    False
    """
    included: set[str] = set()

    def expand(name: str) -> str:
        if name in included:
            return ""
        included.add(name)
        text = source(name).replace("#pragma once\n", "")
        return _INCLUDE.sub(lambda match: expand(match[1]), text)

    return "\n".join(map(expand, names))


def layout_source(encoding: AltoEncoding) -> str:
    """Return the bit layout of an encoding as the struct of constants that ``index.cuh`` asks for.

    Examples
    --------
    >>> from gpualto import AltoEncoding
    >>> print(layout_source(AltoEncoding((4, 8, 2))))
    struct Layout {
      static constexpr int modes = 3, words = 1;
      static constexpr int word_bytes[words] = {4};
      static constexpr unsigned long long lengths[modes] = {0x4ull, 0x8ull, 0x2ull};
      static constexpr unsigned long long masks[modes][words] = {{0xaull}, {0x34ull}, {0x1ull}};
    };
    """
    words = range(len(encoding.words))
    masks = [_constants((mask >> (64 * word)) % 2**64 for word in words) for mask in encoding.masks]
    return f"""\
struct Layout {{
  static constexpr int modes = {encoding.ndim}, words = {len(words)};
  static constexpr int word_bytes[words] = {{{", ".join(str(word.itemsize) for word in encoding.words)}}};
  static constexpr unsigned long long lengths[modes] = {_constants(encoding.shape)};
  static constexpr unsigned long long masks[modes][words] = {{{", ".join(masks)}}};
}};"""


def _constants(numbers: Iterable[int]) -> str:
    return "{" + ", ".join(f"{number:#x}ull" for number in numbers) + "}"

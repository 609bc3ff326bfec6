"""The format language: how a tensor is stored, in one line.

``(i, j) -> (i : dense, j : compressed)`` reads: the rows are all there; below each, the columns that occur.

- `grammar`: text to dimensions and levels
- `expressions`, `levels`: what they are made of; `linearizers`, `indices`: several coordinates as one number
- `format`: `Format`, and the rules that make it sound; `named`: formats by their usual names
- `recovery`: how coordinates follow from what the levels store
- `storage`: `StoredTensor`; `building`: `build`; `decoding`: `decode`, `entries`, `convert`
- `drawing`: the arrays as a picture
"""

from gpualto.format.building import build
from gpualto.format.decoding import convert, decode, entries
from gpualto.format.format import Format
from gpualto.format.grammar import FormatError
from gpualto.format.storage import LevelArrays, StoredTensor

__all__ = ["Format", "FormatError", "LevelArrays", "StoredTensor", "build", "convert", "decode", "entries"]

"""What decoding an index costs in the machine code: about two 32-bit instructions a bit, and less."""

import sys

import pytest
from gpualto.kernels import layout_source, translation_unit

from bench import disassemble
from bench.compile import SHAPES, CompileError, compile_program
from bench.disassemble import instructions
from gpualto import AltoEncoding

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="NVRTC is tested on Linux")

INSTRUCTIONS_PER_BIT = 1.8
LARGEST_SHARE = {1: 0.25, 2: 0.3}
"""By words. Of the instructions as they stand: decoding runs once a tile, the rest several times."""

PROBE = """
namespace gpualto {
template <class Layout, bool Decode, int Mode = 0>
__device__ void store_rows(const LinearIndex<Layout>& index, unsigned* rows) {
  if constexpr (Mode < Layout::modes) {
    const Word bits = Decode ? coordinate<Layout, Mode>(index) : index.word[0] + Mode;
    rows[Mode] = static_cast<unsigned>(bits);
    store_rows<Layout, Decode, Mode + 1>(index, rows);
  }
}
template <class Layout, bool Decode>
__global__ void probe(Words<Layout> words, unsigned* rows) {
  store_rows<Layout, Decode>(load_index(words, threadIdx.x), rows + threadIdx.x * Layout::modes);
}
}
"""


@pytest.mark.parametrize("architecture", [80, 90, 100])
@pytest.mark.parametrize("tensor", SHAPES)
def test_decoding_is_a_small_part_of_mttkrp(tensor, architecture):
    encoding = AltoEncoding(SHAPES[tensor])
    sources = translation_unit("mttkrp_atomic.cu", "mttkrp_staged.cu")
    mttkrp = [
        f"mttkrp_{strategy}<Layout, 0, {T}, {T}, 16, 128>"
        for strategy in ("atomic", "staged")
        for T in ("float", "double")
    ]
    names = [f"gpualto::{name}" for name in ("probe<Layout, true>", "probe<Layout, false>", *mttkrp)]
    program = compile_program(f"{layout_source(encoding)}\n{sources}{PROBE}", names, architecture)
    code = instructions(program.binary)
    with_decoding, without, *kernels = (len(code[name]) for name in program.lowered_names)
    decoding = with_decoding - without
    assert 1.0 < decoding / encoding.nbits < INSTRUCTIONS_PER_BIT
    assert decoding / min(kernels) < LARGEST_SHARE[len(encoding.words)]


def test_a_missing_disassembler_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setattr(disassemble.site, "getsitepackages", list)
    monkeypatch.setattr(disassemble.site, "getusersitepackages", lambda: "/nowhere")
    with pytest.raises(CompileError, match="pip install nvidia-cuda-nvdisasm"):
        instructions(b"")

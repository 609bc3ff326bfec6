"""CUDA kernels on a machine without a GPU: compiled by g++, one fiber per CUDA thread. See README.md."""

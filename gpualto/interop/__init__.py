"""Tensors of other packages, in and out: one module per package."""

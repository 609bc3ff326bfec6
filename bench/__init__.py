"""Benchmarks: gpualto, other packages and the machine's own limit, measured side by side in one run."""

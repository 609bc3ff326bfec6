"""The public operations: they check their arguments, pick a backend and call it."""

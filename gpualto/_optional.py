"""Optional packages: loaded on first use, and asked for by their pip command when missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class MissingPackageError(ImportError):
    """An optional package is needed and not installed."""


def require(module: str, extra: str, purpose: str) -> Any:
    """Import and return an optional module.

    Raises
    ------
    MissingPackageError
        Naming the pip command that installs it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingPackageError(
            f'{purpose} needs {package}, which is not installed: pip install "gpualto[{extra}]"'
        ) from error

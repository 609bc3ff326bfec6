"""The methods that fit CP models, by the names that the command line has for them."""

from __future__ import annotations

from collections.abc import Callable

from gpualto.decomposition.als import cp_als
from gpualto.decomposition.completion import cp_complete
from gpualto.decomposition.gradient import cp_opt
from gpualto.decomposition.model import CPModel
from gpualto.decomposition.nonnegative import cp_nn
from gpualto.decomposition.poisson import cp_apr

Method = Callable[..., CPModel]
"""`cp_als` or another, or a function of one's own with its arguments."""

METHODS: dict[str, Method] = {
    "als": cp_als,
    "nn": cp_nn,
    "apr": cp_apr,
    "complete": cp_complete,
    "opt": cp_opt,
}


def method_of(method: Method | str) -> Method:
    """Return a method that is given as a function or by its name, with or without ``cp_``.

    Raises
    ------
    ValueError
        If there is no method of that name.

    Examples
    --------
    >>> method_of("apr") is method_of("cp_apr") is cp_apr
    True
    """
    if not isinstance(method, str):
        return method
    name = method.removeprefix("cp_")
    if name not in METHODS:
        raise ValueError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
    return METHODS[name]

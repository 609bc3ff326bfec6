"""A stand-in for CuPy on a machine without a GPU: NumPy underneath, strict on top, kernels by the host build.

Its arrays do not turn into NumPy arrays by themselves and do not mix with them, as CuPy's do not. It offers only
functions, methods and keywords that CuPy has, by its source, and counts what would wait for a device or take memory
from its pool.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from tests.gpuhost.build import compile_kernels

FUNCTIONS = """
    abs add arange argsort ascontiguousarray asarray array bincount broadcast_to concatenate copyto cumsum diag
    divide einsum empty empty_like equal eye flatnonzero full
    isfinite isnan matmul maximum minimum multiply ones ones_like outer sign sqrt square repeat stack subtract sum tile where zeros
    zeros_like
""".split()  # noqa: SIM905
METHODS = {
    "all": "axis out keepdims",
    "any": "axis out keepdims",
    "argmax": "axis dtype out keepdims",
    "argsort": "axis kind",
    "astype": "order copy",
    "copy": "order",
    "cumsum": "axis dtype out",
    "diagonal": "offset axis1 axis2",
    "dot": "out",
    "max": "axis out keepdims",
    "min": "axis out keepdims",
    "nonzero": "",
    "ravel": "order",
    "repeat": "axis",
    "reshape": "order",
    "searchsorted": "side sorter",
    "sum": "axis dtype out keepdims",
    "trace": "offset axis1 axis2 dtype out",
    "transpose": "",
    "view": "dtype",
}
"""By name, the keywords that they take."""

KEYWORDS = {
    **METHODS,
    "abs": "out dtype",
    "einsum": "dtype optimize",
    "eigh": "UPLO",
    "may_share_memory": "",
    "pinv": "rcond",
    "qr": "mode",
    "solve": "",
    "svd": "full_matrices compute_uv",
}
"""Of functions too; those that are not here take NumPy's."""

REDUCED = ("add", "multiply")
"""Ufuncs that reduce and accumulate."""
PROTOCOL = {
    *FUNCTIONS,
    "may_share_memory",
    "count_nonzero",
    "abs",
    "absolute",
    "argmax",
    "amax",
    "amin",
    "diag",
    "dot",
    "hstack",
    "moveaxis",
    "result_type",
    "tensordot",
}

counts: Counter[str] = Counter()
"""How often something was read back ("reads") and allocated ("arrays")."""


class ndarray(np.lib.mixins.NDArrayOperatorsMixin):  # noqa: N801
    """An array that pretends to live on a device."""

    __module__ = "cupy"

    def __init__(self, host: np.ndarray) -> None:
        self._host = host

    # What needs no device -----------------------------------------------------------------------------------

    shape = property(lambda self: self._host.shape)
    dtype = property(lambda self: self._host.dtype)
    ndim = property(lambda self: self._host.ndim)
    size = property(lambda self: self._host.size)
    nbytes = property(lambda self: self._host.nbytes)
    itemsize = property(lambda self: self._host.itemsize)
    strides = property(lambda self: self._host.strides)
    flags = property(lambda self: _flags(self._host.flags))
    data = property(lambda self: SimpleNamespace(ptr=self._host.ctypes.data))
    __cuda_array_interface__ = property(lambda self: self._host.__array_interface__)
    device = property(lambda self: Device(0))
    T = property(lambda self: ndarray(self._host.T))

    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self) -> Any:
        return (self[n] for n in range(len(self)))

    # What reads from it ---------------------------------------------------------------------------------------

    def __dlpack__(self) -> np.ndarray:
        return self._host

    def get(self) -> np.ndarray:
        refuse_while_captured("a read")
        counts["reads"] += 1
        return self._host.copy()

    def item(self) -> Any:
        return self.get().item()

    def tolist(self) -> Any:
        return self.get().tolist()

    def __float__(self) -> float:
        return float(self.get())

    def __int__(self) -> int:
        return int(self.get())

    def __bool__(self) -> bool:
        return bool(self.get())

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Use .get().")

    # What computes with it ------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        return wrap(self._host[_as_key(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._host[_as_key(key)] = unwrap(value)

    def fill(self, value: Any) -> None:
        submit(lambda: self._host.fill(unwrap(value)))

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(f"the stand-in for CuPy has no method {name}")
        if name in ("max", "min") and self.size == 0:
            raise ValueError("zero-size array to reduction operation")
        return function_of(getattr(self._host, name))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **kwargs: Any) -> Any:
        if method != "__call__" and (method == "reduceat" or ufunc.__name__ not in REDUCED):
            raise NotImplementedError(
                f"{ufunc.__name__}.{method} is none of CuPy's, or computes something else"
            )
        kwargs = unwrap(kwargs)
        if out:
            kwargs["out"] = tuple(item._host for item in out)
        result = wrap(getattr(ufunc, method)(*map(unwrap, inputs), **kwargs))
        return out[0] if out else result

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function.__name__ not in PROTOCOL:
            raise TypeError(f"the stand-in for CuPy has no function {function.__name__}")
        return function_of(function)(*args, **kwargs)


def _flags(flags: Any) -> SimpleNamespace:
    names = ("c_contiguous", "f_contiguous", "owndata", "fnc", "forc")
    return SimpleNamespace(**{name: getattr(flags, name) for name in names})


def _as_key(key: Any) -> Any:
    """Return what stands in square brackets, where CuPy takes NumPy arrays as well."""
    if isinstance(key, tuple):
        return tuple(map(_as_key, key))
    return key if isinstance(key, np.ndarray) else unwrap(key)


def unwrap(item: Any) -> Any:
    """Return what NumPy gets in place of stand-ins; NumPy arrays are refused."""
    if isinstance(item, ndarray):
        return item._host
    if isinstance(item, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(item, (tuple, list)):
        return type(item)(map(unwrap, item))
    if isinstance(item, dict):
        return {key: unwrap(value) for key, value in item.items()}
    return item


def wrap(result: Any) -> Any:
    """Return NumPy's results, scalars included, as arrays on the device."""
    if isinstance(result, (np.ndarray, np.generic)):
        refuse_while_captured("an allocation")
        counts["arrays"] += 1
        return ndarray(np.asarray(result))
    if isinstance(result, (tuple, list)):
        return tuple(map(wrap, result))
    return result


class Device:
    """The one device."""

    attributes = {  # noqa: RUF012
        "MultiProcessorCount": 2,
        "MaxThreadsPerMultiProcessor": 256,
        "MaxRegistersPerMultiprocessor": 65536,
        "MaxSharedMemoryPerBlockOptin": 64 * 1024,
    }

    def __init__(self, number: int = 0) -> None:
        if number != 0:
            raise RuntimeError("cudaErrorInvalidDevice: invalid device ordinal")
        self.id = number

    def synchronize(self) -> None:
        refuse_while_captured("a wait")

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


class Stream:
    """A stream; while it is captured, what would be queued is kept, and nothing may be waited for."""

    captured: list[Callable[[], None]] | None = None

    def __init__(self, *, non_blocking: bool = False) -> None:
        pass

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, 0)

    def begin_capture(self) -> None:
        Stream.captured = []

    def end_capture(self) -> Graph:
        assert Stream.captured is not None
        graph, Stream.captured = Graph(Stream.captured), None
        return graph

    def synchronize(self) -> None:
        refuse_while_captured("a wait")


class Event:
    """A point in time."""

    def record(self) -> None:
        refuse_while_captured("an event of another stream")
        self.time = time.perf_counter()

    def synchronize(self) -> None:
        refuse_while_captured("a wait")


class Graph:
    """Work that was captured."""

    def __init__(self, work: list[Callable[[], None]]) -> None:
        self.work = work

    def launch(self, stream: Stream) -> None:
        for item in self.work:
            item()


def submit(item: Callable[[], None]) -> None:
    """Do what CuPy would queue, or keep it where the stream is captured."""
    if Stream.captured is None:
        item()
    else:
        Stream.captured.append(item)


def refuse_while_captured(what: str) -> None:
    """Fail as CUDA does for what cannot be part of a graph."""
    if Stream.captured is not None:
        raise RuntimeError(f"cudaErrorStreamCaptureUnsupported: {what} while a stream is captured")


PROPERTIES = {"name": b"stand-in", "multiProcessorCount": 2, "totalGlobalMem": 2**30, "l2CacheSize": 2**20}


class RawModule:
    """Kernels compiled for the host."""

    def __init__(self, *, code: str, options: tuple[str, ...], name_expressions: tuple[str, ...]) -> None:
        self.code = code

    def get_function(self, name: str) -> RawKernel:
        return RawKernel(self.code, name)


class RawKernel:
    """A kernel that runs on the host, its threads in the order of `seed`."""

    num_regs = 40
    seed = 0

    def __init__(self, code: str, name: str) -> None:
        self.library, self.name = compile_kernels(code, [name]), name
        self.max_dynamic_shared_size_bytes = 48 * 1024

    def __call__(self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0) -> None:
        assert shared_mem <= self.max_dynamic_shared_size_bytes
        for argument in args:  # CuPy passes NumPy arrays by value only where they hold one item
            assert not isinstance(argument, np.ndarray) or argument.size == 1
        submit(
            lambda: self.library.launch(
                self.name, grid, block, args, shared_bytes=shared_mem, seed=RawKernel.seed
            )
        )


class Generator:
    """Random numbers on the device."""

    def __init__(self, seed: int) -> None:
        self._host = np.random.default_rng(seed)

    def random(self, size: Any) -> ndarray:
        return wrap(self._host.random(size))

    def integers(self, low: int, high: int, size: Any) -> ndarray:
        return wrap(self._host.integers(low, high, size))


def asarray(array: Any, dtype: Any = None, order: str | None = None) -> ndarray:
    """Return an array on the device; NumPy arrays are copied to it."""
    if hasattr(array, "__cuda_array_interface__") and not isinstance(array, ndarray):  # shares the memory
        return ndarray(np.asarray(SimpleNamespace(__array_interface__=array.__cuda_array_interface__)))
    if isinstance(array, ndarray):
        return (
            array
            if dtype in (None, array.dtype) and order is None
            else array.astype(dtype, order=order or "K")
        )
    return wrap(np.array(array, dtype, order=order or "K"))


def make_module() -> ModuleType:
    """Return the module that takes the place of CuPy."""
    module = ModuleType("cupy")
    for name in FUNCTIONS:
        setattr(module, name, function_of(getattr(np, name)))
    module.__dict__.update(
        ndarray=ndarray,
        asarray=asarray,
        array=asarray,
        from_dlpack=lambda item: ndarray(item.__dlpack__()),
        asnumpy=lambda array: array.get(),
        RawModule=RawModule,
        cuda=SimpleNamespace(
            Device=Device,
            Event=Event,
            Stream=Stream,
            get_current_stream=Stream,
            get_elapsed_time=lambda before, after: 1e3 * (after.time - before.time),
            is_available=lambda: True,
            memory=SimpleNamespace(OutOfMemoryError=MemoryError),
            runtime=SimpleNamespace(driverGetVersion=lambda: 0, getDeviceProperties=lambda _: PROPERTIES),
        ),
        linalg=SimpleNamespace(
            **{
                name: function_of(getattr(np.linalg, name))
                for name in ("norm", "eigh", "pinv", "qr", "solve", "svd")
            }
        ),
        random=SimpleNamespace(default_rng=Generator),
        RawKernel=RawKernel,
        get_default_memory_pool=lambda: SimpleNamespace(free_all_blocks=lambda: None),
        __version__="stand-in",
    )
    return module


def function_of(function: Any) -> Any:
    """Return a function or method of NumPy with the keywords that CuPy has, from stand-ins to stand-ins."""
    name = function.__name__

    def call(*args: Any, **kwargs: Any) -> Any:
        foreign = set(kwargs) - set(KEYWORDS[name].split()) if name in KEYWORDS else set()
        if foreign:
            raise TypeError(f"{name}() got an unexpected keyword argument {foreign.pop()!r}")
        if kwargs.get("kind") not in (None, "stable"):
            raise ValueError("kind can only be None or 'stable'")
        return wrap(function(*map(unwrap, args), **unwrap(kwargs)))

    return _Ufunc(function, call) if isinstance(function, np.ufunc) else call


class _Ufunc:
    def __init__(self, ufunc: np.ufunc, call: Callable[..., Any]) -> None:
        self.ufunc, self.call = ufunc, call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)

    def at(self, array: ndarray, places: ndarray, values: ndarray) -> None:
        self.ufunc.at(array._host, unwrap(places), unwrap(values))

"""What LLVM can do and Numba does not offer: moving bits by one instruction, and rows as vectors.

Addresses are uint64 numbers. Constants, such as the length of a row, are literal arguments: the loops over
them are unrolled into straight code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

_BYTES_AT_ONCE = 256
"""Bytes of a row that are worked on together: four of the widest registers."""

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_ELEMENTS = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}

_BYTES = {ir.FloatType(): 4, ir.DoubleType(): 8}

Builder = Any
Typing = tuple[Any, Callable[..., Any]]


@intrinsic
def pext(typing_context: Any, word: Any, mask: Any) -> Typing:
    """Gather the bits of `word` that `mask` selects into the low bits: BMI2."""
    return types.uint64(types.uint64, types.uint64), _bmi2("pext")


@intrinsic
def pdep(typing_context: Any, bits: Any, mask: Any) -> Typing:
    """Spread the low bits of `bits` to the places that `mask` selects: BMI2."""
    return types.uint64(types.uint64, types.uint64), _bmi2("pdep")


def _bmi2(name: str) -> Callable[..., Any]:
    def generate(context: Any, builder: Builder, signature: Any, arguments: Any) -> Any:
        function = ir.FunctionType(_I64, [_I64, _I64])
        instruction = builder.module.declare_intrinsic(f"llvm.x86.bmi.{name}.64", (), function)
        return builder.call(instruction, arguments)

    return generate


@intrinsic(prefer_literal=True)
def add_product(
    typing_context: Any, target: Any, value: Any, bases: Any, coords: Any, stride: Any, width: Any
) -> Typing:
    """Add the value times the product of one row of each factor to the row at the address `target`.

    The row of factor k begins at ``bases[k] + coords[k + 1] * stride``; the first coordinate is that of the
    target. Rows are `width` bytes of numbers of the type of `value`.
    """
    return _row_update(target, value, bases, coords, stride, width, _add)


@intrinsic(prefer_literal=True)
def add_product_atomically(
    typing_context: Any, target: Any, value: Any, bases: Any, coords: Any, stride: Any, width: Any
) -> Typing:
    """Do what `add_product` does, each number of the row by an atomic addition."""
    return _row_update(target, value, bases, coords, stride, width, _add_atomically)


@intrinsic(prefer_literal=True)
def add_ratio(
    typing_context: Any, target: Any, value: Any, smallest: Any, bases: Any, coords: Any, stride: Any
) -> Typing:
    """Add a product of rows, times the value over what the model has, to the row at the address `target`.

    The product is that of one row of each factor but the first. What the model has is the sum of the product
    of the rows of all factors, or `smallest` where that is larger. The row of factor k begins at
    ``bases[k] + coords[k] * stride`` and is `stride` bytes of numbers of the type of `value`.
    """
    return _ratio_update(target, value, smallest, bases, coords, stride, _add)


@intrinsic(prefer_literal=True)
def add_ratio_atomically(
    typing_context: Any, target: Any, value: Any, smallest: Any, bases: Any, coords: Any, stride: Any
) -> Typing:
    """Do what `add_ratio` does, each number of the row by an atomic addition."""
    return _ratio_update(target, value, smallest, bases, coords, stride, _add_atomically)


@intrinsic(prefer_literal=True)
def sum_of_product(typing_context: Any, one: Any, bases: Any, coords: Any, stride: Any, width: Any) -> Typing:
    """Return the sum of the elementwise product of one row of each factor, of the type of `one`.

    The row of factor k begins at ``bases[k] + coords[k] * stride``. The order of summation is LLVM's.
    """

    def generate(context: Any, builder: Builder, signature: Any, arguments: Any) -> Any:
        _, base_addresses, coordinates, *_ = arguments
        rows = [_row(builder, base_addresses, coordinates, k, k, stride) for k in range(len(bases))]
        element, nbytes = _ELEMENTS[one], one.bitwidth // 8
        total = ir.Constant(element, 0.0)
        for start, vector in _vectors(element, width.literal_value, nbytes):
            loaded = [builder.load(_pointer(builder, row, start, vector), align=nbytes) for row in rows]
            total = _add_sum(builder, total, reduce(builder.fmul, loaded))
        return total

    return one(one, bases, coords, stride, width), generate


def _add_sum(builder: Builder, total: Any, vector: Any) -> Any:
    """Return a number plus the sum of a vector, in whatever order is quickest."""
    kind = vector.type
    function = ir.FunctionType(kind.element, [kind.element, kind])
    name = f"llvm.vector.reduce.fadd.v{kind.count}f{8 * _BYTES[kind.element]}"
    instruction = cgutils.get_or_insert_function(builder.module, function, name)
    return builder.call(instruction, [total, vector], fastmath=("reassoc",))


def _add(builder: Builder, pointer: Any, product: Any) -> None:
    """Add a vector to that in memory, which need not begin at a multiple of more than a number."""
    nbytes = _BYTES[product.type.element]
    loaded = builder.load(pointer, align=nbytes)
    builder.store(builder.fadd(loaded, product), pointer, align=nbytes)


def _add_atomically(builder: Builder, pointer: Any, product: Any) -> None:
    first = builder.bitcast(pointer, product.type.element.as_pointer())
    for lane in range(product.type.count):
        address = builder.gep(first, [_I32(lane)])
        number = builder.extract_element(product, _I32(lane))
        builder.atomic_rmw("fadd", address, number, "monotonic")


def _row(builder: Builder, bases: Any, coords: Any, factor: int, mode: int, stride: Any) -> Any:
    """Return the address of the row of a factor that the coordinate of a mode selects."""
    offset = builder.mul(builder.extract_value(coords, mode), _I64(stride.literal_value))
    return builder.add(builder.extract_value(bases, factor), offset)


def _row_update(
    target: Any,
    value: Any,
    bases: Any,
    coords: Any,
    stride: Any,
    width: Any,
    store: Callable[..., None],
) -> Typing:
    def generate(context: Any, builder: Builder, signature: Any, arguments: Any) -> Any:
        target_address, number, base_addresses, coordinates, *_ = arguments
        rows = [
            _row(builder, base_addresses, coordinates, factor, factor + 1, stride)
            for factor in range(len(bases))
        ]
        for start, vector in _vectors(_ELEMENTS[value], width.literal_value, value.bitwidth // 8):
            product = _splat(builder, number, vector)
            for row in rows:
                factor_row = builder.load(_pointer(builder, row, start, vector), align=value.bitwidth // 8)
                product = builder.fmul(product, factor_row)
            store(builder, _pointer(builder, target_address, start, vector), product)
        return context.get_dummy_value()

    return types.void(target, value, bases, coords, stride, width), generate


def _ratio_update(
    target: Any, value: Any, smallest: Any, bases: Any, coords: Any, stride: Any, store: Callable[..., None]
) -> Typing:
    def generate(context: Any, builder: Builder, signature: Any, arguments: Any) -> Any:
        target_address, number, least, base_addresses, coordinates, *_ = arguments
        element, nbytes = _ELEMENTS[value], value.bitwidth // 8
        own, *others = (_row(builder, base_addresses, coordinates, k, k, stride) for k in range(len(bases)))
        one, total = ir.Constant(element, 1.0), ir.Constant(element, 0.0)
        products = []
        for start, vector in _vectors(element, stride.literal_value, nbytes):
            product = _splat(builder, one, vector)
            for row in others:
                loaded = builder.load(_pointer(builder, row, start, vector), align=nbytes)
                product = builder.fmul(product, loaded)
            own_row = builder.load(_pointer(builder, own, start, vector), align=nbytes)
            total = _add_sum(builder, total, builder.fmul(product, own_row))
            products.append((start, vector, product))
        is_larger = builder.fcmp_unordered(">", total, least)  # what is no number stays none
        ratio = builder.fdiv(number, builder.select(is_larger, total, least))
        for start, vector, product in products:
            pointer = _pointer(builder, target_address, start, vector)
            store(builder, pointer, builder.fmul(product, _splat(builder, ratio, vector)))
        return context.get_dummy_value()

    return types.void(target, value, smallest, bases, coords, stride), generate


def _vectors(element: Any, width: int, element_bytes: int) -> Iterator[tuple[int, Any]]:
    """Yield the pieces of a row: the byte where each begins, and its vector type."""
    for start in range(0, width, _BYTES_AT_ONCE):
        count = min(width - start, _BYTES_AT_ONCE) // element_bytes
        yield start, ir.VectorType(element, count)


def _pointer(builder: Builder, address: Any, offset: int, vector: Any) -> Any:
    return builder.inttoptr(builder.add(address, _I64(offset)), vector.as_pointer())


def _splat(builder: Builder, number: Any, vector: Any) -> Any:
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, number, _I32(0))
    zeros = ir.Constant(ir.VectorType(_I32, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, zeros)

"""Types, constants and structured control flow of LLVM IR."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

from llvmlite import ir

from gpuregress.virtual_gpu.ptx.modifiers import BITS
from gpuregress.virtual_gpu.ptx.tree import Float, Integer

# --- types ------------------------------------------------------------------------------------------------------------


I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
F32, F64 = ir.FloatType(), ir.DoubleType()
POINTER = ir.PointerType()

_SLOTS = "slots"
_FLOATS: dict[str, ir.Type] = {"f32": F32, "f64": F64}


def llvm_type(name: str) -> ir.Type:
    """The LLVM type of a PTX type.

    Raises:
        KeyError: no such type.
    """
    return _FLOATS.get(name) or ir.IntType(BITS[name])


def width(type_: ir.Type) -> int:
    """Bits of an LLVM scalar type."""
    if isinstance(type_, ir.IntType):
        return int(type_.width)
    return 32 if isinstance(type_, ir.FloatType) else 64


def constant(operand: Integer | Float, type_: ir.Type) -> ir.Constant:
    """A constant operand in an LLVM type: an integer for a float type gives that number, a float its bits or value."""
    if isinstance(operand, Integer):
        if isinstance(type_, ir.IntType):
            return ir.Constant(type_, operand.value & (1 << type_.width) - 1)
        return _float(float(operand.value), type_)
    if isinstance(type_, ir.IntType):
        return ir.Constant(type_, operand.bits & (1 << type_.width) - 1)
    if width(type_) == operand.width:
        return _from_bits(operand.bits, type_)
    form = "<d" if operand.width == 64 else "<f"
    (value,) = struct.unpack(form, operand.bits.to_bytes(operand.width // 8, "little"))
    return _float(value, type_)


def _float(value: float, type_: ir.Type) -> ir.Constant:
    form = "<f" if width(type_) == 32 else "<d"
    return _from_bits(int.from_bytes(struct.pack(form, value), "little"), type_)


def _from_bits(bits: int, type_: ir.Type) -> ir.Constant:
    # A bitcast of the bits: a NaN's payload would not survive the way through a Python float.
    return ir.Constant(ir.IntType(width(type_)), bits).bitcast(type_)


def convert(builder: ir.IRBuilder, value: ir.Value, to: ir.Type, *, signed: bool = False) -> ir.Value:
    """The same bits in another type: a bitcast, and a truncation or extension where widths differ."""
    if value.type == to:
        return value
    have, want = width(value.type), width(to)
    if not isinstance(value.type, ir.IntType):
        value = builder.bitcast(value, ir.IntType(have))
    if have > want:
        value = builder.trunc(value, ir.IntType(want))
    elif have < want:
        extend = builder.sext if signed else builder.zext
        value = extend(value, ir.IntType(want))
    return value if value.type == to else builder.bitcast(value, to)


# --- constants, pointers and control flow -----------------------------------------------------------------------------
# Structured control flow for hand-written IR: mutable variables, counted loops, while loops.


class Cell:
    """A mutable variable: a stack slot that LLVM turns into a register.

    Args:
        builder: where the first value is set; the slot itself is made in the function's first block. The methods work
            there too, unless they are given another builder.
        initial: its first value.
    """

    def __init__(self, builder: ir.IRBuilder, initial: ir.Value) -> None:
        self._builder = builder
        self._type = initial.type
        self._slot = entry_alloca(builder.function, self._type)
        builder.store(initial, self._slot)

    def get(self, builder: ir.IRBuilder | None = None) -> ir.Value:
        """Its value now."""
        return (builder or self._builder).load(self._slot, typ=self._type)

    def set(self, value: ir.Value, builder: ir.IRBuilder | None = None) -> None:
        """Set its value."""
        (builder or self._builder).store(value, self._slot)

    def add(self, value: ir.Value, builder: ir.IRBuilder | None = None) -> None:
        """Add to it."""
        where = builder or self._builder
        self.set(where.add(self.get(where), value), where)

    def set_bits(self, value: ir.Value) -> None:
        """Set further bits in it."""
        self.set(self._builder.or_(self.get(), value))


def open_function(function: ir.Function) -> ir.IRBuilder:
    """Start a function's body."""
    return ir.IRBuilder(function.append_basic_block("entry"))


def entry_alloca(function: ir.Function, type_: ir.Type, *, align: int = 0) -> ir.Value:
    """A stack slot of a function whose body is started: in a block of its own, since no other builder is there."""
    first = function.entry_basic_block
    if first.name != _SLOTS:
        body, first = first, function.insert_basic_block(0, _SLOTS)
        ir.IRBuilder(first).branch(body)
    builder = ir.IRBuilder()
    builder.position_at_start(first)
    slot = builder.alloca(type_)
    slot.type = POINTER
    if align:
        slot.align = align
    return slot


def stack_words(builder: ir.IRBuilder, values: Sequence[ir.Value]) -> ir.Value:
    """Store 64-bit values on the stack, one after the other; return a pointer to the first."""
    words = entry_alloca(builder.function, ir.ArrayType(I64, max(1, len(values))), align=8)
    for index, value in enumerate(values):
        builder.store(value, at(builder, words, 8 * index))
    return words


_Function = TypeVar("_Function", bound=Callable[..., Any])
Build: TypeAlias = Callable[[ir.IRBuilder, tuple[ir.Value, ...]], ir.Value | None]
"""Builds a subroutine's body from its arguments; gives its result."""
_MANY_CALLS, _LARGE = 16, 60
"""Calls of a subroutine, and LLVM instructions in it, from which on it is not inlined: an unrolled loop has hundreds of
asynchronous copies, and LLVM's time grows faster than the code."""
_calls: WeakKeyDictionary[ir.Function, int] = WeakKeyDictionary()


def private_function(
    module: ir.Module, name: str, result: ir.Type | None, parameters: Sequence[ir.Type], build: Build
) -> ir.Function:
    """A private function of a module that is about to be called: for sequences too long to repeat at each use.

    Args:
        module: of the caller.
        name: of all that the code depends on.
        result: the type of its result; None where it has none.
        parameters: types of its parameters.
        build: builds it, on first use.
    """
    function = module.globals.get(name)
    if function is None:
        function = ir.Function(module, ir.FunctionType(result or ir.VoidType(), parameters), name)
        function.linkage = "internal"
        function.attributes.add("nounwind")
        b = open_function(function)
        answer = build(b, tuple(function.args))
        if answer is not None:
            b.ret(answer)
        elif not b.block.is_terminated:
            b.ret_void()
    calls = _calls[function] = _calls.get(function, 0) + 1
    is_called_often = calls == _MANY_CALLS and "alwaysinline" not in function.attributes
    if is_called_often and sum(len(block.instructions) for block in function.blocks) > _LARGE:
        function.attributes.add("noinline")
    return function


def subroutine(
    name: str | Callable[..., str], result: ir.Type | None = None, attributes: Sequence[str] = ()
) -> Callable[[_Function], _Function]:
    """Make of a function that builds code one that calls a private function with that code; see `private_function`.

    The values after the builder are the parameters; what stands before it, or has a keyword, is for building alone.

    Args:
        name: of the subroutine, or what makes it of the arguments that are for building alone.
        result: the type of its result, which the function returns; None where it has none.
        attributes: LLVM's, beside `nounwind`.
    """

    def decorate(build: _Function) -> _Function:
        @wraps(build)
        def call(*given: Any, **known: Any) -> Any:
            place = next(index for index, item in enumerate(given) if isinstance(item, ir.IRBuilder))
            caller, values = given[place], given[place + 1 :]
            own_name = name if isinstance(name, str) else name(*given[:place], **known)

            def body(b: ir.IRBuilder, arguments: tuple[ir.Value, ...]) -> ir.Value | None:
                for attribute in attributes:
                    b.function.attributes.add(attribute)
                answer: ir.Value | None = build(*given[:place], b, *arguments, **known)
                return answer

            types = [POINTER if value.type.is_pointer else value.type for value in values]
            return caller.call(private_function(caller.module, own_name, result, types, body), values)

        return cast("_Function", call)

    return decorate


@contextmanager
def counted(builder: ir.IRBuilder, end: ir.Value) -> Iterator[ir.Value]:
    """Run the body for 0, 1, … up to `end` (exclusive)."""
    index = Cell(builder, ir.Constant(end.type, 0))
    head, body = builder.append_basic_block("head"), builder.append_basic_block("body")
    after = builder.append_basic_block("after")
    builder.branch(head)
    builder.position_at_end(head)
    builder.cbranch(builder.icmp_unsigned("<", index.get(), end), body, after)
    builder.position_at_end(body)
    yield index.get()
    index.add(ir.Constant(end.type, 1))
    builder.branch(head)
    builder.position_at_end(after)


@contextmanager
def while_nonzero(builder: ir.IRBuilder, cell: Cell) -> Iterator[ir.Value]:
    """Run the body as long as the variable is not 0."""
    head, body = builder.append_basic_block("head"), builder.append_basic_block("body")
    after = builder.append_basic_block("after")
    builder.branch(head)
    builder.position_at_end(head)
    value = cell.get()
    builder.cbranch(builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0)), body, after)
    builder.position_at_end(body)
    yield value
    builder.branch(head)
    builder.position_at_end(after)


def i32(value: int) -> ir.Constant:
    """A 32-bit constant."""
    return ir.Constant(I32, value & 0xFFFF_FFFF)


def i64(value: int) -> ir.Constant:
    """A 64-bit constant."""
    return ir.Constant(I64, value & (1 << 64) - 1)


def at(builder: ir.IRBuilder, base: ir.Value, offset: ir.Value | int) -> ir.Value:
    """Return a pointer `offset` bytes after another."""
    if isinstance(offset, int):
        if offset == 0:
            return base
        offset = i64(offset)
    return builder.gep(base, [offset], source_etype=I8)


def call_intrinsic(builder: ir.IRBuilder, name: str, result: ir.Type, *arguments: ir.Value) -> ir.Value:
    """Call an LLVM intrinsic by its full name (`llvm.fma.f32`), declaring it on first use."""
    function = builder.module.globals.get(name)
    if function is None:
        types = [argument.type for argument in arguments]
        function = ir.Function(builder.module, ir.FunctionType(result, types), name)
    return builder.call(function, arguments)


def fill_memory(builder: ir.IRBuilder, start: ir.Value, byte: int, count: ir.Value) -> None:
    """Fill memory with a byte."""
    name, void = "llvm.memset.p0.i64", ir.VoidType()
    call_intrinsic(builder, name, void, start, ir.Constant(I8, byte), count, ir.Constant(I1, 0))


def copy_memory(builder: ir.IRBuilder, target: ir.Value, source: ir.Value, count: ir.Value) -> None:
    """Copy bytes to memory that does not overlap them."""
    call_intrinsic(builder, "llvm.memcpy.p0.p0.i64", ir.VoidType(), target, source, count, ir.Constant(I1, 0))


def element(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, type_: ir.Type) -> ir.Value:
    """A pointer to an array's element."""
    return builder.gep(base, [index], source_etype=type_)

"""Arithmetic of f16 and bf16, single and packed: add sub mul fma neg abs min max ex2 tanh.

A result is computed in a wider format and rounded once: f32 holds enough of f16's sums and products (2 * 11 + 2 bits),
f64 of bf16's, and for fma f64 rounded to odd. Every NaN result is 0x7fff.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from gpuregress.virtual_gpu.builder.emit import Emit, Lowering, by_halves, read_all
from gpuregress.virtual_gpu.builder.structured import F32, I16
from gpuregress.virtual_gpu.isa.arithmetic import special_function_unit
from gpuregress.virtual_gpu.isa.arithmetic.ieee754 import (
    BF16,
    F16,
    Format,
    flush,
    flush_bits,
    is_tiny,
    relu,
    round_to,
    round_to_odd_sum,
    saturate,
    widen,
    widen_to_double,
)
from gpuregress.virtual_gpu.ptx.modifiers import type_of, unsupported
from gpuregress.virtual_gpu.ptx.tree import Instruction

# One 16-bit operation: operands' bits in, the result's bits out.
_Scalar = Callable[[list[ir.Value]], ir.Value]


def format_of(type_name: str) -> Format:
    """The format of `f16`, `f16x2`, `bf16`, `bf16x2`."""
    return BF16 if type_name.startswith("bf16") else F16


def _each(emit: Emit, instruction: Instruction, operation: _Scalar) -> None:
    """Apply a 16-bit operation to the operands, or to both of their halves."""
    type_name = type_of(instruction)
    operands = read_all(emit, instruction, type_name)
    if "ftz" in instruction.modifiers and instruction.opcode != "ex2":
        operands = _flushed(emit, operands, type_name)
    if not type_name.endswith("x2"):
        emit.write(instruction.operands[0], operation(operands), type_name)
        return
    result = by_halves(emit, lambda *parts: operation(list(parts)), *operands)
    emit.write(instruction.operands[0], result, type_name)


def _flushed(emit: Emit, operands: list[ir.Value], type_name: str) -> list[ir.Value]:
    def flush_one(bits: ir.Value) -> ir.Value:
        return flush_bits(emit, bits, format_of(type_name))

    if type_name.endswith("x2"):
        return [by_halves(emit, flush_one, item) for item in operands]
    return [flush_one(item) for item in operands]


def _rounded(emit: Emit, instruction: Instruction, exact: ir.Value) -> ir.Value:
    """Round a result from a wider format to its bits, with `.sat`, `.relu` and `.ftz`."""
    builder, form = emit.builder, format_of(type_of(instruction))
    if "sat" in instruction.modifiers:
        exact = saturate(emit, exact)
    if "relu" in instruction.modifiers:
        exact = relu(emit, exact)
    bits = round_to(emit, exact, form, "rn")
    if "ftz" not in instruction.modifiers:
        return bits
    tiny = is_tiny(emit, exact, "rn", form.smallest_normal, form.mantissa + 1)
    return builder.select(tiny, builder.and_(bits, I16(0x8000)), bits)


def _wide(emit: Emit, instruction: Instruction, operands: list[ir.Value]) -> list[ir.Value]:
    form = format_of(type_of(instruction))
    widened = widen if form is F16 and instruction.opcode != "fma" else widen_to_double
    return [widened(emit, operand, form) for operand in operands]


def _arithmetic(emit: Emit, instruction: Instruction) -> None:
    builder = emit.builder
    method = {"add": builder.fadd, "sub": builder.fsub, "mul": builder.fmul}[instruction.opcode]
    _each(
        emit,
        instruction,
        lambda operands: _rounded(emit, instruction, method(*_wide(emit, instruction, operands))),
    )


def _fma(emit: Emit, instruction: Instruction) -> None:
    if "oob" in instruction.modifiers:
        raise unsupported(instruction, "out-of-bounds NaNs are not implemented")

    def fused(operands: list[ir.Value]) -> ir.Value:
        a, b, c = _wide(emit, instruction, operands)
        return _rounded(emit, instruction, round_to_odd_sum(emit, emit.builder.fmul(a, b), c))

    _each(emit, instruction, fused)


def _is_nan(emit: Emit, bits: ir.Value, form: Format) -> ir.Value:
    size = emit.builder.and_(bits, I16(0x7FFF))
    assert form.infinity is not None
    return emit.builder.icmp_unsigned(">", size, I16(form.infinity))


def _signs(emit: Emit, instruction: Instruction) -> None:
    """`abs`, `neg`: the hardware adds -0, so that a NaN comes out as the one NaN."""
    builder, form = emit.builder, format_of(type_of(instruction))

    def change(operands: list[ir.Value]) -> ir.Value:
        (a,) = operands
        changed = builder.and_(a, I16(0x7FFF)) if instruction.opcode == "abs" else builder.xor(a, I16(0x8000))
        return builder.select(_is_nan(emit, a, form), I16(form.nan), changed)

    _each(emit, instruction, change)


def _extreme(emit: Emit, instruction: Instruction) -> None:
    """`min`, `max`: -0 is below +0; a NaN loses, or wins under `.NaN`."""
    builder, form = emit.builder, format_of(type_of(instruction))
    modifiers = instruction.modifiers

    def pick(operands: list[ir.Value]) -> ir.Value:
        a, b = operands
        sign = builder.and_(builder.xor(a, b), I16(0x8000))
        a_nan, b_nan = _is_nan(emit, a, form), _is_nan(emit, b, form)
        if "xorsign" in modifiers:
            a, b = builder.and_(a, I16(0x7FFF)), builder.and_(b, I16(0x7FFF))
        # Sign and magnitude put in the order of two's complement: -0 next below +0.
        less = builder.icmp_signed("<", _ordered(emit, a), _ordered(emit, b))
        first = less if instruction.opcode == "min" else builder.not_(less)
        chosen = builder.select(first, a, b)
        chosen = builder.select(a_nan, b, builder.select(b_nan, a, chosen))
        if "xorsign" in modifiers:
            chosen = builder.or_(chosen, sign)
        is_nan = builder.or_(a_nan, b_nan) if "NaN" in modifiers else builder.and_(a_nan, b_nan)
        return builder.select(is_nan, I16(form.nan), chosen)

    _each(emit, instruction, pick)


def _ordered(emit: Emit, bits: ir.Value) -> ir.Value:
    """An i16 that compares, signed, as the number of these bits does."""
    builder = emit.builder
    negative = builder.ashr(bits, I16(15))
    return builder.xor(bits, builder.and_(negative, I16(0x7FFF)))


def _unit(emit: Emit, instruction: Instruction) -> None:
    """`ex2.approx`, `tanh.approx`: the single-precision unit's result, cut off; over the range it is infinite.

    As the conformance recording has it.
    """
    builder, form = emit.builder, format_of(type_of(instruction))
    function = special_function_unit.ex2_f32 if instruction.opcode == "ex2" else special_function_unit.tanh_f32
    flushed = "ftz" in instruction.modifiers

    def apply(operands: list[ir.Value]) -> ir.Value:
        value = widen(emit, operands[0], form)
        if flushed:
            value = flush(emit, value)
        result = function(emit, value)
        if form is F16:
            beyond = builder.fcmp_ordered(">=", result, F32(65536.0))
            result = builder.select(beyond, F32(float("inf")), result)
        bits = round_to(emit, result, form, "rz")
        if flushed:
            bits = flush_bits(emit, bits, form)
        return bits

    _each(emit, instruction, apply)


TABLE: dict[str, Lowering] = {
    "add": _arithmetic,
    "sub": _arithmetic,
    "mul": _arithmetic,
    "fma": _fma,
    "abs": _signs,
    "neg": _signs,
    "min": _extreme,
    "max": _extreme,
    "ex2": _unit,
    "tanh": _unit,
}

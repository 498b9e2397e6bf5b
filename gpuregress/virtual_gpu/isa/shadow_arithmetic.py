"""Arithmetic of shadow values, in double or double-double.

A shadow of f32, f16 and bf16 is a double, that of f64 a double-double. The approximate instructions (`ex2.approx`, …)
are the exact functions here, as the processor's mathematical library rounds them. Minimum and maximum follow the
original. Where a launch asks for it, the instruction's own rounding error is added to the shadow of its result.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import F64, I64, at, convert, i64, llvm_type
from gpuregress.virtual_gpu.isa import double_double
from gpuregress.virtual_gpu.isa.arithmetic.half import format_of
from gpuregress.virtual_gpu.isa.arithmetic.ieee754 import widen_to_double
from gpuregress.virtual_gpu.ptx.modifiers import BITS
from gpuregress.virtual_gpu.ptx.tree import Float, Instruction, Operand, Register, Vector
from gpuregress.virtual_gpu.runtime.probe_sites import Lines

DIGITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}
"""Kind of a register → bits of its significand."""
Shadow = tuple[ir.Value, ir.Value]
"""The two parts of a shadow; the second one is 0 unless it belongs to an f64."""
_ZERO = F64(0.0)


def bits(emitter: Services, operand: Operand, kind: str) -> ir.Value:
    """The bits of an operand, as an integer of its width."""
    type_name = f"b{BITS[kind]}"
    if isinstance(operand, Float) and operand.width != BITS[kind]:
        return convert(emitter.builder, emitter.read(operand, kind), llvm_type(type_name))
    return emitter.read(operand, type_name)


def widened(emitter: Services, operand: Operand, kind: str) -> ir.Value:
    """The value of an operand as a double."""
    raw = bits(emitter, operand, kind)
    if kind in ("f16", "bf16"):
        return widen_to_double(emitter, raw, format_of(kind))
    value = convert(emitter.builder, raw, llvm_type(kind))
    if kind != "f64":
        value = emitter.builder.fpext(value, F64)
    return value


def write(emitter: Services, target: Vector, value: Shadow) -> None:
    """Set the registers of a shadow."""
    for register, part in zip(target.elements, value, strict=False):
        emitter.write(register, part, "f64")


def _read(emitter: Services, operand: Operand, kind: str) -> tuple[Shadow, ir.Value]:
    """The shadow of a source, and its value as a double; a constant is its own shadow."""
    if not isinstance(operand, Vector):
        value = widened(emitter, operand, kind)
        return (value, _ZERO), value
    *shadow, original = operand.elements
    value = widened(emitter, original, kind)
    parts = [emitter.read(part, "f64") for part in shadow]
    return (parts[0], parts[1] if parts[1:] else _ZERO), value


def _intrinsic(name: str) -> Callable[[Services, list[ir.Value]], ir.Value]:
    return lambda emitter, x: emitter.intrinsic(f"llvm.{name}.f64", F64, *x)


def _tanh(emitter: Services, x: list[ir.Value]) -> ir.Value:
    return emitter.intrinsic("tanh", F64, *x)


_PLAIN: dict[str, Callable[[Services, list[ir.Value]], ir.Value]] = {
    "add": lambda e, x: e.builder.fadd(x[0], x[1]),
    "sub": lambda e, x: e.builder.fsub(x[0], x[1]),
    "mul": lambda e, x: e.builder.fmul(x[0], x[1]),
    "fma": _intrinsic("fma"),
    "mad": _intrinsic("fma"),
    "div": lambda e, x: e.builder.fdiv(x[0], x[1]),
    "rcp": lambda e, x: e.builder.fdiv(F64(1.0), x[0]),
    "sqrt": _intrinsic("sqrt"),
    "rsqrt": lambda e, x: e.builder.fdiv(F64(1.0), _intrinsic("sqrt")(e, x)),
    "sin": _intrinsic("sin"),
    "cos": _intrinsic("cos"),
    "lg2": _intrinsic("log2"),
    "ex2": _intrinsic("exp2"),
    "tanh": _tanh,
}
_SIGNS = ("abs", "neg", "copysign")
_EXTREMES = {"min": "<", "max": ">"}
OPERATIONS = frozenset([*_PLAIN, *_SIGNS, *_EXTREMES])
"""Opcodes of floating-point arithmetic that have a shadow."""
NARROW_ONLY = frozenset(_PLAIN) - frozenset(double_double.OPERATIONS)
"""Those that have none for f64."""


def _exact(emitter: Services, instruction: Instruction, sources: list[Shadow]) -> Shadow:
    """The result in higher precision."""
    operation, kind = instruction.modifiers[:2]
    b = emitter.builder
    if operation in ("abs", "neg", "copysign"):
        return _signed(emitter, operation, sources)
    if operation == "convert":
        result = sources[0] if kind == "f64" else (sources[0][0], _ZERO)
    elif kind == "f64":
        result = double_double.compute(emitter, operation, sources)
    else:
        result = (_PLAIN[operation](emitter, [source[0] for source in sources]), _ZERO)
    for word, order, bound in (("sat", "<", 0.0), ("relu", "<", 0.0), ("sat", ">", 1.0)):
        if word in instruction.modifiers:
            beyond = b.fcmp_ordered(order, result[0], F64(bound))
            result = b.select(beyond, F64(bound), result[0]), b.select(beyond, _ZERO, result[1])
    return result


def _signed(emitter: Services, operation: str, sources: list[Shadow]) -> Shadow:
    b, (high, low) = emitter.builder, sources[-1]
    if operation == "neg":
        return b.fneg(high), b.fneg(low)
    sign = sources[0][0] if operation == "copysign" else F64(1.0)
    wanted = _intrinsic("copysign")(emitter, [high, sign])
    same = b.fcmp_unordered("==", wanted, high)
    return wanted, b.select(same, low, b.fneg(low))


def _lower(emitter: Services, instruction: Instruction) -> None:
    """Lower an operation: the shadow of the result, the result, then each source as {shadow, value} or a constant."""
    operation, kind = instruction.modifiers[:2]
    if operation in ("restart", "lost"):
        _count_loss(emitter, instruction)
    if operation == "lost":
        return
    target, original = instruction.operands[:2]
    assert isinstance(target, Vector)
    if operation in ("value", "restart"):
        write(emitter, target, (widened(emitter, original, kind), _ZERO))
        return
    source_kind = instruction.modifiers[2] if operation == "convert" else kind
    read = [_read(emitter, item, source_kind) for item in instruction.operands[2:]]
    shadows, values = [shadow for shadow, _ in read], [value for _, value in read]
    if operation in _EXTREMES:
        write(emitter, target, _picked(emitter, _EXTREMES[operation], shadows, values))
        return
    exact = _exact(emitter, instruction, shadows)
    from_values = _exact(emitter, instruction, [(value, _ZERO) for value in values])
    if operation in _SIGNS:
        write(emitter, target, exact)
        return
    result = widened(emitter, original, kind)
    site = emitter.unit.probe("rounding", emitter.function.name, emitter.index, lines_of(instruction))
    if operation in ("add", "sub", "fma", "mad"):
        _note_cancellation(emitter, kind, site.first, _terms(emitter, operation, values), result, exact[0])
    write(emitter, target, _rounded(emitter, site.first, exact, from_values, result))


def _count_loss(emitter: Services, instruction: Instruction) -> None:
    """Count an execution of an instruction at which shadows are lost; its mnemonic is the last word."""
    mnemonic = instruction.modifiers[-1]
    site = emitter.unit.probe("restart", emitter.function.name, emitter.index, lines_of(instruction), note=mnemonic)
    _add(emitter, site.first, i64(1))


def _picked(emitter: Services, order: str, shadows: list[Shadow], values: list[ir.Value]) -> Shadow:
    b = emitter.builder
    first = b.or_(b.fcmp_ordered(order, *values), b.fcmp_unordered("uno", values[1], values[1]))
    high, low = (b.select(first, left, right) for left, right in zip(*shadows, strict=True))
    return high, low


def _rounded(emitter: Services, site: int, exact: Shadow, from_values: Shadow, result: ir.Value) -> Shadow:
    """The exact result, plus the rounding error of this instruction where the launch asks for it.

    Its error is the difference between its result and the exact one from the same operands.
    """
    b = emitter.builder
    asked = b.load(at(b, emitter.view.pointer("counters"), 8 * site), typ=I64)
    error = b.fsub(b.fsub(result, from_values[0]), from_values[1])
    is_finite = b.fcmp_ordered("<", emitter.intrinsic("llvm.fabs.f64", F64, error), F64(float("inf")))
    error = b.select(b.and_(is_finite, b.icmp_unsigned("!=", asked, i64(0))), error, _ZERO)
    high, low = double_double.compute(emitter, "add", [exact, (error, _ZERO)])
    return high, low


def _terms(emitter: Services, operation: str, values: list[ir.Value]) -> list[ir.Value]:
    terms = values
    if operation not in ("add", "sub"):
        terms = [emitter.builder.fmul(values[0], values[1]), values[2]]
    return [emitter.intrinsic("llvm.fabs.f64", F64, term) for term in terms]


def _note_cancellation(
    emitter: Services, kind: str, site: int, terms: list[ir.Value], result: ir.Value, exact: ir.Value
) -> None:
    """Count a sum far smaller than its terms whose relative error is as much larger than the terms' precision.

    A third of the digits must be lost, and show in the error: a difference of exact terms is exact.
    """
    b, digits = emitter.builder, DIGITS[kind]
    larger = b.select(b.fcmp_ordered(">", *terms), *terms)
    size = emitter.intrinsic("llvm.fabs.f64", F64, result)
    error = emitter.intrinsic("llvm.fabs.f64", F64, b.fsub(result, exact))
    least = 2.0 ** (digits // 3)
    is_small = b.fcmp_ordered("<=", b.fmul(size, F64(least)), larger)
    reference = emitter.intrinsic("llvm.fabs.f64", F64, exact)
    shows = b.fcmp_ordered(">", error, b.fmul(reference, F64(least * 2.0**-digits)))
    with b.if_then(b.and_(is_small, shows), likely=False):
        _add(emitter, site + 1, i64(1))
        exponents = [b.lshr(b.bitcast(value, I64), i64(52)) for value in (larger, size)]
        lost = b.sub(*exponents)
        lost = b.select(b.icmp_unsigned("<", lost, i64(digits)), lost, i64(digits))
        where = at(b, emitter.view.pointer("counters"), 8 * (site + 2))
        before = b.load(where, typ=I64)
        b.store(b.select(b.icmp_unsigned(">", lost, before), lost, before), where)


def _add(emitter: Services, counter: int, amount: ir.Value) -> None:
    b = emitter.builder
    where = at(b, emitter.view.pointer("counters"), 8 * counter)
    b.store(b.add(b.load(where, typ=I64), amount), where)


def lines_of(instruction: Instruction) -> Lines:
    """The source lines of an instruction, as a probe names them."""
    return (instruction.source.places,) if instruction.source is not None else ()


def shadow_of(name: str, kind: str) -> tuple[Register, ...]:
    """The registers of the shadow of a register."""
    high, low = Register(f"{name}$high"), Register(f"{name}$low")
    return (high, low) if kind == "f64" else (high,)


TABLE = {"%shadow": _lower}

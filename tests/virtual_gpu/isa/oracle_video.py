"""The oracle's scalar video instructions on Python's integers: the PTX ISA manual's pseudo code, but for what the

assembler's instructions for it do otherwise on an H200 (tests/conformance/README.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpuregress.virtual_gpu.ptx.tree import Instruction, Minus, Operand, Register, Selected

SCALAR = frozenset(["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vmad", "vset"])
_SPANS = {"b0": (0, 8), "b1": (8, 8), "b2": (16, 8), "b3": (24, 8), "h0": (0, 16), "h1": (16, 16)}


def scalar_video(ins: Instruction, registers: Mapping[str, int]) -> tuple[str, int]:
    """The register that an instruction sets, and its bits."""
    target = ins.operands[0]
    part = target.part if isinstance(target, Selected) else ""
    register = target.register if isinstance(target, Selected) else target
    assert isinstance(register, Register)
    if ins.opcode == "vmad":
        return register.name, _multiplied(ins, registers) & 0xFFFFFFFF
    kinds = (ins.modifiers[0], *ins.modifiers[:2]) if ins.opcode == "vset" else ins.modifiers[:3]
    a, b = (_extended(ins.operands[1 + index], kinds[1 + index], registers) for index in range(2))
    first, bits = _SPANS.get(part, (0, 32))
    value = _saturated(ins, _primary(ins, a, b), bits, signed=kinds[0][0] == "s")
    if len(ins.operands) == 3:
        return register.name, value & 0xFFFFFFFF
    if part:
        field = ((1 << bits) - 1) << first
        placed = value if part == "h1" else value << first
        return register.name, placed & field | _extended(ins.operands[3], "u32", registers) & ~field
    c = _extended(ins.operands[3], kinds[0], registers)
    second = {
        "add": value + c,
        "min": _chosen(ins, kinds[0], min, value, c),
        "max": _chosen(ins, kinds[0], max, value, c),
    }
    return register.name, next(second[word] for word in ins.modifiers if word in second) & 0xFFFFFFFF


def _saturated(ins: Instruction, value: int, bits: int, *, signed: bool) -> int:
    if "sat" not in ins.modifiers:
        return value
    if ins.opcode in ("vshl", "vshr"):
        return _clamp(_wrapped(value, 34), 32, signed=signed)
    top = (1 << bits - signed) - 1
    if bits < 32:
        return value if 0 <= value <= top else top
    return _clamp(value, 32, signed=True) if signed else max(value, 0)


def _chosen(ins: Instruction, kind: str, choose: Callable[[int, int], int], value: int, c: int) -> int:
    """`.min` or `.max`: of 64 bits, unsigned if the target is."""
    if ins.opcode in ("vadd", "vsub") or ("sat" in ins.modifiers and ins.opcode in ("vshl", "vshr")):
        value = _wrapped(value, 32)
    value = _wrapped(value, 64)
    return choose(value, c) if kind[0] == "s" else choose(value % (1 << 64), c)


def _wrapped(value: int, bits: int) -> int:
    """The lowest bits as a signed number."""
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def _primary(ins: Instruction, a: int, b: int) -> int:
    if ins.opcode in ("vshl", "vshr"):
        count = b % 32 if "wrap" in ins.modifiers else min(b, 32)
        return a << count if ins.opcode == "vshl" else a >> count
    if ins.opcode == "vset":
        order = ins.modifiers[2]
        return int({"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[order])
    results = {"vadd": a + b, "vsub": a - b, "vabsdiff": abs(a - b), "vmin": min(a, b), "vmax": max(a, b)}
    return results[ins.opcode]


def _multiplied(ins: Instruction, registers: Mapping[str, int]) -> int:
    negative = [isinstance(operand, Minus) for operand in ins.operands]
    turned = negative[1] ^ negative[2]
    signed = "s32" in ins.modifiers[1:3] or turned or negative[3]
    total = _wrapped(_extended(ins.operands[1], ins.modifiers[1], registers), 32)
    total *= _wrapped(_extended(ins.operands[2], ins.modifiers[2], registers), 32)
    c = _extended(ins.operands[3], "s32", registers)
    # The manual negates by inverting and adding one.
    total = (~total if turned else total) + (~c if negative[3] else c)
    total += turned or negative[3] or "po" in ins.modifiers
    scale = [int(word[3:]) for word in ins.modifiers if word.startswith("shr")]
    if scale:
        total = (total if signed else total % (1 << 64)) >> scale[0]
    return _clamp(total, 32, signed=signed) if "sat" in ins.modifiers else total


def _clamp(value: int, bits: int, *, signed: bool) -> int:
    if signed:
        return max(-(1 << bits - 1), min((1 << bits - 1) - 1, value))
    return max(0, min((1 << bits) - 1, value))


def _extended(operand: Operand, kind: str, registers: Mapping[str, int]) -> int:
    """Byte, half or word of a register as its type sees it."""
    if isinstance(operand, Minus):
        operand = operand.operand
    first, bits = _SPANS[operand.part] if isinstance(operand, Selected) else (0, 32)
    register = operand.register if isinstance(operand, Selected) else operand
    assert isinstance(register, Register)
    field = registers[register.name] >> first & (1 << bits) - 1
    return field - (1 << bits) if kind[0] == "s" and field >> bits - 1 else field

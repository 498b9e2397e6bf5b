"""The oracle's integer instructions: arithmetic, bit fields, logic, shifts, permutation."""

from __future__ import annotations

from collections.abc import Callable

from gpuregress.virtual_gpu.ptx.tree import Instruction
from tests.virtual_gpu.isa.oracle import bits_of, mask, number, signed


def integer(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    if ins.opcode[0] == "v":
        return _video(ins, values)
    handler = globals().get(f"_{ins.opcode}")
    if handler:
        result: tuple[int, str] = handler(ins, kind, values)
        return result
    x = [number(value, kind) for value in values]
    if ins.opcode in ("shl", "shr"):
        count = values[1] & 0xFFFFFFFF
        return (x[0] << min(count, 64) if ins.opcode == "shl" else x[0] >> min(count, 64)), kind
    simple: dict[str, Callable[[], int]] = {
        "abs": lambda: abs(x[0]),
        "neg": lambda: -x[0],
        "and": lambda: x[0] & x[1],
        "or": lambda: x[0] | x[1],
        "xor": lambda: x[0] ^ x[1],
        "not": lambda: ~x[0],
        "cnot": lambda: int(x[0] == 0),
        "sad": lambda: x[2] + abs(x[0] - x[1]),
        "popc": x[0].bit_count,
        "clz": lambda: bits_of(kind) - x[0].bit_length(),
        "brev": lambda: int(format(x[0], f"0{bits_of(kind)}b")[::-1], 2),
    }
    return simple[ins.opcode](), "u32" if ins.opcode in ("popc", "clz") else kind


def _clamped(value: int, kind: str) -> int:
    bits = bits_of(kind)
    return max(-(1 << (bits - 1)), min((1 << (bits - 1)) - 1, value))


def _add(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    a, b = (number(value, kind) for value in values)
    total = a + b if ins.opcode == "add" else a - b
    return (_clamped(total, kind) if "sat" in ins.modifiers else total), kind


_sub = _add


def _multiplied(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    product = number(values[0], kind) * number(values[1], kind)
    if "wide" in ins.modifiers:
        return product, f"{kind[0]}{2 * bits_of(kind)}"
    return number(product >> (bits_of(kind) if "hi" in ins.modifiers else 0), kind), kind


def _mul(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    return _multiplied(ins, kind, values)


def _mad(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    product, result_kind = _multiplied(ins, kind, values)
    total = product + number(values[2], result_kind)
    return (_clamped(total, kind) if "sat" in ins.modifiers else total), result_kind


def _mul24(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    a, b = (signed(v & 0xFFFFFF, 24) if kind[0] == "s" else v & 0xFFFFFF for v in values[:2])
    product = number(a * b >> (16 if "hi" in ins.modifiers else 0), kind)
    if ins.opcode == "mul24":
        return product, kind
    total = product + number(values[2], kind)
    return (_clamped(total, kind) if "sat" in ins.modifiers else total), kind


_mad24 = _mul24


def _div(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    a, b = (number(value, kind) for value in values)
    if b == 0:
        return mask(kind), kind
    quotient = abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)
    return (quotient if ins.opcode == "div" else a - b * quotient), kind


_rem = _div


def _min(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    x = [number(value, kind) for value in values]
    chosen = min(x) if ins.opcode == "min" else max(x)
    return (max(chosen, 0) if "relu" in ins.modifiers else chosen), kind


_max = _min


def _bfind(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    a = number(values[0], kind)
    top = (~a if a < 0 else a).bit_length() - 1
    if top < 0:
        return 0xFFFFFFFF, "u32"
    return (bits_of(kind) - 1 - top if "shiftamt" in ins.modifiers else top), "u32"


def _bfe(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    """Bit by bit, as the manual writes it."""
    counts = 0xFF if bits_of(kind) == 32 else 0xFFFFFFFF  # ptxas's 64-bit code sees all of the counts
    a, position, length = values[0] & mask(kind), values[1] & counts, values[2] & counts
    msb = bits_of(kind) - 1
    fill = 0 if kind[0] == "u" or length == 0 else a >> min(position + length - 1, msb) & 1
    result = 0
    for bit in range(msb + 1):
        inside = bit < length and position + bit <= msb
        result |= (a >> (position + bit) & 1 if inside else fill) << bit
    return result, kind


def _bfi(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    counts = 0xFF if bits_of(kind) == 32 else 0xFFFFFFFF
    a, result, position, length = values[0], values[1] & mask(kind), values[2] & counts, values[3] & counts
    for bit in range(min(length, bits_of(kind))):
        if position + bit < bits_of(kind):
            at = 1 << (position + bit)
            result = result & ~at | (at if a >> bit & 1 else 0)
    return result, kind


def _bmsk(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    start, count = (v & 31 if "wrap" in ins.modifiers else v & 0xFFFFFFFF for v in values)
    return sum(1 << bit for bit in range(32) if start <= bit < start + count), kind


def _szext(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    count = values[1] & 31 if "wrap" in ins.modifiers else min(values[1] & 0xFFFFFFFF, 32)
    kept = values[0] & ((1 << count) - 1)
    return (signed(kept, count) if kind == "s32" and count else kept), kind


def _fns(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    bits, base, offset = values[0], values[1], signed(values[2], 32)
    if offset == -(1 << 31):
        return 0, kind
    if base > 31:
        return 0xFFFFFFFF, kind
    if offset == 0:
        return (base if bits >> base & 1 else 0xFFFFFFFF), kind
    places = range(base, 32) if offset > 0 else range(base, -1, -1)
    actual = [at for at in places if bits >> at & 1]
    return (actual[abs(offset) - 1] if len(actual) >= abs(offset) else 0xFFFFFFFF), kind


def _fields(value: int, bits: int, kind: str) -> list[int]:
    parts = [value >> bit & ((1 << bits) - 1) for bit in range(0, 32, bits)]
    return [signed(part, bits) if kind[0] == "s" else part for part in parts]


def _dp4a(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    x, y = ins.modifiers[-2:]
    pairs = zip(_fields(values[0], 8, x), _fields(values[1], 8, y), strict=True)
    return values[2] + sum(a * b for a, b in pairs), "b32"


def _dp2a(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    x, y = ins.modifiers[-2:]
    chosen = _fields(values[1], 8, y)[2:] if "hi" in ins.modifiers else _fields(values[1], 8, y)[:2]
    return values[2] + sum(a * b for a, b in zip(_fields(values[0], 16, x), chosen, strict=True)), "b32"


def _shf(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    a, b, count = values
    count = count & 31 if "wrap" in ins.modifiers else min(count, 32)
    if "l" in ins.modifiers:
        return b << count | a >> (32 - count), kind
    return b << (32 - count) | a >> count, kind


def _prmt(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    a, b, control = values
    data = [(b << 32 | a) >> 8 * at & 0xFF for at in range(8)]
    low = control & 3
    tables = {
        "f4e": [(low + at) for at in range(4)],
        "b4e": [(low - at) % 8 for at in range(4)],
        "rc8": [low] * 4,
        "ecl": [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]][low],
        "ecr": [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]][low],
        "rc16": [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]][low],
    }
    if ins.modifiers[-1] in tables:
        chosen = [data[index] for index in tables[ins.modifiers[-1]]]
    else:
        nibbles = [control >> 4 * at & 15 for at in range(4)]
        chosen = [(data[n & 7] >> 7) * 0xFF if n & 8 else data[n] for n in nibbles]
    return sum(byte << 8 * at for at, byte in enumerate(chosen)), "b32"


# --- SIMD video ---


def _video(ins: Instruction, values: list[int]) -> tuple[int, str]:
    name, bits = ins.opcode[:-1], 32 // int(ins.opcode[-1])
    kinds = ins.modifiers[1:3] if name != "vset" else ins.modifiers[:2]
    target = ins.modifiers[0] if name != "vset" else "u32"
    lanes = []
    for a, b in zip(_fields(values[0], bits, kinds[0]), _fields(values[1], bits, kinds[1]), strict=True):
        result = {
            "vadd": a + b,
            "vsub": a - b,
            "vavrg": (a + b + (a + b >= 0)) >> 1,
            "vabsdiff": abs(a - b),
            "vmin": min(a, b),
            "vmax": max(a, b),
        }.get(name, 0)
        if name == "vset":
            order = ins.modifiers[2]
            result = {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[order] * 1
        if "sat" in ins.modifiers:
            result = _clamped(result, f"s{bits}") if target[0] == "s" else max(0, min((1 << bits) - 1, result))
        lanes.append(result)
    if "add" in ins.modifiers:
        return values[2] + sum(lanes), "b32"
    return sum((lane & ((1 << bits) - 1)) << at * bits for at, lane in enumerate(lanes)), "b32"

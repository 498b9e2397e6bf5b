"""What an instruction does, in plain Python integers and fractions: slow, and nothing of the lowering in it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from fractions import Fraction

from gpuregress.virtual_gpu.ptx.tree import Float, Instruction, Integer, Negated, Operand, Pair, Register, Sink
from tests.virtual_gpu.isa import exact
from tests.virtual_gpu.isa.exact import FORMS, Num, decode, encode
from tests.virtual_gpu.isa.harness import parse
from tests.virtual_gpu.isa.oracle_video import SCALAR, scalar_video

_PAIRS = {"f16x2": "f16", "bf16x2": "bf16", "u16x2": "u16", "s16x2": "s16"}
_BITS = {"pred": 1, "f16": 16, "bf16": 16, "f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "tf32": 32}
_BITS |= {"e4m3x2": 16, "e5m2x2": 16}
_ROUNDINGS = ("rn", "rz", "rm", "rp")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_BOOLEAN: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}


@functools.cache
def bits_of(kind: str) -> int:
    return _BITS.get(kind) or int(kind[1:])


def mask(kind: str) -> int:
    return (1 << bits_of(kind)) - 1


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def number(value: int, kind: str) -> int:
    """Bits as the integer a type sees."""
    value &= mask(kind)
    return signed(value, bits_of(kind)) if kind[0] == "s" else value


class Oracle:
    """Registers as bits, and a carry flag."""

    def __init__(self, registers: Mapping[str, int]) -> None:
        self.registers = dict(registers)
        self.carry = 0

    def run(self, text: str) -> dict[str, int]:
        for line in text.splitlines():
            self.step(parse(line))
        return self.registers

    def bits(self, operand: Operand) -> int:
        if isinstance(operand, Register):
            return self.registers[operand.name]
        if isinstance(operand, Negated):
            return 1 - self.registers[operand.operand.name]
        if isinstance(operand, Float):
            return operand.bits
        assert isinstance(operand, Integer)
        return operand.value

    def put(self, operand: Operand, value: int, kind: str) -> None:
        """Registers wider than the type get the sign, so all bits of a Python int are kept until they are read."""
        if isinstance(operand, Register):
            self.registers[operand.name] = number(value, kind)
        else:
            assert isinstance(operand, Sink)

    def step(self, ins: Instruction) -> None:
        if ins.opcode in SCALAR:
            name, result = scalar_video(ins, self.registers)
            self.registers[name] = result
            return
        special = getattr(self, f"_op_{ins.opcode}", None)
        kind = next(word for word in reversed(ins.modifiers) if word not in ("relu", "add", "sat", *_COMPARISONS))
        if special:
            special(ins)
        elif kind in _PAIRS:
            self._by_halves(ins, _PAIRS[kind])
        else:
            values = [self.bits(operand) for operand in ins.operands[1:]]
            result, result_kind = scalar(ins, kind, values)
            self.put(ins.operands[0], result, result_kind)

    def _by_halves(self, ins: Instruction, kind: str) -> None:
        values = [self.bits(operand) for operand in ins.operands[1:]]
        low, _ = scalar(ins, kind, [value & 0xFFFF for value in values])
        high, _ = scalar(ins, kind, [value >> 16 & 0xFFFF for value in values])
        self.put(ins.operands[0], low & 0xFFFF | (high & 0xFFFF) << 16, "b32")

    # --- carry chains ---

    def _chain(self, ins: Instruction, operation: Callable[..., int], *, carry: bool) -> None:
        kind = ins.modifiers[-1]
        values = [number(self.bits(operand), kind) for operand in ins.operands[1:]]
        values = [*values[:-1], values[-1] & mask(kind)]
        if ins.opcode[:3] != "mad":
            values[0] &= mask(kind)
        total = operation(*values, self.carry if carry else 0)
        if "cc" in ins.modifiers:
            self.carry = total >> bits_of(kind) & 1
        self.put(ins.operands[0], total, kind)

    def _op_add(self, ins: Instruction) -> None:
        if "cc" in ins.modifiers:
            self._chain(ins, lambda a, b, c: a + b + c, carry=False)
        else:
            self._plain(ins)

    def _op_sub(self, ins: Instruction) -> None:
        if "cc" in ins.modifiers:
            self._chain(ins, lambda a, b, c: a - b - c, carry=False)
        else:
            self._plain(ins)

    def _op_mad(self, ins: Instruction) -> None:
        if "cc" in ins.modifiers:
            self._chain(ins, self._mad_of(ins), carry=False)
        else:
            self._plain(ins)

    def _mad_of(self, ins: Instruction) -> Callable[..., int]:
        kind = ins.modifiers[-1]
        shift = bits_of(kind) if "hi" in ins.modifiers else 0
        return lambda a, b, c, carry: (a * b >> shift & mask(kind)) + c + carry

    def _op_addc(self, ins: Instruction) -> None:
        self._chain(ins, lambda a, b, c: a + b + c, carry=True)

    def _op_subc(self, ins: Instruction) -> None:
        self._chain(ins, lambda a, b, c: a - b - c, carry=True)

    def _op_madc(self, ins: Instruction) -> None:
        self._chain(ins, self._mad_of(ins), carry=True)

    def _plain(self, ins: Instruction) -> None:
        kind = ins.modifiers[-1]
        if kind in _PAIRS:
            self._by_halves(ins, _PAIRS[kind])
            return
        result, result_kind = scalar(ins, kind, [self.bits(operand) for operand in ins.operands[1:]])
        self.put(ins.operands[0], result, result_kind)

    # --- predicates ---

    def _op_lop3(self, ins: Instruction) -> None:
        a, b, c, truth = (self.bits(operand) for operand in ins.operands[1:5])
        value = 0
        for bit in range(32):
            row = (a >> bit & 1) * 4 + (b >> bit & 1) * 2 + (c >> bit & 1)
            value |= (truth >> row & 1) << bit
        destination = ins.operands[0]
        if isinstance(destination, Pair):
            self.put(destination.first, value, "b32")
            joined = _BOOLEAN[ins.modifiers[0]](int(value != 0), self.bits(ins.operands[5]))
            self.put(destination.second, joined, "pred")
        else:
            self.put(destination, value, "b32")

    def _outcomes(self, ins: Instruction, kind: str) -> list[int]:
        a, b = self.bits(ins.operands[1]), self.bits(ins.operands[2])
        flush = "ftz" in ins.modifiers
        if kind in _PAIRS:
            lanes = [(a & 0xFFFF, b & 0xFFFF), (a >> 16 & 0xFFFF, b >> 16 & 0xFFFF)]
            return [ordered(ins.modifiers[0], x, y, _PAIRS[kind], flush=flush) for x, y in lanes]
        return [ordered(ins.modifiers[0], a, b, kind, flush=flush)]

    def _joined(self, ins: Instruction, outcome: int) -> int:
        if len(ins.operands) < 4:
            return outcome
        word = next(word for word in ins.modifiers if word in _BOOLEAN)
        return _BOOLEAN[word](outcome, self.bits(ins.operands[3]))

    def _op_setp(self, ins: Instruction) -> None:
        outcomes = self._outcomes(ins, ins.modifiers[-1])
        destination = ins.operands[0]
        if not isinstance(destination, Pair):
            self.put(destination, self._joined(ins, outcomes[0]), "pred")
            return
        second = outcomes[1] if len(outcomes) == 2 else 1 - outcomes[0]
        self.put(destination.first, self._joined(ins, outcomes[0]), "pred")
        self.put(destination.second, self._joined(ins, second), "pred")

    def _op_set(self, ins: Instruction) -> None:
        target, source = ins.modifiers[-2:]
        ones = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}
        true = ones.get(target, mask(target))
        values = [true if self._joined(ins, outcome) else 0 for outcome in self._outcomes(ins, source)]
        self.put(ins.operands[0], values[0] | (values[1] << 16 if len(values) > 1 else 0), f"b{bits_of(target)}")

    def _op_selp(self, ins: Instruction) -> None:
        a, b, p = (self.bits(operand) for operand in ins.operands[1:])
        self.put(ins.operands[0], a if p else b, f"b{bits_of(ins.modifiers[-1])}")

    def _op_slct(self, ins: Instruction) -> None:
        a, b, c = (self.bits(operand) for operand in ins.operands[1:])
        if ins.modifiers[-1] == "s32":
            first = signed(c, 32) >= 0
        else:
            value = decode(c, "f32", flush="ftz" in ins.modifiers)
            first = not value.is_nan and (not value.negative or value.size == 0)
        self.put(ins.operands[0], a if first else b, f"b{bits_of(ins.modifiers[-2])}")

    def _op_testp(self, ins: Instruction) -> None:
        word, kind = ins.modifiers
        value, form = decode(self.bits(ins.operands[1]), kind), FORMS[kind]
        size = value.size
        answer = {
            "finite": size is not None,
            "infinite": value.infinite,
            "number": not value.is_nan,
            "notanumber": value.is_nan,
            "normal": size is not None and (size >= form.normal or size == 0),
            "subnormal": size is not None and 0 < size < form.normal,
        }[word]
        self.put(ins.operands[0], int(answer), "pred")

    def _op_cvt(self, ins: Instruction) -> None:
        from tests.virtual_gpu.isa.oracle_convert import convert  # noqa: PLC0415 - it builds on this module

        values = [self.bits(operand) for operand in ins.operands[1:]]
        result, kind = convert(ins, values)
        self.put(ins.operands[0], result, kind)


def ordered(order: str, a: int, b: int, kind: str, *, flush: bool = False) -> int:
    """A comparison's outcome, 0 or 1."""
    if kind in FORMS:
        outcome = exact.compare(decode(a, kind, flush=flush), decode(b, kind, flush=flush))
        if order in ("num", "nan"):
            return int((outcome is None) == (order == "nan"))
        if outcome is None:
            return int(len(order) == 3)
        order = order[:2]
    else:
        x, y = number(a, kind), number(b, kind)
        outcome = (x > y) - (x < y)
        order = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(order, order)
    wanted = {"eq": (0,), "ne": (-1, 1), "lt": (-1,), "le": (-1, 0), "gt": (1,), "ge": (0, 1)}
    return int(outcome in wanted[order])


def scalar(ins: Instruction, kind: str, values: list[int]) -> tuple[int, str]:
    """A result and its type, for all that reads operands of one type."""
    if kind in FORMS:
        return floating(ins, kind, values), f"b{bits_of(kind)}"
    from tests.virtual_gpu.isa.oracle_integer import integer  # noqa: PLC0415 - it builds on this module

    return integer(ins, kind, values)


# --- floating point ---


def floating(ins: Instruction, kind: str, values: list[int]) -> int:
    words, opcode = ins.modifiers, ins.opcode
    rounding = next((word for word in words if word in _ROUNDINGS), "rn")
    flush = "ftz" in words
    if opcode == "copysign":
        sign = FORMS[kind].sign
        return values[0] & sign | values[1] & (sign - 1)
    numbers = [decode(value, kind, flush=flush) for value in values]
    if opcode in ("min", "max"):
        return _extreme(ins, kind, values, numbers)
    result = _compute(opcode, numbers, rounding)
    if kind == "f64" and result.is_nan:
        order = {1: (0,), 2: (0, 1) if opcode == "div" else (1, 0), 3: (1, 2, 0)}[len(values)]
        return next((values[position] | 1 << 51 for position in order if numbers[position].is_nan), FORMS[kind].nan)
    if "sat" in words:
        result = exact.saturate(result)
    if "relu" in words:
        result = exact.relu(result)
    return encode(result, kind, rounding, flush=flush)


def _compute(opcode: str, numbers: list[Num], rounding: str) -> Num:
    one = Num(False, Fraction(1))
    if opcode == "add":
        return exact.add(numbers[0], numbers[1], rounding)
    if opcode == "sub":
        return exact.add(numbers[0], exact.negate(numbers[1]), rounding)
    if opcode == "mul":
        return exact.multiply(*numbers)
    if opcode in ("fma", "mad"):
        return exact.add(exact.multiply(*numbers[:2]), numbers[2], rounding)
    if opcode == "div":
        return exact.divide(*numbers)
    if opcode == "rcp":
        return exact.divide(one, numbers[0])
    if opcode == "sqrt":
        return exact.root(numbers[0])
    if opcode == "abs":
        return Num(False, numbers[0].size, numbers[0].is_nan)
    assert opcode == "neg", opcode
    return exact.negate(numbers[0])


def _extreme(ins: Instruction, kind: str, values: list[int], numbers: list[Num]) -> int:
    form, words = FORMS[kind], ins.modifiers
    sign = (values[0] ^ values[1]) & form.sign if "xorsign" in words else 0
    if "xorsign" in words:
        numbers = [Num(False, n.size, n.is_nan) for n in numbers]
    nans = [n.is_nan for n in numbers]
    if all(nans) or (any(nans) and "NaN" in words):
        return values[1] | 1 << 51 if kind == "f64" else form.nan
    if any(nans):
        return encode(numbers[nans.index(False)], kind) | sign
    outcome = exact.compare(*numbers)
    if outcome == 0:  # -0 is below +0
        outcome = int(numbers[1].negative) - int(numbers[0].negative)
    first = (outcome or 0) <= 0 if ins.opcode == "min" else (outcome or 0) >= 0
    return encode(numbers[0 if first else 1], kind) | sign

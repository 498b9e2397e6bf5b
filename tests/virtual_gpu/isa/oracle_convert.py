"""The oracle's cvt."""

from __future__ import annotations

from fractions import Fraction

from gpuregress.virtual_gpu.ptx.tree import Instruction
from tests.virtual_gpu.isa import exact
from tests.virtual_gpu.isa.exact import FORMS, Num, decode, encode
from tests.virtual_gpu.isa.oracle import bits_of, mask, number

_WHOLE = ("rni", "rzi", "rmi", "rpi")
_FLOATS = ("f16", "bf16", "f32", "f64")


def convert(ins: Instruction, values: list[int]) -> tuple[int, str]:
    words = ins.modifiers
    if words[0] == "pack":
        return _pack(words[2], values), "b32"
    target, source = words[-2:]
    if source in ("e4m3x2", "e5m2x2"):
        bytes_ = (values[0] & 0xFF, values[0] >> 8 & 0xFF)
        return _joined([_small(ins, decode(byte, source[:4]), target[:-2]) for byte in bytes_], 16), "b32"
    if target in ("e4m3x2", "e5m2x2"):
        numbers = [decode(v, "f32") for v in reversed(values)]
        if source != "f32":
            numbers = [decode(v, "f16") for v in (values[0] & 0xFFFF, values[0] >> 16)]
        return _joined([_small(ins, n, target[:4]) for n in numbers], 8), "b16"
    if target in ("f16x2", "bf16x2"):
        return _joined([_small(ins, decode(v, "f32"), target[:-2]) for v in reversed(values)], 16), "b32"
    if target == "tf32":
        return _tf32(ins, values[0]), "b32"
    if source in _FLOATS:
        value = decode(values[0], source, flush="ftz" in words and source == "f32")
        if target in _FLOATS:
            return _between(ins, value, values[0]), f"b{bits_of(target)}"
        return _to_integer(ins, value), target
    x = number(values[0], source)
    if target in _FLOATS:
        return _small(ins, Num(x < 0, Fraction(abs(x))), target), f"b{bits_of(target)}"
    if "sat" in words:
        x = _limited(x, target)
    return x, target


def _limited(x: int, target: str) -> int:
    bits = bits_of(target)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if target[0] == "s" else (0, (1 << bits) - 1)
    return max(low, min(high, x))


def _pack(target: str, values: list[int]) -> int:
    bits = bits_of(target)
    a, b = (_limited(number(value, "s32"), target) & mask(target) for value in values[:2])
    above = values[2] if len(values) > 2 else 0
    return above << 2 * bits | a << bits | b


def _joined(parts: list[int], bits: int) -> int:
    return parts[0] | parts[1] << bits


def _small(ins: Instruction, value: Num, target: str) -> int:
    words = ins.modifiers
    if "sat" in words:
        value = exact.saturate(value)
    if "relu" in words:
        value = exact.relu(value)
    rounding = next((word for word in words if word in ("rn", "rz", "rm", "rp", "rna")), "rn")
    flush = "ftz" in words and target == "f32"
    return encode(value, target, rounding, finite="satfinite" in words, flush=flush)


def _tf32(ins: Instruction, bits: int) -> int:
    words = ins.modifiers
    value = decode(bits, "f32")
    if words[0] == "rna":
        cut = (bits + 0x1000 if value.size is not None else bits) & 0xFFFFE000
        over = cut & 0x7FFFFFFF >= 0x7F800000
        return cut - 0x2000 if "satfinite" in words and over else cut
    return _small(ins, value, "tf32") << 13


def _between(ins: Instruction, value: Num, bits: int) -> int:
    target, source = ins.modifiers[-2:]
    word = next((word for word in ins.modifiers if word in _WHOLE), None)
    if word:
        value = exact.whole(value, word)
    if value.is_nan and "sat" not in ins.modifiers and "relu" not in ins.modifiers:
        if target == "f32" and source == "bf16":
            return bits << 16
        if "f64" in (target, source):
            return _moved_nan(bits, source, target, ftz="ftz" in ins.modifiers)
    return _small(ins, value, target)


def _moved_nan(bits: int, source: str, target: str, *, ftz: bool) -> int:
    """A NaN to or from f64 keeps its sign and the top of its payload; under .ftz f32's is the one NaN first."""
    if ftz and source == "f32":
        return 0x7FFFFFFFE0000000
    form, to = FORMS[source], FORMS[target]
    fraction = bits & ((1 << form.mantissa) - 1)
    shift = to.mantissa - form.mantissa
    payload = fraction << shift if shift >= 0 else fraction >> -shift
    return (to.sign if bits & form.sign else 0) | to.infinity | payload | 1 << (to.mantissa - 1)


def _to_integer(ins: Instruction, value: Num) -> int:
    target, source = ins.modifiers[-2:]
    bits = bits_of(target)
    if value.is_nan:
        return 1 << (bits - 1) if bits == 64 or source == "f64" else 0
    word = next(word for word in ins.modifiers if word in _WHOLE)
    if value.size is None:
        return _limited(-(1 << 80) if value.negative else 1 << 80, target)
    return _limited(int(exact.whole(value, word).value), target)

"""Floating-point formats in exact rational arithmetic: what the oracle computes with."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt


@dataclass(frozen=True)
class Form:
    mantissa: int
    bias: int
    width: int
    nan: int

    @property
    def infinity(self) -> int:
        return (2 * self.bias + 1) << self.mantissa

    @property
    def sign(self) -> int:
        return 1 << (self.width - 1)

    @property
    def normal(self) -> Fraction:
        return power(1 - self.bias)


FORMS = {
    "f16": Form(10, 15, 16, 0x7FFF),
    "bf16": Form(7, 127, 16, 0x7FFF),
    "f32": Form(23, 127, 32, 0x7FFFFFFF),
    "f64": Form(52, 1023, 64, 0xFFF8000000000000),
    "tf32": Form(10, 127, 19, 0x3FFFF),
    "e5m2": Form(2, 15, 8, 0x7F),
    "e4m3": Form(3, 7, 8, 0x7F),
}


@dataclass(frozen=True)
class Num:
    """A number: `size` is None for an infinity; `nan` carries the operand's bits, or None for a new NaN."""

    negative: bool
    size: Fraction | None
    is_nan: bool = False

    @property
    def value(self) -> Fraction:
        assert self.size is not None
        return -self.size if self.negative else self.size

    @property
    def infinite(self) -> bool:
        return self.size is None and not self.is_nan


NAN = Num(negative=False, size=None, is_nan=True)


@functools.cache
def power(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


@functools.lru_cache(1 << 14)  # the edges of a type are operands of all its forms
def decode(bits: int, name: str, *, flush: bool = False) -> Num:
    form = FORMS[name]
    negative, size = bool(bits & form.sign), bits & (form.sign - 1)
    if name == "e4m3":
        if size == 0x7F:
            return NAN
    elif size > form.infinity:
        return NAN
    elif size == form.infinity:
        return Num(negative, None)
    field, fraction = size >> form.mantissa, size & ((1 << form.mantissa) - 1)
    if field == 0:
        value = fraction * power(1 - form.bias - form.mantissa)
        return Num(negative, Fraction(0) if flush else value)
    return Num(negative, (fraction + (1 << form.mantissa)) * power(field - form.bias - form.mantissa))


def _exponent(size: Fraction) -> int:
    """floor(log2(size))."""
    guess = size.numerator.bit_length() - size.denominator.bit_length()
    return guess if power(guess) <= size else guess - 1


def _up(rest: Fraction, rounding: str, *, odd: bool, negative: bool) -> bool:
    half = Fraction(1, 2)
    return {
        "rn": rest > half or (rest == half and odd),
        "rna": rest >= half,
        "rz": False,
        "rp": rest > 0 and not negative,
        "rm": rest > 0 and negative,
    }[rounding]


def _tiny(size: Fraction, form: Form, rounding: str, *, negative: bool) -> bool:
    """Whether a number stays below the normal range when it is rounded as if exponents went on for ever."""
    exponent = _exponent(size)
    steps = size / power(exponent - form.mantissa)
    whole = int(steps)
    whole += _up(steps - whole, rounding, odd=bool(whole & 1), negative=negative)
    return whole * power(exponent - form.mantissa) < form.normal


def encode(number: Num, name: str, rounding: str = "rn", *, flush: bool = False, finite: bool = False) -> int:
    form = FORMS[name]
    if number.is_nan:
        return form.nan
    sign = form.sign if number.negative else 0
    has_infinity = name != "e4m3"
    largest = form.infinity - 1 if has_infinity else 0x7E
    if number.size is None:
        return sign | (largest if finite or not has_infinity else form.infinity)
    if number.size == 0 or (flush and _tiny(number.size, form, rounding, negative=number.negative)):
        return sign
    exponent = max(_exponent(number.size), 1 - form.bias)
    steps = number.size / power(exponent - form.mantissa)
    whole = int(steps)
    whole += _up(steps - whole, rounding, odd=bool(whole & 1), negative=number.negative)
    code = ((exponent - (1 - form.bias)) << form.mantissa) + whole
    if code > largest:
        inward = (
            rounding == "rz" or (rounding == "rp" and number.negative) or (rounding == "rm" and not number.negative)
        )
        code = largest if finite or inward or not has_infinity else form.infinity
    return sign | code


def negate(a: Num) -> Num:
    return Num(not a.negative, a.size, a.is_nan)


def add(a: Num, b: Num, rounding: str) -> Num:
    if a.is_nan or b.is_nan or (a.infinite and b.infinite and a.negative != b.negative):
        return NAN
    if a.infinite or b.infinite:
        return a if a.infinite else b
    total = a.value + b.value
    if total == 0:
        same = a.negative == b.negative
        return Num(a.negative if same else rounding == "rm", Fraction(0))
    return Num(total < 0, abs(total))


def multiply(a: Num, b: Num) -> Num:
    negative = a.negative != b.negative
    if a.is_nan or b.is_nan or (a.infinite and b.size == 0) or (b.infinite and a.size == 0):
        return NAN
    if a.size is None or b.size is None:
        return Num(negative, None)
    return Num(negative, a.size * b.size)


def divide(a: Num, b: Num) -> Num:
    negative = a.negative != b.negative
    if a.is_nan or b.is_nan or (a.infinite and b.infinite) or (a.size == 0 and b.size == 0):
        return NAN
    if a.size is None or b.size == 0:
        return Num(negative, None)
    return Num(negative, Fraction(0) if b.size is None else a.size / b.size)


def root(a: Num) -> Num:
    """The square root to 120 bits and, where that is not all, a little more: rounding sees the right side."""
    if a.is_nan or (a.negative and a.size != 0):
        return NAN
    if a.size is None or a.size == 0:
        return a
    shift = 2 * (120 + a.size.denominator.bit_length())
    scaled = (a.size.numerator << shift) // a.size.denominator
    whole = isqrt(scaled)
    exact = whole * whole * a.size.denominator == a.size.numerator << shift
    return Num(False, (Fraction(whole) + (0 if exact else Fraction(1, 2))) * power(-shift // 2))


def whole(a: Num, rounding: str) -> Num:
    """A whole number under rni, rzi, rmi, rpi."""
    if a.size is None:
        return a
    floor = int(a.size)
    floor += _up(a.size - floor, rounding[:2], odd=bool(floor & 1), negative=a.negative)
    return Num(a.negative, Fraction(floor))


def saturate(a: Num) -> Num:
    if a.is_nan or a.negative:
        return Num(False, Fraction(0))
    return Num(False, Fraction(1) if a.size is None or a.size > 1 else a.size)


def relu(a: Num) -> Num:
    return Num(False, Fraction(0)) if a.negative and not a.is_nan else a


def compare(a: Num, b: Num) -> int | None:
    """-1, 0 or 1; None where one is a NaN."""
    if a.is_nan or b.is_nan:
        return None
    x, y = ((float("-inf") if n.negative else float("inf")) if n.size is None else n.value for n in (a, b))
    return (x > y) - (x < y)

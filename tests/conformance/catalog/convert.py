"""Every form of cvt."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tests.conformance.catalog.form import Form, form

_INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
_WHOLE = ("rni", "rzi", "rmi", "rpi")
_ROUNDINGS = ("rn", "rz", "rm", "rp")


def _register(kind: str, other: str) -> str:
    """The register type for a type beside another: eight-bit registers are there beside bf16 only."""
    if kind not in ("u8", "s8"):
        return kind
    return "b8" if other == "bf16" else f"{kind[0]}32"


def _one(target: str, source: str, *options: str) -> Form:
    words = ".".join(("cvt", *(option for option in options if option), target, source))
    return form(words, _register(target, source), _register(source, target))


def _can_saturate(target: str, source: str) -> bool:
    """Whether some value of the source lies outside the target's range; else ptxas refuses `.sat`."""
    bits, source_bits = int(target[1:]), int(source[1:])
    if source[0] == "u":
        return source_bits > bits - (target[0] == "s")
    return target[0] == "u" or source_bits > bits


def _between_integers() -> Iterator[Form]:
    for target, source in product(_INTEGERS, repeat=2):
        if target != source:
            yield _one(target, source)
            if _can_saturate(target, source):
                yield _one(target, source, "sat")


def _to_integers() -> Iterator[Form]:
    for source, target, rounding in product(("f16", "bf16", "f32", "f64"), _INTEGERS, _WHOLE):
        yield _one(target, source, rounding)
    for target, rounding in product(("s32", "u32", "s64", "u64"), _WHOLE):
        yield _one(target, "f32", rounding, "ftz")


def _from_integers() -> Iterator[Form]:
    for source, target, rounding in product(_INTEGERS, ("f16", "bf16", "f32", "f64"), _ROUNDINGS):
        yield _one(target, source, rounding)
    for source, target in product(("s32", "u64"), ("f16", "f32", "f64")):
        yield _one(target, source, "rn", "sat")


def _between_floats() -> Iterator[Form]:
    for kind in ("f16", "bf16", "f32", "f64"):
        for rounding in _WHOLE:
            yield _one(kind, kind, rounding)
            if kind in ("f32", "f64"):
                yield _one(kind, kind, rounding, "sat")
    for rounding in _WHOLE:
        yield _one("f32", "f32", rounding, "ftz")
    yield _one("f64", "f32")
    yield _one("f64", "f32", "ftz")
    yield _one("f64", "f32", "sat")
    for source in ("f16", "bf16"):
        yield _one("f32", source)
        yield _one("f64", source)
    yield _one("f32", "f16", "sat")
    yield _one("f32", "f32", "sat")
    yield _one("f32", "f32", "ftz")
    for rounding, option in product(_ROUNDINGS, ("", "ftz", "sat", "ftz.sat")):
        yield _one("f32", "f64", rounding, option)
    for source, target, rounding in product(("f32", "f64"), ("f16", "bf16"), _ROUNDINGS):
        yield _one(target, source, rounding)
    yield _one("f16", "f32", "rn", "sat")
    for rounding, target, option in product(("rn", "rz"), ("f16", "bf16"), ("relu", "satfinite", "relu.satfinite")):
        yield _one(target, "f32", rounding, option)
    yield _one("f16", "bf16", "rn")
    yield _one("bf16", "f16", "rn")


def _packed() -> Iterator[Form]:
    options = ("", ".relu", ".satfinite", ".relu.satfinite")
    for rounding, option, target in product(("rn", "rz"), options, ("f16x2", "bf16x2")):
        yield form(f"cvt.{rounding}{option}.{target}.f32", target, "f32", "f32")
    for option in ("rna", "rna.satfinite", "rn", "rz", "rn.relu", "rz.relu"):
        yield form(f"cvt.{option}.tf32.f32", "b32", "f32")
    for relu, kind in product(("", ".relu"), ("e4m3x2", "e5m2x2")):
        yield form(f"cvt.rn.satfinite{relu}.{kind}.f32", "b16", "f32", "f32")
        yield form(f"cvt.rn.satfinite{relu}.{kind}.f16x2", "b16", "f16x2")
        yield form(f"cvt.rn{relu}.f16x2.{kind}", "f16x2", "b16")
    for target in ("u16", "s16"):
        yield form(f"cvt.pack.sat.{target}.s32", "b32", "s32", "s32")
    for target in ("u8", "s8", "u4", "s4", "u2", "s2"):
        yield form(f"cvt.pack.sat.{target}.s32.b32", "b32", "s32", "s32", "b32")


def conversions() -> Iterator[Form]:
    """All forms of cvt."""
    yield from _between_integers()
    yield from _to_integers()
    yield from _from_integers()
    yield from _between_floats()
    yield from _packed()

"""Every form of the computing instructions: opcode, modifiers, types. The checklist and the conformance suite read it.

A form is a few lines of PTX over named registers: `%a %b %c %q` are inputs, `%d %e` outputs, `%t` is scratch. Types are
those of the registers; an eight-bit operand lives in a 32-bit register, as PTX has it. All forms assemble for sm_90
(ptxas 13.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tests.conformance.catalog.convert import conversions
from tests.conformance.catalog.form import Form, form

_INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
_WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
_LONG = ("u32", "s32", "u64", "s64")
_HALVES = ("f16", "f16x2", "bf16", "bf16x2")
_ROUNDINGS = ("rn", "rz", "rm", "rp")
_ORDERS = ("eq", "ne", "lt", "le", "gt", "ge")
_SECOND = ("add", "min", "max")
_FLOAT_ORDERS = (*_ORDERS, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")


def _integer() -> Iterator[Form]:
    for kind in _INTEGERS:
        for name in ("add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"):
            yield form(f"{name}.{kind}", kind, kind, kind)
        for name in ("mad.lo", "mad.hi", "sad"):
            yield form(f"{name}.{kind}", kind, kind, kind, kind)
        if kind in _WIDE:
            yield form(f"mul.wide.{kind}", _WIDE[kind], kind, kind)
            yield form(f"mad.wide.{kind}", _WIDE[kind], kind, kind, _WIDE[kind])
        if kind[0] == "s":
            yield form(f"abs.{kind}", kind, kind)
            yield form(f"neg.{kind}", kind, kind)
    for name in ("add.sat.s32", "sub.sat.s32", "min.s32.relu", "max.s32.relu"):
        yield form(name, "s32", "s32", "s32")
    yield form("mad.hi.sat.s32", "s32", "s32", "s32", "s32")
    for kind in ("u16x2", "s16x2"):
        for name in ("add", "min", "max"):
            yield form(f"{name}.{kind}", "b32", "b32", "b32")
    for name in ("min", "max"):
        yield form(f"{name}.s16x2.relu", "b32", "b32", "b32")
    for half, kind in product(("lo", "hi"), ("u32", "s32")):
        yield form(f"mul24.{half}.{kind}", kind, kind, kind)
        yield form(f"mad24.{half}.{kind}", kind, kind, kind, kind)
    yield form("mad24.hi.sat.s32", "s32", "s32", "s32", "s32")
    for x, y in product(("u32", "s32"), repeat=2):
        yield form(f"dp4a.{x}.{y}", "b32", "b32", "b32", "b32")
        for half in ("lo", "hi"):
            yield form(f"dp2a.{half}.{x}.{y}", "b32", "b32", "b32", "b32")


def _video() -> Iterator[Form]:
    for lanes, name in product((2, 4), ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax")):
        for kinds, option in product(
            ("u32.u32.u32", "s32.s32.s32", "u32.s32.s32", "s32.u32.s32"), ("", ".sat", ".add")
        ):
            yield form(f"{name}{lanes}.{kinds}{option}", "b32", "b32", "b32", "b32")
    for lanes, kinds, order, option in product((2, 4), ("u32.u32", "s32.s32"), _ORDERS, ("", ".add")):
        yield form(f"vset{lanes}.{kinds}.{order}{option}", "b32", "b32", "b32", "b32")


def _scalar_video() -> Iterator[Form]:
    kinds = ("u32.u32.u32", "s32.s32.s32", "u32.s32.u32", "s32.u32.s32")
    parts = (("%d", "%a", "%b"), ("%d", "%a.b1", "%b.h1"))
    for name, kind, option in product(("vadd", "vsub", "vabsdiff", "vmin", "vmax"), kinds, ("", ".sat")):
        yield from (_scalar(f"{name}.{kind}{option}", *part) for part in parts)
        yield from (_scalar(f"{name}.{kind}{option}.{second}", "%d", "%a", "%b.h0", "%c") for second in _SECOND)
        yield from (_scalar(f"{name}.{kind}{option}", f"%d.{part}", "%a", "%b", "%c") for part in ("b2", "h1"))
    for name, kind, option, mode in product(
        ("vshl", "vshr"), ("u32.u32.u32", "s32.s32.u32", "s32.u32.u32"), ("", ".sat"), (".clamp", ".wrap")
    ):
        yield from (_scalar(f"{name}.{kind}{option}{mode}", *part) for part in parts)
        yield _scalar(f"{name}.{kind}{option}{mode}.add", "%d", "%a.h1", "%b.b0", "%c")
        yield _scalar(f"{name}.{kind}{option}{mode}", "%d.h0", "%a", "%b.b0", "%c")
    for kind, order in product(("u32.u32", "s32.s32", "u32.s32"), _ORDERS):
        yield from (_scalar(f"vset.{kind}.{order}", *part) for part in parts)
        yield _scalar(f"vset.{kind}.{order}.max", "%d", "%a.b0", "%b.b2", "%c")
        yield _scalar(f"vset.{kind}.{order}", "%d.b3", "%a", "%b", "%c")
    yield from _video_products()


def _video_products() -> Iterator[Form]:
    for option, scale in product(("", ".sat"), ("", ".shr7", ".shr15")):
        for kind in ("u32.u32.u32", "s32.s32.s32", "s32.u32.s32"):
            yield _scalar(f"vmad.{kind}{option}{scale}", "%d", "%a", "%b", "%c")
            yield _scalar(f"vmad.{kind}.po{option}{scale}", "%d", "%a.h0", "%b.h1", "%c")
        yield _scalar(f"vmad.s32.s32.s32{option}{scale}", "%d", "-%a", "%b", "%c")
        yield _scalar(f"vmad.s32.u32.u32{option}{scale}", "%d", "%a.h1", "%b.h0", "-%c")


def _scalar(mnemonic: str, *operands: str) -> Form:
    """A form with parts of registers; they make part of the name."""
    inputs = {f"%{letter}": "b32" for letter in "abc" if any(f"%{letter}" in word for word in operands)}
    plain = all(word == f"%{letter}" for letter, word in zip("dabc", operands, strict=False))
    name = mnemonic if plain else f"{mnemonic} ({', '.join(operands)})"
    return Form(name, f"{mnemonic} {', '.join(operands)}", inputs, {"%d": "b32"})


def _carry() -> Iterator[Form]:
    """Carry in from `%q + (2^n - 1)`, carry out into `%e`."""
    for kind in _LONG:
        ones = "0xffffffff" if kind.endswith("32") else "0xffffffffffffffff"
        carry_in = f"add.cc.{kind} %t, %q, {ones}"
        borrow_in = f"sub.cc.{kind} %t, 0, %q"
        carry_out, borrow_out = f"addc.{kind} %e, 0, 0", f"subc.{kind} %e, 0, 0"
        two, three = "%d, %a, %b", "%d, %a, %b, %c"
        for name, before, after, operands in (
            ("add.cc", None, carry_out, two),
            ("addc.cc", carry_in, carry_out, two),
            ("addc", carry_in, None, two),
            ("sub.cc", None, borrow_out, two),
            ("subc.cc", borrow_in, borrow_out, two),
            ("subc", borrow_in, None, two),
            ("mad.lo.cc", None, carry_out, three),
            ("mad.hi.cc", None, carry_out, three),
            ("madc.lo.cc", carry_in, carry_out, three),
            ("madc.hi.cc", carry_in, carry_out, three),
            ("madc.lo", carry_in, None, three),
            ("madc.hi", carry_in, None, three),
        ):
            lines = [line for line in (before, f"{name}.{kind} {operands}", after) if line]
            inputs = dict.fromkeys(["%a", "%b"] + ["%c"] * (operands == three) + ["%q"] * bool(before), kind)
            outputs = dict.fromkeys(["%d"] + ["%e"] * bool(after), kind)
            yield Form(f"{name}.{kind}", "\n".join(lines), inputs, outputs, {"%t": kind})


def _bits() -> Iterator[Form]:
    for kind in ("b32", "b64"):
        for name in ("popc", "clz"):
            yield form(f"{name}.{kind}", "u32", kind)
        yield form(f"brev.{kind}", kind, kind)
        yield form(f"bfi.{kind}", kind, kind, kind, "u32", "u32")
    for kind in _LONG:
        yield form(f"bfind.{kind}", "u32", kind)
        yield form(f"bfind.shiftamt.{kind}", "u32", kind)
        yield form(f"bfe.{kind}", kind, kind, "u32", "u32")
    for mode in ("clamp", "wrap"):
        yield form(f"bmsk.{mode}.b32", "b32", "u32", "u32")
        for kind in ("u32", "s32"):
            yield form(f"szext.{mode}.{kind}", kind, kind, "u32")
    yield form("fns.b32", "b32", "b32", "u32", "s32")


def _logic() -> Iterator[Form]:
    for kind in ("pred", "b16", "b32", "b64"):
        for name in ("and", "or", "xor"):
            yield form(f"{name}.{kind}", kind, kind, kind)
        yield form(f"not.{kind}", kind, kind)
        if kind != "pred":
            yield form(f"cnot.{kind}", kind, kind)
            yield form(f"shl.{kind}", kind, kind, "u32")
            yield form(f"shr.{kind}", kind, kind, "u32")
    for kind in _INTEGERS:
        yield form(f"shr.{kind}", kind, kind, "u32")
    for truth in (0x00, 0x01, 0x1B, 0x80, 0x96, 0xCA, 0xE8, 0xFE, 0xFF):
        yield form("lop3.b32", "b32", "b32", "b32", "b32", f"={truth:#04x}")
    for name in ("and", "or"):
        text = f"lop3.{name}.b32 %d|%e, %a, %b, %c, 0xe8, %q"
        inputs = {"%a": "b32", "%b": "b32", "%c": "b32", "%q": "pred"}
        yield Form(f"lop3.{name}.b32", text, inputs, {"%d": "b32", "%e": "pred"})
    for side, mode in product("lr", ("clamp", "wrap")):
        yield form(f"shf.{side}.{mode}.b32", "b32", "b32", "b32", "u32")
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield form(f"prmt.b32{mode}", "b32", "b32", "b32", "b32")


def _compared_types() -> Iterator[tuple[str, str]]:
    """Every comparison: its operator with `.ftz` if so, and the type."""
    for kind in ("b16", "b32", "b64"):
        yield from ((order, kind) for order in ("eq", "ne"))
    for kind in _INTEGERS:
        unsigned = ("lo", "ls", "hi", "hs") if kind[0] == "u" else ()
        yield from ((order, kind) for order in (*_ORDERS, *unsigned))
    for order in _FLOAT_ORDERS:
        yield order, "f32"
        yield f"{order}.ftz", "f32"
        yield order, "f64"
        yield from ((order, kind) for kind in _HALVES)
        yield f"{order}.ftz", "f16"
        yield f"{order}.ftz", "f16x2"


def _compare() -> Iterator[Form]:
    for order, kind in _compared_types():
        inputs = {"%a": kind, "%b": kind}
        outputs = {"%d": "pred"} if kind in ("f16", "bf16") else {"%d": "pred", "%e": "pred"}
        text = f"setp.{order}.{kind} {'|'.join(outputs)}, %a, %b"
        yield Form(f"setp.{order}.{kind}", text, inputs, outputs)
    for boolean, (order, kind) in product(
        ("and", "or", "xor"), (("lt", "s32"), ("hi", "u64"), ("leu", "f32"), ("ne", "f64"), ("gt", "f16x2"))
    ):
        text = f"setp.{order}.{boolean}.{kind} %d|%e, %a, %b, %q"
        inputs = {"%a": kind, "%b": kind, "%q": "pred"}
        yield Form(f"setp.{order}.{boolean}.{kind}", text, inputs, {"%d": "pred", "%e": "pred"})
        negated = text.replace("%q", "!%q").replace("%d|%e", "%d") if kind != "f16x2" else text.replace("%q", "!%q")
        outputs = {"%d": "pred", "%e": "pred"} if kind == "f16x2" else {"%d": "pred"}
        yield Form(f"setp.{order}.{boolean}.{kind} (!q)", negated, inputs, outputs)
    yield from _sets()
    for kind in ("b16", "b32", "b64", *_INTEGERS, "f32", "f64"):
        yield form(f"selp.{kind}", kind, kind, kind, "pred")
        yield form(f"slct.{kind}.s32", kind, kind, kind, "s32")
        yield form(f"slct.{kind}.f32", kind, kind, kind, "f32")
        yield form(f"slct.ftz.{kind}.f32", kind, kind, kind, "f32")


def _sets() -> Iterator[Form]:
    sources = (("lt", "s32"), ("hs", "u16"), ("eq", "b64"), ("geu", "f32"), ("ne.ftz", "f32"), ("nan", "f64"))
    for target, (order, kind) in product(("u32", "s32", "f32"), sources):
        yield form(f"set.{order}.{target}.{kind}", target, kind, kind)
    for target, (order, kind) in product(("u32", "f32"), (("lt", "s32"), ("gtu", "f32"))):
        yield form(f"set.{order}.and.{target}.{kind}", target, kind, kind, "pred")
    for order in ("lt", "neu", "num"):
        for target in ("f16", "u16", "s16", "u32", "s32"):
            yield form(f"set.{order}.{target}.f16", target, "f16", "f16")
            if target != "f16":
                yield form(f"set.{order}.{target}.bf16", target, "bf16", "bf16")
        yield form(f"set.{order}.bf16.bf16", "bf16", "bf16", "bf16")
        yield form(f"set.{order}.f16x2.f16x2", "f16x2", "f16x2", "f16x2")
        yield form(f"set.{order}.bf16x2.bf16x2", "bf16x2", "bf16x2", "bf16x2")


def _single() -> Iterator[Form]:
    for rounding, flushed, sat in product(("", ".rn", ".rz", ".rm", ".rp"), ("", ".ftz"), ("", ".sat")):
        suffix = f"{rounding}{flushed}{sat}.f32"
        if rounding:
            # Without a rounding ptxas may fuse these, so that there is nothing to hold them to.
            for name in ("add", "sub", "mul"):
                yield form(f"{name}{suffix}", "f32", "f32", "f32")
            yield form(f"fma{suffix}", "f32", "f32", "f32", "f32")
            yield form(f"mad{suffix}", "f32", "f32", "f32", "f32")
    for rounding, flushed in product(_ROUNDINGS, ("", ".ftz")):
        yield form(f"div.{rounding}{flushed}.f32", "f32", "f32", "f32")
        yield form(f"rcp.{rounding}{flushed}.f32", "f32", "f32")
        yield form(f"sqrt.{rounding}{flushed}.f32", "f32", "f32")
    for flushed in ("", ".ftz"):
        yield form(f"abs{flushed}.f32", "f32", "f32")
        yield form(f"neg{flushed}.f32", "f32", "f32")
        for name, nan, sign in product(("min", "max"), ("", ".NaN"), ("", ".xorsign.abs")):
            yield form(f"{name}{flushed}{nan}{sign}.f32", "f32", "f32", "f32")
    for kind in ("f32", "f64"):
        yield form(f"copysign.{kind}", kind, kind, kind)
        for word in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            yield form(f"testp.{word}.{kind}", "pred", kind)


def _double() -> Iterator[Form]:
    for rounding in _ROUNDINGS:
        for name in ("add", "sub", "mul", "div"):
            yield form(f"{name}.{rounding}.f64", "f64", "f64", "f64")
        yield form(f"fma.{rounding}.f64", "f64", "f64", "f64", "f64")
        yield form(f"mad.{rounding}.f64", "f64", "f64", "f64", "f64")
        yield form(f"rcp.{rounding}.f64", "f64", "f64")
        yield form(f"sqrt.{rounding}.f64", "f64", "f64")
    for name in ("abs", "neg"):
        yield form(f"{name}.f64", "f64", "f64")
    for name in ("min", "max"):
        yield form(f"{name}.f64", "f64", "f64", "f64")


def _approximate() -> Iterator[Form]:
    for name, flushed in product(("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"), ("", ".ftz")):
        yield form(f"{name}.approx{flushed}.f32", "f32", "f32")
    yield form("tanh.approx.f32", "f32", "f32")
    for name, flushed in product(("div.approx", "div.full"), ("", ".ftz")):
        yield form(f"{name}{flushed}.f32", "f32", "f32", "f32")
    for name in ("rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64", "rsqrt.approx.f64"):
        yield form(name, "f64", "f64")
    for kind in _HALVES:
        yield form(f"tanh.approx.{kind}", kind, kind)
        yield form(f"ex2.approx{'.ftz' if kind[0] == 'b' else ''}.{kind}", kind, kind)


def _half() -> Iterator[Form]:
    for kind in _HALVES:
        options = ("", ".ftz", ".sat", ".ftz.sat") if kind[0] == "f" else ("",)
        for name, option in product(("add", "sub", "mul"), options):
            yield form(f"{name}.rn{option}.{kind}", kind, kind, kind)
        flushes = ("", ".ftz") if kind[0] == "f" else ("",)
        for option in (*options, *(f"{flushed}.relu" for flushed in flushes)):
            yield form(f"fma.rn{option}.{kind}", kind, kind, kind, kind)
        for flushed in flushes:
            yield form(f"abs{flushed}.{kind}", kind, kind)
            yield form(f"neg{flushed}.{kind}", kind, kind)
            for name, nan, sign in product(("min", "max"), ("", ".NaN"), ("", ".xorsign.abs")):
                yield form(f"{name}{flushed}{nan}{sign}.{kind}", kind, kind, kind)


FAMILIES = {
    "integer": _integer,
    "carry": _carry,
    "video": _video,
    "scalar video": _scalar_video,
    "bits": _bits,
    "logic": _logic,
    "compare": _compare,
    "single": _single,
    "double": _double,
    "half": _half,
    "convert": conversions,
    "approximate": _approximate,
}


def forms(family: str) -> tuple[Form, ...]:
    """All forms of a family, one of `FAMILIES`."""
    return tuple(FAMILIES[family]())

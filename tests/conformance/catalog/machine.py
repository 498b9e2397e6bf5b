"""Forms of the instructions by which threads meet and reach memory, as far as their results are the same on every run.

`%x_address0` is the global address of the thread's own element of the first input, `%x_tid` its number in the block of
128 threads, `cells` 16 bytes of shared memory for each thread: the conformance kernels have them. Where a form changes
memory, what memory holds afterwards is a result, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from itertools import product

from gpuregress.virtual_gpu.ptx.modifiers import BITS
from tests.conformance.catalog.cluster import cluster
from tests.conformance.catalog.form import Form
from tests.conformance.catalog.warpgroups import warpgroups

ALL = "0xffffffff"
_INTEGERS = ("u32", "s32", "u64", "s64")
_HALVES = ("f16", "f16x2", "bf16", "bf16x2")
_OWN_CELL = (
    "mov.u32 %cell, cells",
    "mad.lo.u32 %cell, %x_tid, 16, %cell",
)


def _meeting(name: str, text: str, inputs: dict[str, str], outputs: dict[str, str]) -> Form:
    return Form(name, text, inputs, outputs, whole=True)


def warp() -> Iterator[Form]:
    """Shuffles, votes, matches, reductions over a warp."""
    value = {"%a": "b32"}
    for mode in ("idx", "up", "down", "bfly"):
        name = f"shfl.sync.{mode}.b32"
        operands = {**value, "%b": "u32", "%c": "u32"}
        yield _meeting(name, f"{name} %d|%e, %a, %b, %c, {ALL}", operands, {"%d": "b32", "%e": "pred"})
        for clamp in ("0x1f", "0x0", "0x181f", "0x1c1f", "0x1800"):
            text = f"{name} %d, %a, 3, {clamp}, {ALL}"
            yield _meeting(f"{name} (3, {clamp})", text, value, {"%d": "b32"})
    yield _meeting("vote.sync.ballot.b32", f"vote.sync.ballot.b32 %d, %a, {ALL}", {"%a": "pred"}, {"%d": "b32"})
    for mode in ("any", "all", "uni"):
        for negated in ("", "!"):
            text = f"setp.lt.u32 %p, %a, 0xfff00000\nvote.sync.{mode}.pred %d, {negated}%p, {ALL}"
            name = f"vote.sync.{mode}.pred ({negated}p)"
            yield Form(name, text, value, {"%d": "pred"}, {"%p": "pred"}, whole=True)
    for kind in ("b32", "b64"):
        inputs = {"%a": kind}
        yield _meeting(f"match.any.sync.{kind}", f"match.any.sync.{kind} %d, %a, {ALL}", inputs, {"%d": "b32"})
        text = f"match.all.sync.{kind} %d|%e, %a, {ALL}"
        yield _meeting(f"match.all.sync.{kind}", text, inputs, {"%d": "b32", "%e": "pred"})
    for mode, kind in (*product(("add", "min", "max"), ("u32", "s32")), *product(("and", "or", "xor"), ("b32",))):
        name = f"redux.sync.{mode}.{kind}"
        yield _meeting(name, f"{name} %d, %a, {ALL}", value, {"%d": "b32"})
    yield _meeting("activemask.b32", "activemask.b32 %d", value, {"%d": "b32"})
    text = f"elect.sync %d|%e, {ALL}"
    yield _meeting("elect.sync", text, value, {"%d": "b32", "%e": "pred"})
    for name in ("laneid", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge"):
        yield _meeting(f"mov.u32 (%{name})", f"mov.u32 %d, %{name}", value, {"%d": "b32"})


def barrier() -> Iterator[Form]:
    """Barriers that answer."""
    for name, number in product(("bar", "barrier"), ("0", "5, 128", "%t, 128")):
        scratch = {"%p": "pred", "%t": "u32"}
        before = "mov.u32 %t, 7\nsetp.gt.u32 %p, %a, 0x7fffffff"
        for mode, kind in (("popc", "u32"), ("and", "pred"), ("or", "pred")):
            for negated in ("", "!"):
                text = f"{before}\n{name}.red.{mode}.{kind} %d, {number}, {negated}%p"
                title = f"{name}.red.{mode}.{kind} ({number}, {negated}p)"
                yield Form(title, text, {"%a": "u32"}, {"%d": kind}, scratch, whole=True)


def _global(name: str, kind: str, operands: int) -> Form:
    """An atomic on the thread's own element: the old value and the new one."""
    sources = ("%b", "%c")[:operands]
    text = f"{name} %d, [%x_address0], {', '.join(sources)}\nld.global.b{BITS[kind]} %e, [%x_address0]"
    return Form(name, text, {"%a": kind, **dict.fromkeys(sources, kind)}, {"%d": kind, "%e": kind})


def _shared(name: str, kind: str, operands: int) -> Form:
    sources = ("%b", "%c")[:operands]
    bits = BITS[kind]
    lines = (
        *_OWN_CELL,
        f"st.shared.b{bits} [%cell], %a",
        f"{name} %d, [%cell], {', '.join(sources)}",
        f"ld.shared.b{bits} %e, [%cell]",
    )
    return Form(
        name, "\n".join(lines), {"%a": kind, **dict.fromkeys(sources, kind)}, {"%d": kind, "%e": kind}, {"%cell": "u32"}
    )


def _reduction(name: str, kind: str) -> Form:
    text = f"{name} [%x_address0], %b\nld.global.b{BITS[kind]} %e, [%x_address0]"
    return Form(name, text, {"%a": kind, "%b": kind}, {"%e": kind})


def _operations() -> Iterator[tuple[str, str, int]]:
    """(operation, type, operands) of atom."""
    for kind in ("u32", "s32", "u64", "f32", "f64"):
        yield "add", kind, 1
    for name, kind in product(("min", "max"), _INTEGERS):
        yield name, kind, 1
    for name, kind in product(("and", "or", "xor", "exch"), ("b32", "b64")):
        yield name, kind, 1
    for name in ("inc", "dec"):
        yield name, "u32", 1
    for kind in ("b16", "b32", "b64"):
        yield "cas", kind, 2
    for kind in _HALVES:
        yield "add.noftz", kind, 1


def atomic() -> Iterator[Form]:
    """Atomics on memory of the thread's own: every operation and type; every order and scope of one."""
    for operation, kind, operands in _operations():
        yield _global(f"atom.global.{operation}.{kind}", kind, operands)
        yield _shared(f"atom.shared.{operation}.{kind}", kind, operands)
        if operation not in ("exch", "cas"):
            yield _reduction(f"red.global.{operation}.{kind}", kind)
    orders, scopes = ("relaxed", "acquire", "release", "acq_rel"), ("cta", "cluster", "gpu", "sys")
    for order, scope in product(orders, scopes):
        yield _global(f"atom.{order}.{scope}.global.add.u32", "u32", 1)
        yield _global(f"atom.{order}.{scope}.global.cas.b64", "b64", 2)
        if order in ("relaxed", "release"):
            yield _reduction(f"red.{order}.{scope}.global.add.f32", "f32")
    yield _global("atom.add.u32", "u32", 1)
    yield from _double_words()
    yield from _vectors()


def _double_words() -> Iterator[Form]:
    """Exchanges of 16 bytes, in shared memory; both halves of what was and what is, made one."""
    for operation, operands in (("exch", "%u"), ("cas", "%t, %u")):
        name = f"atom.shared.{operation}.b128"
        lines = (
            *_OWN_CELL,
            "mov.b128 %t, {%a, %b}",
            "st.shared.v2.b64 [%cell], {%a, %b}",
            "mov.b128 %u, {%b, %c}",
            f"{name} %v, [%cell], {operands}",
            "mov.b128 {%l, %h}, %v",
            "shl.b64 %h, %h, 1",
            "xor.b64 %d, %l, %h",
            "ld.shared.v2.b64 {%l, %h}, [%cell]",
            "shl.b64 %h, %h, 1",
            "xor.b64 %e, %l, %h",
        )
        inputs = {"%a": "b64", "%b": "b64", "%c": "b64"}
        scratch = {"%cell": "u32", "%l": "b64", "%h": "b64", **dict.fromkeys(("%t", "%u", "%v"), "b128")}
        yield Form(name, "\n".join(lines), inputs, {"%d": "b64", "%e": "b64"}, scratch)


def _vectors() -> Iterator[Form]:
    """Vectors of sm_90: on the first eight bytes of an element of 64 bits, halves of which are the lanes."""
    for lanes, operation, kind in (
        (2, "add", "f32"), (4, "add.noftz", "f16"), (2, "add.noftz", "f16"), (2, "max.noftz", "bf16"),
        (4, "min.noftz", "f16"), (2, "add.noftz", "f16x2"), (2, "min.noftz", "bf16x2"),
    ):  # fmt: skip
        bits = lanes * BITS[kind]
        part = f"b{BITS[kind]}"
        given, found = (", ".join(f"%{name}{place}" for place in range(lanes)) for name in "vw")
        name = f"atom.global.v{lanes}.{kind}.{operation}"
        lines = (
            f"mov.b{bits} {{{given}}}, %b",
            f"{name} {{{found}}}, [%x_address0], {{{given}}}",
            f"mov.b{bits} %d, {{{found}}}",
            f"ld.global.b{bits} %e, [%x_address0]",
        )
        scratch = {f"%{name}{place}": kind if kind == "f32" else part for name in "vw" for place in range(lanes)}
        kinds = f"b{bits}"
        yield Form(name, "\n".join(lines), {"%a": kinds, "%b": kinds}, {"%d": kinds, "%e": kinds}, scratch)


def access() -> Iterator[Form]:
    """Loads and stores: types, vectors, caches, orders."""
    for kind in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64", "b8", "b16", "b32", "b64"):
        register = f"{kind[0] if kind[0] in 'us' else 'b'}{max(32, BITS[kind])}" if kind[0] != "f" else kind
        yield Form(f"ld.global.{kind}", f"ld.global.{kind} %d, [%x_address0]", {"%a": "b64"}, {"%d": register})
        stored = "b64" if kind[0] != "f" else kind
        text = f"st.global.{kind} [%x_address0], %b\nld.global.b64 %e, [%x_address0]"
        source = {"%b": stored if BITS[stored] == BITS[kind] else register}
        yield Form(f"st.global.{kind}", text, {"%a": "b64", **source}, {"%e": "b64"})
    for word in (
        "ca",
        "cg",
        "cs",
        "lu",
        "cv",
        "nc",
        "L1::evict_last",
        "L1::no_allocate",
        "L2::128B",
        "nc.L1::evict_last",
    ):
        name = f"ld.global.{word}.u32"
        yield Form(name, f"{name} %d, [%x_address0]", {"%a": "u32"}, {"%d": "u32"})
    for word in ("wb", "cg", "cs", "wt", "L1::no_allocate"):
        text = f"st.global.{word}.u32 [%x_address0], %b\nld.global.u32 %e, [%x_address0]"
        yield Form(f"st.global.{word}.u32", text, {"%a": "u32", "%b": "u32"}, {"%e": "u32"})
    for order, scope in (("volatile", ""), *product(("relaxed", "acquire"), (".cta", ".gpu", ".sys"))):
        name = f"ld.{order}{scope}.global.u64"
        yield Form(name, f"{name} %d, [%x_address0]", {"%a": "u64"}, {"%d": "u64"})
    for order, scope in (("volatile", ""), *product(("relaxed", "release"), (".cta", ".gpu", ".sys"))):
        name = f"st.{order}{scope}.global.u64"
        text = f"{name} [%x_address0], %b\nld.global.u64 %e, [%x_address0]"
        yield Form(name, text, {"%a": "u64", "%b": "u64"}, {"%e": "u64"})
    yield from _hinted()
    for lanes, kind in ((2, "b8"), (4, "b8"), (2, "b16"), (4, "b16"), (2, "b32")):
        parts = ", ".join(f"%v{place}" for place in range(lanes))
        register = "b16" if kind == "b8" else kind
        lines = [f"ld.global.v{lanes}.{kind} {{{parts}}}, [%x_address0]", "mov.u64 %d, 0"]
        for place in range(lanes):
            lines += [
                f"cvt.u64.u{BITS[register]} %t, %v{place}",
                f"shl.b64 %t, %t, {16 * place}",
                "xor.b64 %d, %d, %t",
            ]
        scratch = {"%t": "u64", **{f"%v{place}": register for place in range(lanes)}}
        yield Form(f"ld.global.v{lanes}.{kind}", "\n".join(lines), {"%a": "b64"}, {"%d": "u64"}, scratch)


def _hinted() -> Iterator[Form]:
    """Accesses with a cache policy."""
    policy, scratch = "createpolicy.fractional.L2::evict_last.b64 %t, 1.0", {"%t": "b64"}
    two = {"%a": "u32", "%b": "u32"}
    name = "ld.global.L2::cache_hint.u32"
    yield Form(name, f"{policy}\n{name} %d, [%x_address0], %t", {"%a": "u32"}, {"%d": "u32"}, scratch)
    name, after = "st.global.L2::cache_hint.u32", "ld.global.u32 %e, [%x_address0]"
    yield Form(name, f"{policy}\n{name} [%x_address0], %b, %t\n{after}", two, {"%e": "u32"}, scratch)
    name = "atom.global.add.L2::cache_hint.u32"
    text = f"{policy}\n{name} %d, [%x_address0], %b, %t\n{after}"
    yield Form(name, text, two, {"%d": "u32", "%e": "u32"}, scratch)


def matrix() -> Iterator[Form]:
    """Products of integers and of doubles; turned matrices."""
    shapes = [
        ("m8n8k16", "8"),
        ("m16n8k16", "8"),
        ("m16n8k32", "8"),
        ("m8n8k32", "4"),
        ("m16n8k32", "4"),
        ("m16n8k64", "4"),
    ]
    for (shape, bits), (x, y), limit in product(shapes, product("su", repeat=2), ("", ".satfinite")):
        depth, rows = int(shape.rpartition("k")[2]), 8 if shape.startswith("m8") else 16
        a, b = rows * depth * int(bits) // 1024, 8 * depth * int(bits) // 1024
        yield _product(f"{shape}.row.col{limit}.s32.{x}{bits}.{y}{bits}.s32", (a, b, rows // 4), ("b32", "s32"))
    for shape, counts in (
        ("m8n8k4", (1, 1, 2)),
        ("m16n8k4", (2, 1, 4)),
        ("m16n8k8", (4, 2, 4)),
        ("m16n8k16", (8, 4, 4)),
    ):
        yield _product(f"{shape}.row.col.f64.f64.f64.f64", counts, ("f64", "f64"))
    for kinds, depth, result in _FLOAT_PRODUCTS:
        step = min(BITS[kind] for kind in kinds)
        a, b = 16 * depth * step // 1024, 8 * depth * step // 1024
        c = 4 if result == "f32" else 2
        form = f"m16n8k{depth}.row.col.{result}.{kinds[0]}.{kinds[1]}.{result}"
        yield _product(form, (a, b, c), ("b32", "f32" if c == 4 else "b32"), _FINITE[kinds[0]], _FINITE[kinds[1]])
    name = "movmatrix.sync.aligned.m8n8.trans.b16"
    yield _meeting(name, f"{name} %d, %a", {"%a": "b32"}, {"%d": "b32"})


_EIGHT_BITS = ("e4m3", "e5m2")
_FLOAT_PRODUCTS = (
    *(((kind, kind), depth, "f32") for kind in ("f16", "bf16") for depth in (8, 16)),
    *((("f16", "f16"), depth, "f16") for depth in (8, 16)),
    *((("tf32", "tf32"), depth, "f32") for depth in (4, 8)),
    *(
        (kinds, depth, result)
        for kinds in product(_EIGHT_BITS, repeat=2)
        for depth in (16, 32)
        for result in ("f16", "f32")
    ),
)
"""Types of A and B, depth, and type of C and D of the fused sums of m16n8."""
_FINITE = {"f16": 0xBFFFBFFF, "bf16": 0xBFFFBFFF, "tf32": 0xBFFFFFFF, "e4m3": 0xBFBFBFBF, "e5m2": 0xBFBFBFBF}
"""Type → the bits of a register that are kept, so that its elements are finite: one NaN would hide all other terms."""


def _product(
    form: str, counts: tuple[int, int, int], kinds: tuple[str, str], kept_of_a: int = 0, kept_of_b: int = 0
) -> Form:
    """An mma whose registers hold two inputs, changed a little from one register to the next."""
    names = [[f"%{letter}{number}" for number in range(count)] for letter, count in zip("xyz", counts, strict=True)]
    targets = [f"%w{number}" for number in range(counts[2])]
    kind, result = kinds
    lines = []
    for registers, source in zip(names[:2], ("%a", "%b"), strict=True):
        lines.append(f"mov.{kind} {registers[0]}, {source}")
        for before, name in itertools.pairwise(registers):
            step = f"neg.f64 {name}, {before}" if kind == "f64" else f"shf.l.wrap.b32 {name}, {before}, {before}, 9"
            lines.append(step)
    lines += [f"and.b32 {name}, {name}, {kept_of_a}" for name in names[0] if kept_of_a]
    lines += [f"and.b32 {name}, {name}, {kept_of_b}" for name in names[1] if kept_of_b]
    lines += [f"mov.{result} {name}, %c" for name in names[2]]
    vectors = (f"{{{', '.join(registers)}}}" for registers in (targets, *names))
    lines.append(f"mma.sync.aligned.{form} {', '.join(vectors)}")
    outputs = dict(zip(("%d", "%e", "%f", "%g"), targets, strict=False))
    lines += [f"mov.{result} {output}, {target}" for output, target in outputs.items()]
    scratch = dict.fromkeys([*names[0], *names[1]], kind) | dict.fromkeys([*names[2], *targets], result)
    inputs = {"%a": kind, "%b": kind, "%c": result}
    return Form(
        f"mma.sync.aligned.{form}", "\n".join(lines), inputs, dict.fromkeys(outputs, result), scratch, whole=True
    )


def clusters() -> Iterator[Form]:
    """How the blocks of a cluster know and reach each other."""
    yield from cluster(_operations())


FAMILIES = {
    "warp": warp,
    "barrier": barrier,
    "atomic": atomic,
    "access": access,
    "matrix": matrix,
    "cluster": clusters,
    "warpgroup": warpgroups,
}


def forms(family: str) -> tuple[Form, ...]:
    """All forms of a family, one of `FAMILIES`."""
    return tuple(FAMILIES[family]())

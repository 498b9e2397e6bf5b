"""Forms of wgmma.mma_async: types, where A is, signs, transpositions, layouts of shared memory.

A block of 128 threads is one warpgroup. Its 2,048 bytes of shared memory hold B, and A where no registers do. The
layouts may overlap: only their addresses matter. Of more than four registers of results the exclusive or is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from gpuregress.virtual_gpu.ptx.modifiers import BITS
from tests.conformance.catalog.form import Form

_FINITE = {"f16": 0xBFFF, "bf16": 0xBFFF, "tf32": 0xBFFFFFFF, "e4m3": 0xBF, "e5m2": 0xBF}
"""The bits of an element that are kept, so that all are finite: one NaN would hide all other terms."""
_PLAIN = (128, 256, 0)
"""Leading and stride byte offset, and swizzle, of rows of 32 bytes one core matrix after the other."""


@dataclass(frozen=True, slots=True)
class _Product:
    """One wgmma.

    Attributes:
        words: its types with the result first, and `.satfinite`.
        depth: of the product.
        columns: of B and D.
        a: the layout of A; None: it is in registers.
        b: the layout of B.
        immediates: behind scale-d.
        added: scale-d.
        sparse: the selector of the metadata; None: A is dense.
        start: bytes from the beginning of shared memory to both matrices, and their base offset.
    """

    words: str
    depth: int
    columns: int = 8
    a: tuple[int, int, int] | None = None
    b: tuple[int, int, int] = _PLAIN
    immediates: str = ""
    added: int = 1
    start: tuple[int, int] = (0, 0)
    sparse: int | None = None


def warpgroups() -> Iterator[Form]:
    """All forms, each once."""
    for item in (*_types(), *_from_shared_memory(), *_others(), *_sparse()):
        yield _form(item)


def _immediates(kind: str, signs: str = "1, 1", transposed: str = "0") -> str:
    if kind in ("f16", "bf16"):
        return f", {signs}, {transposed}"
    return f", {signs}" if kind in _FINITE else ""


def _types() -> Iterator[_Product]:
    for words, depth in (("f32.f16.f16", 16), ("f16.f16.f16", 16), ("f32.bf16.bf16", 16), ("f32.tf32.tf32", 8)):
        yield _Product(words, depth, immediates=_immediates(words.rpartition(".")[2]))
    for result, x, y in product(("f32", "f16"), ("e4m3", "e5m2"), ("e4m3", "e5m2")):
        yield _Product(f"{result}.{x}.{y}", 32, immediates=", 1, 1")
    for limit, x, y in product(("", ".satfinite"), ("s8", "u8"), ("s8", "u8")):
        yield _Product(f"s32.{x}.{y}{limit}", 32)
    yield _Product("s32.b1.b1.and.popc", 256)


def _from_shared_memory() -> Iterator[_Product]:
    for transposed in ("0, 0", "1, 0", "0, 1", "1, 1"):
        yield _Product("f32.f16.f16", 16, a=_PLAIN, immediates=_immediates("f16", transposed=transposed))
    yield _Product("f32.bf16.bf16", 16, a=_PLAIN, immediates=_immediates("bf16", transposed="1, 1"))
    yield _Product("f32.tf32.tf32", 8, a=_PLAIN, immediates=", 1, 1")
    yield _Product("f32.e4m3.e5m2", 32, a=_PLAIN, immediates=", 1, 1")
    yield _Product("s32.s8.u8", 32, a=_PLAIN)
    for swizzle in (1, 2, 3):
        layout = (0, 128, swizzle)
        yield _Product("f32.f16.f16", 16, a=layout, b=layout, immediates=_immediates("f16", transposed="0, 0"))
        across = ({1: 0, 2: 512, 3: 256}[swizzle], 1024, swizzle)
        yield _Product("f32.f16.f16", 16, a=across, b=across, immediates=_immediates("f16", transposed="1, 1"))
    layout = (0, 64, 1)
    yield _Product(
        "f32.f16.f16", 16, a=layout, b=layout, immediates=_immediates("f16", transposed="0, 0"), start=(144, 1)
    )


def _others() -> Iterator[_Product]:
    for signs in ("-1, 1", "1, -1", "-1, -1"):
        yield _Product("f32.f16.f16", 16, immediates=_immediates("f16", signs))
    yield _Product("f16.e5m2.e4m3", 32, immediates=", 1, -1")
    yield _Product("f32.f16.f16", 16, immediates=_immediates("f16"), added=0)
    for columns in (24, 256):
        yield _Product("f32.f16.f16", 16, columns, b=(512, 32, 0), immediates=_immediates("f16"))
        yield _Product("s32.u8.s8", 32, columns, b=(512, 32, 0))


def _sparse() -> Iterator[_Product]:
    layout = (512, 128, 0)
    for words, depth in (("f32.f16.f16", 32), ("f16.f16.f16", 32), ("f32.bf16.bf16", 32), ("f32.tf32.tf32", 16)):
        kind = words.rpartition(".")[2]
        for selector in (0, 1):
            yield _Product(words, depth, b=layout, immediates=_immediates(kind), sparse=selector)
    for words in ("f32.e4m3.e5m2", "f16.e5m2.e4m3", "s32.s8.u8", "s32.u8.s8.satfinite"):
        yield _Product(words, 64, b=layout, immediates="" if words[0] == "s" else ", 1, 1", sparse=0)
    for swizzle in (1, 2, 3):
        wide = (256, 128, swizzle)
        yield _Product("f32.f16.f16", 32, a=wide, b=wide, immediates=_immediates("f16", transposed="0, 0"), sparse=0)
        yield _Product("f32.f16.f16", 32, 64, b=(512, 128, swizzle), immediates=_immediates("f16"), sparse=1)
    plain = (128, 256, 0)
    yield _Product("f32.f16.f16", 32, a=plain, b=layout, immediates=_immediates("f16", transposed="1, 1"), sparse=1)


def _form(item: _Product) -> Form:
    result, left, right = item.words.split(".")[:3]
    count = item.columns // 2 // (2 if result == "f16" else 1)
    kind = "f32" if result == "f32" else "b32"
    sums = [f"%w{number}" for number in range(count)]
    kept = [_mask(name) for name in (left, right)]
    lines = [
        "mov.u32 %cell, cells",
        "mad.lo.u32 %own, %x_tid, 16, %cell",
        *(f"and.b64 {name}, {name}, {kept[1] if item.a is None else kept[0] & kept[1]}" for name in ("%g", "%h")),
        "st.shared.v2.b64 [%own], {%g, %h}",
        "fence.proxy.async",
        "bar.sync 0",
        "cvt.u64.u32 %base, %cell",
        "shr.u64 %base, %base, 4",
        *(f"add.u64 {name}, %base, {_descriptor(layout, item.start)}" for name, layout in _layouts(item)),
        *(f"and.b64 {name}, {name}, {kept[0]}" for name in ("%a", "%b")),
        "mov.b64 {%x0, %x1}, %a",
        "mov.b64 {%x2, %x3}, %b",
        *(f"mov.{kind} {name}, %c" for name in sums),
        f"setp.ne.u32 %p, {item.added}, 0",
        # Nibbles of which each is valid metadata, in another order in each thread.
        "mul.lo.u32 %own, %x_tid, 4",
        f"mov.b32 %bits, {0x4EE4E44E if 'tf32' in item.words else 0x4E8D9C4E}",
        "shf.l.wrap.b32 %bits, %bits, %bits, %own",
    ]
    shape = f"m64n{item.columns}k{item.depth}"
    limit = ".satfinite" if "satfinite" in item.words else ""
    sparse = "" if item.sparse is None else ".sp"
    metadata = "" if item.sparse is None else f", %bits, {item.sparse}"
    mnemonic = f"wgmma.mma_async{sparse}.sync.aligned.{shape}{limit}.{item.words.removesuffix('.satfinite')}"
    a = "{%x0, %x1, %x2, %x3}" if item.a is None else "%da"
    lines += [
        "wgmma.fence.sync.aligned",
        f"{mnemonic} {{{', '.join(sums)}}}, {a}, %db{metadata}, %p{item.immediates}",
        "wgmma.commit_group.sync.aligned",
        "wgmma.wait_group.sync.aligned 0",
    ]
    outputs = ("%d", "%e", "%f", "%i")[: min(4, count)]
    for number, output in enumerate(outputs):
        lines.append(f"mov.b32 {output}, {sums[number]}")
        for name in sums[number + 4 :: 4]:
            lines += [f"mov.b32 %bits, {name}", f"xor.b32 {output}, {output}, %bits"]
    scratch = {"%cell": "u32", "%own": "u32", "%base": "u64", "%da": "u64", "%db": "u64", "%p": "pred", "%bits": "b32"}
    scratch |= dict.fromkeys(sums, kind) | {f"%x{number}": "b32" for number in range(4)}
    inputs = {"%a": "b64", "%b": "b64", "%g": "b64", "%h": "b64", "%c": kind}
    return Form(_name(item, mnemonic), "\n".join(lines), inputs, dict.fromkeys(outputs, "b32"), scratch, whole=True)


def _layouts(item: _Product) -> list[tuple[str, tuple[int, int, int]]]:
    return [("%db", item.b), *([] if item.a is None else [("%da", item.a)])]


def _name(item: _Product, mnemonic: str) -> str:
    where = "registers" if item.a is None else f"shared {item.a}"
    selector = "" if item.sparse is None else f", selector {item.sparse}"
    return f"{mnemonic} ({where}, {item.b}, {item.start}, {item.added}{item.immediates}{selector})"


def _mask(kind: str) -> int:
    """The kept bits of 64; all of them of types without infinities."""
    if kind not in _FINITE:
        return (1 << 64) - 1
    bits = BITS[kind]
    return sum(_FINITE[kind] << place for place in range(0, 64, bits))


def _descriptor(layout: tuple[int, int, int], start: tuple[int, int]) -> int:
    leading, stride, swizzle = layout
    return start[0] >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | start[1] << 49 | swizzle << 62

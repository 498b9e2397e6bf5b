"""Forms of the instructions by which the blocks of a cluster know and reach each other.

Blocks of 128 threads in clusters of two or four. Each thread works on the cell of the thread with its number in another
block of the cluster, alone, so that the result is the same on every run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.ptx.modifiers import BITS
from tests.conformance.catalog.form import Form

_REGISTERS = ("cluster_ctaid", "cluster_nctaid", "clusterid", "nclusterid")
_MEET = ("barrier.cluster.arrive", "barrier.cluster.wait")
_NEXT = (
    "mov.u32 %cell, cells",
    "mad.lo.u32 %cell, %x_tid, 16, %cell",
    "mov.u32 %rank, %cluster_ctarank",
    "xor.b32 %rank, %rank, 1",
    "mapa.shared::cluster.u32 %far, %cell, %rank",
)
_SCRATCH = {"%cell": "u32", "%far": "u32", "%rank": "u32"}


def cluster(operations: Iterable[tuple[str, str, int]]) -> Iterator[Form]:
    """Special registers, barriers, addresses, accesses and atomics.

    Args:
        operations: (operation, type, operands) of atom.
    """
    yield from _places()
    yield from _barriers()
    yield from _addresses()
    yield from _accesses()
    for operation, kind, operands in operations:
        yield _atomic(f"atom.shared::cluster.{operation}.{kind}", kind, operands)
        if operation not in ("exch", "cas"):
            yield _reduction(f"red.shared::cluster.{operation}.{kind}", kind)


def _form(name: str, lines: Iterable[str], inputs: dict[str, str], outputs: dict[str, str], blocks: int = 2) -> Form:
    return Form(name, "\n".join(lines), inputs, outputs, _SCRATCH, whole=True, cluster=blocks)


def _places() -> Iterator[Form]:
    for blocks in (1, 2, 4):
        for name in (*(f"{name}.{axis}" for name, axis in product(_REGISTERS, "xyz")), "cluster_ctarank"):
            title = f"mov.u32 (%{name}, clusters of {blocks})"
            yield _form(title, (f"mov.u32 %d, %{name}",), {"%a": "b32"}, {"%d": "b32"}, blocks)
        title = f"mov.u32 (%cluster_nctarank, clusters of {blocks})"
        yield _form(title, ("mov.u32 %d, %cluster_nctarank",), {"%a": "b32"}, {"%d": "b32"}, blocks)
        text = ("mov.pred %d, %is_explicit_cluster",)
        yield _form(f"mov.pred (clusters of {blocks})", text, {"%a": "b32"}, {"%d": "pred"}, blocks)


def _barriers() -> Iterator[Form]:
    """What a thread wrote before it arrived, read by another behind the barrier."""
    for order, acquire, aligned in product(("", ".release"), ("", ".acquire"), ("", ".aligned")):
        arrive, wait = f"barrier.cluster.arrive{order}{aligned}", f"barrier.cluster.wait{acquire}{aligned}"
        yield _form(f"{arrive}, {wait.removeprefix('barrier.cluster.')}", _exchange(arrive, wait), *_ONE)
    relaxed = ("fence.acq_rel.cluster", "barrier.cluster.arrive.relaxed", "barrier.cluster.wait")
    yield _form("barrier.cluster.arrive.relaxed", _exchange(*relaxed), *_ONE)


_ONE = ({"%a": "b32"}, {"%d": "b32"})


def _exchange(*between: str) -> tuple[str, ...]:
    return (*_NEXT, "st.shared.b32 [%cell], %a", *between, "ld.shared::cluster.b32 %d, [%far]", *_MEET)


def _addresses() -> Iterator[Form]:
    """What is at a mapped address, its rank, and whose memory it is in."""
    wide = _SCRATCH | {"%wide": "u64"}
    head = (*_NEXT[:2], "st.shared.b32 [%cell], %a", *_MEET, "mov.u32 %rank, %cluster_ctarank")
    for blocks, rank in product((2, 4), ("%rank", "0", "1")):
        start = (*head, "add.u32 %rank, %rank, %x_tid", f"and.b32 %rank, %rank, {blocks - 1}")
        windowed = (*start, f"mapa.shared::cluster.u32 %far, %cell, {rank}")
        generic = (*start, "cvt.u64.u32 %wide, %cell", "cvta.shared.u64 %wide, %wide", f"mapa.u64 %wide, %wide, {rank}")
        for name, lines, read in (
            ("mapa.shared::cluster.u32", windowed, "ld.shared::cluster.b32 %d, [%far]"),
            ("mapa.u64", generic, "ld.b32 %d, [%wide]"),
            ("getctarank.shared::cluster.u32", windowed, "getctarank.shared::cluster.u32 %d, %far"),
            ("getctarank.u64", generic, "getctarank.u64 %d, %wide"),
        ):
            title = f"{name} ({rank}, clusters of {blocks})"
            form = _form(title, (*lines, read, *_MEET), {"%a": "b32"}, {"%d": "b32"}, blocks)
            yield replace(form, scratch=wide)
    for space in ("shared::cta", "shared::cluster", "shared", "global", "local"):
        for which in ("%cell", "%far"):
            asked = (
                *_NEXT,
                f"cvt.u64.u32 %wide, {which}",
                f"cvta.{'shared' if which == '%cell' else 'shared::cluster'}.u64 %wide, %wide",
                f"isspacep.{space} %d, %wide",
            )
            whose = "own" if which == "%cell" else "another block's"
            form = _form(f"isspacep.{space} ({whose})", asked, {"%a": "b32"}, {"%d": "pred"})
            yield replace(form, scratch=wide)


def _accesses() -> Iterator[Form]:
    for kind in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64", "b8", "b16", "b32", "b64"):
        register = f"{kind[0] if kind[0] in 'us' else 'b'}{max(32, BITS[kind])}" if kind[0] != "f" else kind
        name = f"ld.shared::cluster.{kind}"
        lines = (*_NEXT, "st.shared.b64 [%cell], %a", *_MEET, f"{name} %d, [%far]", *_MEET)
        yield _form(name, lines, {"%a": "b64"}, {"%d": register})
        stored = "b64" if kind[0] != "f" else kind
        source = {"%b": stored if BITS[stored] == BITS[kind] else register}
        name, after = f"st.shared::cluster.{kind}", "ld.shared.b64 %e, [%cell]"
        stores = (*_NEXT, "st.shared.b64 [%cell], %a", *_MEET, f"{name} [%far], %b", *_MEET, after)
        yield _form(name, stores, {"%a": "b64", **source}, {"%e": "b64"})
    for order, scope in (("volatile", ""), *product(("relaxed", "acquire"), (".cta", ".cluster", ".gpu"))):
        name = f"ld.{order}{scope}.shared::cluster.u64"
        lines = (*_NEXT, "st.shared.b64 [%cell], %a", *_MEET, f"{name} %d, [%far]", *_MEET)
        yield _form(name, lines, {"%a": "u64"}, {"%d": "u64"})


def _atomic(name: str, kind: str, operands: int) -> Form:
    """An atomic on a cell in the next block: the old value, and the own cell afterwards."""
    sources = ("%b", "%c")[:operands]
    bits = BITS[kind]
    lines = (
        *_NEXT,
        f"st.shared.b{bits} [%cell], %a",
        *_MEET,
        f"{name} %d, [%far], {', '.join(sources)}",
        *_MEET,
        f"ld.shared.b{bits} %e, [%cell]",
    )
    return _form(name, lines, {"%a": kind, **dict.fromkeys(sources, kind)}, {"%d": kind, "%e": kind})


def _reduction(name: str, kind: str) -> Form:
    bits = BITS[kind]
    lines = (
        *_NEXT,
        f"st.shared.b{bits} [%cell], %a",
        *_MEET,
        f"{name} [%far], %b",
        *_MEET,
        f"ld.shared.b{bits} %e, [%cell]",
    )
    return _form(name, lines, {"%a": kind, "%b": kind}, {"%e": kind})

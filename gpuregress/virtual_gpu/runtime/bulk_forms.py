"""Forms of bulk copies: their modifiers and operands.

PTX ISA manual, 9.7.9.25.5 "Non-tensor copy instructions" and 9.7.9.27 "Tensor copy".
"""

from __future__ import annotations

from functools import lru_cache

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime.machine_layout import MAX_THREADS

REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
_TYPES = {
    "add": "u32 s32 u64 f16 bf16 f32 f64", "min": "u32 s32 u64 s64 f16 bf16", "max": "u32 s32 u64 s64 f16 bf16",
    "inc": "u32", "dec": "u32", "and": "b32 b64", "or": "b32 b64", "xor": "b32 b64",
}  # fmt: skip
ARRIVING_TYPES = {"add": "u32 s32 u64", "min": "u32 s32", "max": "u32 s32", "and": "b32", "or": "b32", "xor": "b32"}
ARRIVING_TYPES |= {"inc": "u32", "dec": "u32"}
"""Operation → the types of reductions in shared memory, which signal an mbarrier."""
_BARRIER, _GROUP = "mbarrier::complete_tx::bytes", "bulk_group"
_OWN, _CLUSTER, _GLOBAL = "shared::cta", "shared::cluster", "global"
_ENDS = {
    (_CLUSTER, _GLOBAL): _BARRIER,
    (_OWN, _GLOBAL): _BARRIER,
    (_CLUSTER, _OWN): _BARRIER,
    (_GLOBAL, _OWN): _GROUP,
}
_DIMENSIONS = {f"{axes}d": axes for axes in range(1, 6)}
_HINTS = {"L2::cache_hint"}
_LEAST_IM2COL = 3


class BulkForm(Record):
    """A bulk copy.

    Attributes:
        action: `copy`, `prefetch`, `commit` or `wait`.
        target: `shared` or `global`.
        source: `shared` or `global`.
        axes: of the tensor; 0 for a plain stretch of bytes.
        im2col: whether its coordinates are those of an im2col map.
        multicast: whether a mask of blocks follows.
        reduction: one of `REDUCTIONS`, or "".
        type: of the elements that are reduced, "" for those of a tensor map.
        reads_only: whether a wait is for the reads of the sources alone.
    """

    action: str
    target: str = ""
    source: str = ""
    axes: int = 0
    im2col: bool = False
    multicast: bool = False
    reduction: str = ""
    type: str = ""
    reads_only: bool = False


@lru_cache(maxsize=256)
def form_of(modifiers: tuple[str, ...]) -> BulkForm | None:
    """Parse the modifiers of `cp`, as `("async", "bulk", …)`; None for a form that does not exist, or not here."""
    words = list(modifiers)
    reduces = words[:1] == ["reduce"]
    if reduces:
        del words[0]
    if words[:2] != ["async", "bulk"]:
        return None
    words = [word for word in words[2:] if word not in _HINTS]
    if words[:1] in (["commit_group"], ["wait_group"], ["prefetch"]) and reduces:
        return None
    if words == ["commit_group"]:
        return BulkForm("commit")
    if words == ["wait_group"]:
        return BulkForm("wait")
    if words == ["wait_group", "read"]:
        return BulkForm("wait", reads_only=True)
    prefetches = words[:1] == ["prefetch"]
    if prefetches:
        del words[0]
    axes = 0
    if words[:1] == ["tensor"]:
        axes = _DIMENSIONS.get("".join(words[1:2]), 0)
        if not axes:
            return None
        del words[:2]
    if prefetches:
        return _prefetch(words, axes)
    return _copy(words, axes, reduces=reduces)


def _prefetch(words: list[str], axes: int) -> BulkForm | None:
    if words[:2] != ["L2", _GLOBAL]:
        return None
    mode = words[2:]
    if mode not in ([], ["tile"], ["im2col"]) or (mode and not axes):
        return None
    return BulkForm("prefetch", source=_GLOBAL, axes=axes, im2col=mode == ["im2col"])


def _copy(words: list[str], axes: int, *, reduces: bool) -> BulkForm | None:
    ends = (words[0], words[1]) if len(words) > 1 else ("", "")
    completion = _ENDS.get(ends)
    rest = words[2:]
    if completion is None or completion not in rest or (axes and ends == (_CLUSTER, _OWN)):
        return None
    rest.remove(completion)
    multicast = "multicast::cluster" in rest
    if multicast:
        rest.remove("multicast::cluster")
    im2col = False
    loads = ends[1] == _GLOBAL
    if axes:
        of_pixels = "im2col" if loads else "im2col_no_offs"
        modes = [word for word in rest if word in ("tile", of_pixels)] or ["tile"]
        im2col = modes[0] == of_pixels
        rest = [word for word in rest if word != modes[0]]
    if (multicast and ends != (_CLUSTER, _GLOBAL)) or (im2col and axes < _LEAST_IM2COL):
        return None
    reduction = type_ = ""
    if reduces:
        if loads:
            return None
        noftz = "noftz" in rest
        rest = [word for word in rest if word != "noftz"]
        reduction, type_ = (rest[0], "") if axes and len(rest) == 1 else (*rest, "", "")[:2]
        rest = rest[1:] if axes else rest[2:]
        known = ARRIVING_TYPES if ends[0] == _CLUSTER else _TYPES
        if reduction not in REDUCTIONS or (not axes and type_ not in known.get(reduction, "").split()):
            return None
        if noftz != (type_ in ("f16", "bf16") and reduction == "add"):
            return None
    if rest:
        return None
    return BulkForm(
        action="copy",
        target=ends[0].partition("::")[0],
        source=ends[1].partition("::")[0],
        axes=axes,
        im2col=im2col,
        multicast=multicast,
        reduction=reduction,
        type=type_,
    )


# --- mbarrier bits ----------------------------------------------------------------------------------------------------
# Bits of an mbarrier object, which the PTX manual does not define.
#
# Bits 0-19: pending arrivals of this phase; 20-39: expected arrivals of each phase; 40-62: pending bytes of this phase;
# 63: the phase's parity. Code for the instructions is in `isa.memory.mbarrier`.

COUNT = (1 << 20) - 1
BYTES = (1 << 23) - 1
EXPECTED_SHIFT, BYTES_SHIFT, PARITY_SHIFT = 20, 40, 63


def with_bytes_done(value: int, count: int) -> int:
    """Subtract arrived bytes from the pending ones, and begin the next phase if nothing else is pending.

    Args:
        value: the object's bits.
        count: bytes.
    """
    pending = ((value >> BYTES_SHIFT) - count) & BYTES
    value = value & ~(BYTES << BYTES_SHIFT) | pending << BYTES_SHIFT
    if pending or value & COUNT:
        return value
    expected = value >> EXPECTED_SHIFT & COUNT
    return (value ^ 1 << PARITY_SHIFT) & ~COUNT | expected


# --- queue layout -----------------------------------------------------------------------------------------------------
# Memory in which the copies of `cp.async` wait to arrive: a list for each thread of a block.
#
# `isa.memory.copy_queue` has the code. A header is followed by a row for each thread and by the entries, which are
# numbered from 1. An entry is a copy, or an arrival at an mbarrier after copies.

USED, FREE, ARRIVALS, MACHINE = 0, 8, 16, 24
"""Words of the header: entries that have been in use, the first that is free again, arrivals that are pending, and,
where accesses are checked, a pointer to the machine."""
HEADER_BYTES = 64
HEAD, TAIL, GROUP, THREAD_ARRIVALS = 0, 4, 8, 12
"""Words of a row: first and last entry, number of committed groups, arrivals that are pending."""
ROW_BYTES = 16
DATA, TARGET, NEXT, ENTRY_GROUP, SIZE = 0, 16, 24, 28, 32
"""Fields of an entry; an arrival has size 0."""
ENTRY_BYTES = 48
CAPACITY = 1 << 16
"""Entries: as many as shared memory has words, so that copies to all of it may be pending."""
ENTRIES = HEADER_BYTES + MAX_THREADS * ROW_BYTES
QUEUE_BYTES = ENTRIES + (CAPACITY + 1) * ENTRY_BYTES

"""Traces of one launch: rows that compiled code writes, and the costs that come of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.base import LaunchReport
from gpuregress.gpu.instruments import Costs, InstructionCost, Instruments
from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.instruments.launch_instrument import InstrumentedLaunch, LaunchInstrument
from gpuregress.virtual_gpu.runtime.machine_layout import (
    LOCAL_WINDOW,
    REGION_SHIFT,
    SHARED_WINDOW,
    TRACE_FLUSH,
    TRACE_FULL,
    Machine,
)
from gpuregress.virtual_gpu.runtime.probe_sites import OTHER_BLOCK, Stretch, TracedAccess, TracedInstruction

# --- warp requests ----------------------------------------------------------------------------------------------------
# Combination of the traces of lanes into requests of converged warps: sectors, bank conflicts.
#
# A row of a trace is one execution of a stretch of instructions by one lane. Rows of a warp that belong to the same
# part of its way between two waits, and to the same iterations of the loops around, are one execution by the warp.

Words = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.int64]
LANES = 32
INACTIVE = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
"""Address of a lane whose guard is false."""
_SECTOR_SHIFT, _WORD_SHIFT, _BANKS = np.uint64(5), np.uint64(2), 32
_LANE_BITS = np.uint64(5)
_MIX = tuple(np.uint64(value) for value in (0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9))


class WarpGroups(Record):
    """The rows of a stretch, grouped by executions of warps.

    Attributes:
        order: the rows, those of a group together.
        group: number of each row's group, in that order.
        lane: of each row, in that order.
        count: groups.
    """

    order: Indices
    group: Indices
    lane: Indices
    count: int

    def matrix(self, column: Words, fill: np.uint64 = INACTIVE) -> Words:
        """A column of the rows by group and lane."""
        cells = np.full((self.count, LANES), fill, np.uint64)
        cells[self.group, self.lane] = column[self.order]
        return cells


def group_rows(keys: Words, iterations: Words) -> WarpGroups:
    """Group the rows of a stretch.

    Args:
        keys: number of the warp's way between two waits, times 32, plus the lane.
        iterations: a number for the iterations of the loops around.
    """
    lanes = (keys & np.uint64(LANES - 1)).astype(np.int64)
    with np.errstate(over="ignore"):
        mixed = (keys >> _LANE_BITS) * _MIX[0] ^ iterations * _MIX[1]
    order = np.argsort(mixed, kind="stable")
    group = _numbers(mixed[order])
    lane = lanes[order]
    cells = group * LANES + lane
    if len(np.unique(cells)) != len(cells):  # a lane that comes several times, as to a called function
        with np.errstate(over="ignore"):
            mixed = mixed + _ranks(mixed, lanes) * _MIX[2]
        order = np.argsort(mixed, kind="stable")
        group, lane = _numbers(mixed[order]), lanes[order]
    return WarpGroups(order, group, lane, int(group[-1]) + 1 if len(group) else 0)


def _numbers(values: Words) -> Indices:
    """Number runs of equal values from 0."""
    starts = np.empty(len(values), np.bool_)
    starts[:1] = False
    starts[1:] = values[1:] != values[:-1]
    return np.cumsum(starts)


def _ranks(mixed: Words, lanes: Indices) -> Words:
    """Return how often each row's lane came to the same place before."""
    order = np.lexsort((lanes, mixed))
    same = np.zeros(len(mixed), np.bool_)
    same[1:] = (mixed[order][1:] == mixed[order][:-1]) & (lanes[order][1:] == lanes[order][:-1])
    place = np.arange(len(mixed))
    first = np.maximum.accumulate(np.where(same, 0, place))
    ranks = np.empty(len(mixed), np.uint64)
    ranks[order] = (place - first).astype(np.uint64)
    return ranks


def requests(addresses: Words) -> int:
    """Executions in which a lane takes part."""
    return int((addresses != INACTIVE).any(axis=1).sum())


def sectors(addresses: Words, size: int) -> int:
    """Sectors of 32 bytes, each counted once for a request.

    Args:
        addresses: of the lanes, by request; aligned to the size.
        size: bytes that each lane accesses.
    """
    numbers = np.sort(np.where(addresses == INACTIVE, INACTIVE, addresses >> _SECTOR_SHIFT), axis=1)
    wide = max(1, size >> 5)
    return wide * _distinct(numbers)


def _distinct(rows: Words) -> int:
    """Different values in each sorted row, `INACTIVE` left out, summed."""
    first = rows != INACTIVE
    first[:, 1:] &= rows[:, 1:] != rows[:, :-1]
    return int(first.sum())


def bank_conflicts(addresses: Words, size: int, *, merges: bool = False, shares: bool = True) -> tuple[int, int]:
    """Passes over shared memory, and those of them that bank conflicts cause.

    A request of 8 bytes a lane is made in two halves of the warp, one of 16 bytes in four quarters. In each of them a
    bank delivers one word of 4 bytes in a pass; lanes that want the same word share it. Two parts of a load are one
    where each lane wants the same as its neighbour, or as the lane two away, as was measured on an H200.

    Args:
        addresses: of the lanes, by request; aligned to the size.
        size: bytes that each lane accesses.
        merges: for a load.
        shares: whether lanes that want the same word share it.
    """
    words = max(1, size >> 2)
    parts = [addresses]
    if words > 1:
        unit = 2 * LANES // words
        rows = addresses.reshape(-1, unit)
        same = (_shared_by(rows, 1) | _shared_by(rows, 2)) if merges else np.zeros(len(rows), np.bool_)
        parts = [rows[same], rows[~same].reshape(-1, unit // 2)]
    passes = ideal = 0
    for part in parts:
        some = part[(part != INACTIVE).any(axis=1)]
        if not len(some):
            continue
        first = np.where(some == INACTIVE, INACTIVE, some >> _WORD_SHIFT)
        all_words = [np.where(first == INACTIVE, INACTIVE, first + np.uint64(step)) for step in range(words)]
        wanted = np.sort(np.concatenate(all_words, axis=1), axis=1)
        fresh = wanted != INACTIVE
        if shares:
            fresh[:, 1:] &= wanted[:, 1:] != wanted[:, :-1]
        row, _ = np.nonzero(fresh)
        bank = (wanted[fresh] & np.uint64(_BANKS - 1)).astype(np.int64)
        load = np.bincount(row * _BANKS + bank, minlength=len(some) * _BANKS).reshape(-1, _BANKS)
        passes += int(load.max(axis=1).sum())
        ideal += len(some)
    return passes, passes - ideal


def _shared_by(rows: Words, distance: int) -> npt.NDArray[np.bool_]:
    """Whether in each row every lane wants what the lane at a distance (by exclusive or) wants, or one is inactive."""
    other = rows[:, np.arange(rows.shape[1]) ^ distance]
    found: npt.NDArray[np.bool_] = ((rows == other) | (rows == INACTIVE) | (other == INACTIVE)).all(axis=1)
    return found


def contended(addresses: Words) -> int:
    """Lanes that update an address which an earlier lane of the same request updates, too."""
    active = int((addresses != INACTIVE).sum())
    return active - _distinct(np.sort(addresses, axis=1))


def divergent_branches(taken: Words) -> tuple[int, int]:
    """Executions of a branch by warps, and those of them in which lanes go both ways.

    Args:
        taken: 1 or 0 by execution and lane, `INACTIVE` for lanes that take no part.
    """
    some, other = (taken == 1).any(axis=1), (taken == 0).any(axis=1)
    return int((some | other).sum()), int((some & other).sum())


# --- warp trace -------------------------------------------------------------------------------------------------------


FIRST_WORDS, _MOST_CHUNK_WORDS = 1 << 12, 1 << 21
FLUSH_WORDS, MOST_WORDS = 1 << 23, 1 << 27
"""Words after which rows are combined at the next change of the warp; and those that one warp may need."""
_SHIFT = np.uint64(REGION_SHIFT)
_SHARED, _LOCAL = (np.uint64(window >> REGION_SHIFT) for window in (SHARED_WINDOW, LOCAL_WINDOW))
_WAITING = "loops that wait for other threads"
_OTHER = np.uint64((OTHER_BLOCK | SHARED_WINDOW) >> REGION_SHIFT)
_GENERIC = ("shared", "local", "global", "cluster")


class WarpTrace:
    """The traces of one launch.

    Args:
        machine: the launch's.
        stretches: of the module; row `number` of the heads belongs to stretch `number`.
    """

    def __init__(self, machine: Machine, stretches: Sequence[Stretch]) -> None:
        self._machine, self._stretches = machine, stretches
        self._heads = np.zeros((len(stretches), 2), np.uint64)
        self._chunks: list[list[Words]] = [[] for _ in stretches]
        self._words = 0
        self._lost = False
        self._totals: list[dict[tuple[int, str], int]] = [{} for _ in stretches]
        self._atomics: dict[int, int] = {}
        machine.trace = self._heads.ctypes.data
        machine.trace_warp = (1 << 64) - 1

    def full(self, head: int) -> None:
        """Give a stretch room for further rows.

        Args:
            head: address of its head.
        """
        number = (head - self._heads.ctypes.data) // 16
        chunks, words = self._chunks[number], self._stretches[number].words
        last = len(chunks[-1]) if chunks else 0
        if self._words > MOST_WORDS and chunks:
            self._lost = True  # the rows of the last chunk are written once more
            chunk = chunks[-1]
        else:
            size = min(_MOST_CHUNK_WORDS, max(FIRST_WORDS, 2 * last))
            chunk = np.empty(max(size, words), np.uint64)
            chunks.append(chunk)
            self._words += len(chunk)
        rows = len(chunk) // words
        self._heads[number] = chunk.ctypes.data, chunk.ctypes.data + 8 * words * rows
        if self._words > FLUSH_WORDS:
            self._machine.trace_flush = 1

    def flush(self) -> None:
        """Combine the rows so far; no warp is in the middle of its way."""
        for number, stretch in enumerate(self._stretches):
            chunks = self._chunks[number]
            if not chunks:
                continue
            parts = [chunk[: len(chunk) // stretch.words * stretch.words] for chunk in chunks]
            used = (int(self._heads[number, 0]) - chunks[-1].ctypes.data) // 8
            parts[-1] = parts[-1][:used]
            rows = np.concatenate(parts).reshape(-1, stretch.words)
            if len(rows):
                self._add(number, stretch, rows)
            self._chunks[number] = []
            self._heads[number] = 0
        self._words = 0
        self._machine.trace_flush = 0

    def costs(self, moved: Mapping[int, int] = MappingProxyType({}), waiting: Sequence[str] = ()) -> Costs:
        """The costs of the launch, with files as the compiler names them.

        Args:
            moved: number of a site → bytes that its bulk copies have moved.
            waiting: source lines of the loops that wait for other threads, which are not traced.
        """
        self.flush()
        rest, left_out = dict(moved), {_WAITING: dict.fromkeys(waiting)} if waiting else {}
        items: list[InstructionCost] = []
        for number, stretch in enumerate(self._stretches):
            for at, one in enumerate(stretch.instructions):
                counts = {name: count for (index, name), count in self._totals[number].items() if index == at and count}
                if one.site in rest:
                    counts["bytes"] = counts.get("bytes", 0) + rest.pop(one.site)
                path, line, _ = one.chain[-1] if one.chain else ("", 0, 0)
                if one.uncounted and counts:
                    left_out.setdefault(one.uncounted, {})[f"{Path(path).name or 'PTX'}:{line}"] = None
                items.append(InstructionCost("", path, line, one.ptx_line, one.mnemonic, one.kind, counts, one.chain))
        most = max(self._atomics.values(), default=0)
        lost = "a warp executes too many instructions between two waits" if self._lost else ""
        told = tuple(f"{what} ({', '.join(lines)})" for what, lines in left_out.items())
        return Costs(tuple(items), {"": most} if most else {}, lost, told)

    # --- one stretch --------------------------------------------------------------------------------------------------

    def _add(self, number: int, stretch: Stretch, rows: npt.NDArray[np.uint64]) -> None:
        groups = group_rows(rows[:, 0], rows[:, 1])
        for at, one in enumerate(stretch.instructions):
            self._count(number, at, "instructions", groups.count * one.count)
            self._count(number, at, "thread_instructions", len(rows) * one.count)
            if _is_wait(one):
                self._count(number, at, "barriers", groups.count)
            if one.kind == "tensor":
                self._count(number, at, "tensor_operations", groups.count * one.count)
        for column, access in enumerate(stretch.accesses, 2):
            self._add_access(number, access, groups, np.ascontiguousarray(rows[:, column]))
        if stretch.branch >= 0:
            branches, divergent = divergent_branches(groups.matrix(np.ascontiguousarray(rows[:, -1])))
            self._count(number, stretch.branch, "branches", branches)
            self._count(number, stretch.branch, "divergent_branches", divergent)

    def _add_access(self, number: int, access: TracedAccess, groups: WarpGroups, column: Words) -> None:
        cells = groups.matrix(column)
        cells[:, access.lanes :] = INACTIVE
        active = cells != INACTIVE
        windows = cells >> _SHIFT
        at, size = access.instruction, access.size
        self._count(number, at, "bytes", int(active.sum()) * size)
        for space in _GENERIC:
            here = active & (_of(windows, space))
            if not here.any():
                continue
            mine = np.where(here, cells, INACTIVE)
            if access.access == "atomic":
                self._count(number, at, "atomic_conflicts", contended(mine))
                if space == "global":
                    self._contend(mine[here])
            self._count(number, at, f"requests.{space}", requests(mine))
            if space == "cluster":
                continue
            if space == "shared":
                merges = access.access == "load"
                # By an address of the cluster a GPU makes each update of a word apart: measured on an H200.
                by_cluster = "shared::cluster" in self._stretches[number].instructions[at].mnemonic
                shares = not (by_cluster and access.access == "atomic")
                _, conflicts = bank_conflicts(mine, size, merges=merges, shares=shares)
                self._count(number, at, "bank_conflicts", conflicts)
                continue
            found = sectors(mine, size) if space == "global" else _local_sectors(mine, size)
            self._count(number, at, f"sectors.{space}", found)
            self._count(number, at, "requests", requests(mine))
            self._count(number, at, "sectors", found)

    def _contend(self, addresses: Words) -> None:
        for address, count in zip(*np.unique(addresses, return_counts=True), strict=True):
            self._atomics[int(address)] = self._atomics.get(int(address), 0) + int(count)

    def _count(self, number: int, at: int, name: str, count: int) -> None:
        if count:
            totals = self._totals[number]
            totals[at, name] = totals.get((at, name), 0) + count


def _is_wait(one: TracedInstruction) -> bool:
    """Whether a warp waits at an instruction for others of its block or cluster."""
    words = one.mnemonic.split(".")
    return one.kind == "barrier" and words[0] in ("bar", "barrier") and "arrive" not in words


def _of(windows: Words, space: str) -> npt.NDArray[np.bool_]:
    """Whether addresses belong to a state space, by their windows."""
    shared: npt.NDArray[np.bool_] = windows == _SHARED
    local: npt.NDArray[np.bool_] = windows == _LOCAL
    other: npt.NDArray[np.bool_] = windows == _OTHER
    return {"shared": shared, "local": local, "cluster": other}.get(space, ~(shared | local | other))


def _local_sectors(addresses: Words, size: int) -> int:
    """Sectors of local memory, in which the words of the lanes of a warp with one offset lie side by side."""
    lanes = np.arange(LANES, dtype=np.uint64) << np.uint64(2)
    offsets = (addresses & np.uint64((1 << REGION_SHIFT) - 1)) >> np.uint64(2)
    placed = np.where(addresses == INACTIVE, INACTIVE, (offsets << np.uint64(7)) | lanes)
    return max(1, size // 4) * sectors(placed, 4)


# --- exact costs ------------------------------------------------------------------------------------------------------
# Exact costs of a launch, from the traces of its warps.


class ExactCosts(LaunchInstrument):
    """The costs of each instruction of a launch."""

    def __init__(self) -> None:
        self._trace: WarpTrace | None = None

    def serves(self, wanted: Instruments) -> bool:
        """Whether costs are asked for."""
        return wanted.costs

    def before(self, launch: InstrumentedLaunch) -> None:
        """Give the traces memory."""
        trace = self._trace = WarpTrace(launch.machine, launch.program.stretches)
        launch.calls[TRACE_FULL] = trace.full
        launch.calls[TRACE_FLUSH] = lambda _arguments: trace.flush()

    def after(self, launch: InstrumentedLaunch, report: LaunchReport) -> LaunchReport:
        """Add the costs."""
        trace, self._trace = self._trace, None
        if trace is None:
            return report
        return replace(report, costs=trace.costs(launch.bulk.moved, launch.kernel.uncounted))

    def clear(self) -> None:
        """Forget the traces of a launch that did not end."""
        self._trace = None

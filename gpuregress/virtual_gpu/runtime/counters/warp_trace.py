"""Traces of one launch: rows that compiled code writes, and the costs that come of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.costs import Costs, InstructionCost
from gpuregress.virtual_gpu.runtime.counters import warp_requests
from gpuregress.virtual_gpu.runtime.counters.stretches import OTHER_BLOCK, Stretch, TracedAccess, TracedInstruction
from gpuregress.virtual_gpu.runtime.counters.warp_requests import INACTIVE, LANES, WarpGroups, Words
from gpuregress.virtual_gpu.runtime.machine_layout import LOCAL_WINDOW, REGION_SHIFT, SHARED_WINDOW, Machine

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
        groups = warp_requests.group_rows(rows[:, 0], rows[:, 1])
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
            branches, divergent = warp_requests.divergent(groups.matrix(np.ascontiguousarray(rows[:, -1])))
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
                self._count(number, at, "atomic_conflicts", warp_requests.contended(mine))
                if space == "global":
                    self._contend(mine[here])
            self._count(number, at, f"requests.{space}", warp_requests.requests(mine))
            if space == "cluster":
                continue
            if space == "shared":
                merges = access.access == "load"
                # By an address of the cluster a card makes each update of a word apart: measured on an H200.
                by_cluster = "shared::cluster" in self._stretches[number].instructions[at].mnemonic
                shares = not (by_cluster and access.access == "atomic")
                _, conflicts = warp_requests.conflicts(mine, size, merges=merges, shares=shares)
                self._count(number, at, "bank_conflicts", conflicts)
                continue
            found = warp_requests.sectors(mine, size) if space == "global" else _local_sectors(mine, size)
            self._count(number, at, f"sectors.{space}", found)
            self._count(number, at, "requests", warp_requests.requests(mine))
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
    return max(1, size // 4) * warp_requests.sectors(placed, 4)

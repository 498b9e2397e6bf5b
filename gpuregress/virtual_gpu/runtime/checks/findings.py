"""Findings of the dynamic checks in words: which element, which threads, which source lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.errors import CALLED_AT
from gpuregress.gpu.instruments import CheckFinding
from gpuregress.gpu.programs import Dim3
from gpuregress.gpu.records import Record, replace
from gpuregress.gpu.schedules import BLOCKS, COPIES, THREADS, WARPS, Conflict
from gpuregress.virtual_gpu.runtime import faults
from gpuregress.virtual_gpu.runtime.checks import layout, matrix_and_texel_reads
from gpuregress.virtual_gpu.runtime.checks.bulk_notes import Deliveries
from gpuregress.virtual_gpu.runtime.checks.causality import Causality, cluster_numbers
from gpuregress.virtual_gpu.runtime.checks.matrix_and_texel_reads import WARPGROUP, MatrixReads
from gpuregress.virtual_gpu.runtime.checks.running_block import (
    READER,
    STAMP_SHIFT,
    WRITE,
    Numbers,
    Report,
    RunningBlock,
    Words,
)
from gpuregress.virtual_gpu.runtime.device_heap import DeviceHeap
from gpuregress.virtual_gpu.runtime.faults import FaultContext
from gpuregress.virtual_gpu.runtime.lane_exchanges import ADVICE, AT_LEAST, TRITON, language_of
from gpuregress.virtual_gpu.runtime.machine_layout import (
    CHECK_ORDER,
    CHECK_REPORT,
    CLUSTER_SHIFT,
    REGION_SHIFT,
    SHARED_WINDOW,
)
from gpuregress.virtual_gpu.runtime.program import ModuleFacts, Site

# --- conflicts --------------------------------------------------------------------------------------------------------
# Conflicting accesses of a launch: those that only the order of its blocks, warps and lanes orders.

MOST_PAIRS = 4_096
"""Of blocks, warps or threads at a buffer or variable: those behind are not kept."""


class _Pair(Record):
    part: str
    earlier: int
    later: int
    memory: int
    """The region that both access: a buffer, a variable, shared memory."""


@dataclass(slots=True)
class ConflictLog:
    """The pairs of blocks, warps and threads of one launch whose accesses conflict.

    Attributes:
        block_at: the linear number of the block that ran at a stamp.
        cluster: the number of the cluster of a block.
        is_cut: whether there were more pairs than are kept.
    """

    block_at: Callable[[int], int]
    cluster: Callable[[int], int]
    is_cut: bool = False
    _found: dict[_Pair, tuple[int, int, int, int]] = field(default_factory=dict)

    def add(self, kind: int, address: int, epoch: int, other: int) -> None:
        """Note a report of the check of races: its words."""
        pair = _Pair(*self._ordered(kind, epoch, other), address >> REGION_SHIFT)
        if len(self._found) < MOST_PAIRS:
            self._found.setdefault(pair, (kind, address, epoch, other))
        else:
            self.is_cut = self.is_cut or pair not in self._found

    def all(self, describe: Callable[[int, int, int, int], tuple[str, str, str]]) -> tuple[Conflict, ...]:
        """Return the conflicts in the order in which they came.

        Args:
            describe: the words of a report → both accesses in words, their source lines, and the element.
        """
        return tuple(self._conflict(pair, *describe(*report)) for pair, report in self._found.items())

    @staticmethod
    def _conflict(pair: _Pair, text: str, lines: str, element: str) -> Conflict:
        return Conflict(pair.part, pair.earlier, pair.later, text, lines, element.strip("`").partition("[")[0])

    def _ordered(self, kind: int, epoch: int, other: int) -> tuple[str, int, int]:
        """What orders the two accesses, and the numbers of the earlier and the later of that."""
        if kind == layout.UNARRIVED:
            return COPIES, 0, 0
        blocks = [self.block_at(layout.epoch_stamp(one)) for one in (other, epoch)]
        if blocks[0] != blocks[1]:
            clusters = [self.cluster(block) for block in blocks]
            return BLOCKS if clusters[0] != clusters[1] else "", clusters[0], clusters[1]
        threads = layout.epoch_thread(other), layout.epoch_thread(epoch)
        warps = threads[0] // SM_90.warp_size, threads[1] // SM_90.warp_size
        return (WARPS, *warps) if warps[0] != warps[1] else (THREADS, *threads)


# --- block end --------------------------------------------------------------------------------------------------------
# Accesses of other blocks to the shared memory of a block of a cluster, when that block ends.
#
# The end of a block is like a write to all of its shared memory: each access of another block has to come before it.
# Threads end in any order, so that it suffices if one thread of the block knows of the access when it exits.
# CUDA C++ programming guide, "Distributed shared memory".


class BlockEnd:
    """The ends of the blocks of one launch.

    Args:
        block: the running one.
        is_released: whether releases order an earlier epoch before an access of any thread of the running block.
        report: takes what is found.
    """

    def __init__(self, block: RunningBlock, is_released: Callable[[int], bool], report: Report) -> None:
        self._block, self._is_released, self._report = block, is_released, report

    def take(self, _arguments: int) -> None:
        """Report what other blocks have accessed in the block that ends, and nothing orders before its end."""
        now, machine = self._block.begin(0, 0), self._block.machine
        for numbers, epochs in self._accesses():
            known = np.array([self._is_known(int(one)) for one in epochs], np.bool_)
            for number, epoch in zip(numbers[~known], epochs[~known], strict=True):
                self._report(layout.ENDED, self._block.shared.address(machine.shared, int(number)), int(epoch), now)

    def _accesses(self) -> Iterator[tuple[Numbers, Words]]:
        """Cells with the epochs of other blocks' accesses, one cell for each epoch."""
        first, second = self._block.shared.planes()
        for word, mark in ((WRITE, layout.WRITE_LIST), (READER, layout.READER_LIST)):
            yield self._of_others(*self._block.accesses(first[:, word], second[:, word], mark))

    def _of_others(self, numbers: Numbers, epochs: Words) -> tuple[Numbers, Words]:
        recent = epochs >= self._block.word("start")
        epochs, numbers = epochs[recent], numbers[recent]
        own = self._block.word("number")
        others = np.array([self._block.shadow.block_at(int(one)) != own for one in epochs >> STAMP_SHIFT], np.bool_)
        return numbers[others], epochs[others]

    def _is_known(self, epoch: int) -> bool:
        """Whether a thread of the block that ends has waited, at the cluster's barrier or for a release, behind it."""
        whose = self._block.shadow.block_at(layout.epoch_stamp(epoch))
        return self._block.has_met(whose, epoch) or self._is_released(epoch)


# --- findings ---------------------------------------------------------------------------------------------------------

_PLACES = re.compile(r"[^\s()]+:\d+(?:" + re.escape(CALLED_AT) + r"[^\s()]+:\d+)*(?= →|\))")
_OF_TRITON = "global_smem"
"""The shared memory of a Triton kernel, all of it."""
_MBARRIER_BYTES = 8
_MOST_REPORTS = 20_000
"""Reports of a launch that are looked at: the count of a finding is not exact beyond."""
_MORE_OF_A_BLOCK, _MOST_OF_ALL_BLOCKS = 256, 2 * _MOST_REPORTS
_SETTLED = frozenset([layout.UNINITIALIZED, layout.UNARRIVED, layout.STALE, layout.ENDED, layout.NO_FENCE])
"""Kinds that no order between the two accesses makes right."""
_ORDERLESS = frozenset(
    [layout.UNINITIALIZED, layout.UNFENCED, layout.STALE, layout.ENDED, layout.NO_FENCE, layout.UNFENCED_INIT]
)
"""Kinds that are no two accesses which another schedule may exchange."""


class _Access(Record):
    """One of the two accesses of a race.

    Attributes:
        site: the instruction.
        thread: its coordinates in the block.
        block: of the grid.
        number: of the thread in its block.
    """

    site: Site
    thread: Dim3
    block: Dim3
    number: int

    @property
    def action(self) -> str:
        """`write`, `read`, `atomic access`; `asynchronous copy` for a bulk copy."""
        return self.site.action or "asynchronous copy"

    @property
    def is_incoherent(self) -> bool:
        """Whether it is a read through a cache that sees no writes of its launch."""
        return self.site.action in matrix_and_texel_reads.INCOHERENT or self.is_read_only_load

    @property
    def is_read_only_load(self) -> bool:
        """Whether it is `ld.global.nc`, of `__ldg` or a `const __restrict__` pointer.

        PTX ISA manual, 9.7.9.9 "ld.global.nc": the memory must not be written by the kernel.
        """
        return "nc" in self.site.mnemonic.split(".")

    @property
    def who(self) -> str:
        """`thread (0,0,0) of block (2,0,0)`."""
        return f"{_triple('thread', self.thread)} of {_triple('block', self.block)}"


class LaunchFindings:
    """The findings of one launch.

    Args:
        block: the running one.
        scene: gives the launch's facts, when a report comes.
        keeps_conflicts: whether each pair of conflicting blocks, warps and threads is kept.

    Attributes:
        deliveries: follows the arrivals of bulk copies.
        ends: follows the ends of blocks.
        products: follows the reads of wgmma.
    """

    def __init__(
        self,
        block: RunningBlock,
        scene: Callable[[], FaultContext],
        *,
        keeps_conflicts: bool = False,
    ) -> None:
        machine, shadow = block.machine, block.shadow
        self._machine, self._shadow, self._scene = machine, shadow, scene
        self._found: dict[tuple[object, ...], CheckFinding] = {}
        self._counts: dict[tuple[object, ...], int] = {}
        self._reports, self._limit = 0, _MOST_REPORTS
        self.same_value = ""
        """Two plain writes of one value that nothing orders, the first of the launch; no fault."""
        grid, sides = (
            (getattr(machine, f"{name}_x"), getattr(machine, f"{name}_y"), getattr(machine, f"{name}_z"))
            for name in ("grid", "cluster")
        )
        cluster = self._cluster_number = cluster_numbers(grid, sides)
        self._causality = Causality(machine, shadow, cluster)
        self.deliveries = Deliveries(block, self._causality.is_any_ordered)
        self.ends = BlockEnd(block, self._causality.is_known, self.add)
        self.products = MatrixReads(block, self._causality.is_any_ordered, self.add)
        self._log = ConflictLog(shadow.block_at, cluster) if keeps_conflicts else None

    def take(self, number: int = CHECK_REPORT) -> None:
        """Take a report from the launch's state.

        Args:
            number: of the call.
        """
        if number == CHECK_ORDER:
            kind, address, epoch, scope = self._shadow.report
            if kind & layout.WAITS:
                self.deliveries.note_wait(layout.epoch_thread(epoch))
            elif kind & layout.PROXY_FENCE:
                self._causality.note_proxy_fence(epoch, scope)
            elif kind & layout.INITIALIZES:
                self.deliveries.note_initialization(address, epoch)
            else:
                self._causality.follow()  # The log is full.
            return
        self.add(*self._shadow.report)

    def add(self, kind: int, address: int, epoch: int, other: int) -> None:
        """Add what was found, unless fences, releases and acquires order the two accesses.

        Args:
            kind: `layout.RACE` …
            address: generic, or in the window of shared memory.
            epoch: of the access.
            other: of the earlier one.
        """
        if kind == layout.UNFENCED:
            if self._causality.is_fenced(other, layout.OF_GLOBAL if self._is_global(address) else layout.OF_SHARED):
                return
        elif kind == layout.UNFENCED_INIT:
            if self._causality.is_fenced(other, layout.OF_INITS):
                return
        elif kind not in _SETTLED and self._is_ordered(other, epoch):
            if not self._access(epoch).is_incoherent:
                return
            kind = layout.STALE
        if kind == layout.SAME_WRITES:
            self._shadow.note_same_value()
            self._add_same_value(address, self._access(other), self._access(epoch))
            return
        self._reports += 1
        if self._reports >= self._limit:
            # Each further block may still tell a few: it may race with an earlier block, not only within itself.
            self._shadow.stop(until_next_block=self._reports < _MOST_OF_ALL_BLOCKS)
            self._limit = self._reports + _MORE_OF_A_BLOCK
        if self._log is not None and kind not in _ORDERLESS:
            self._log.add(kind, address, epoch, other)
        if kind == layout.ORDERED_BY_LUCK:
            return
        sites = layout.epoch_site(epoch), layout.epoch_site(other)
        if self._is_product(sites[1]) and kind == layout.UNARRIVED:
            kind = layout.RACE  # The wait tells of writes before it, later writes of the wait.
        # A function that is not inlined is one site, whatever memory it is given.
        key = (layout.RACE if kind == layout.STALE else kind, *sites, self._memory(address))
        self._counts[key] = self._counts.get(key, 0) + 1
        # The widest scope stands for the others: what orders two blocks orders two warps, too.
        scope = self._scope(kind, epoch, other)
        if key not in self._found or scope > self._found[key].scope:
            self._found[key] = replace(self._described(kind, address, epoch, other), scope=scope)

    def _described(self, kind: int, address: int, epoch: int, other: int) -> CheckFinding:
        later = self._access(epoch)
        if kind == layout.UNINITIALIZED:
            return self._uninitialized(address, later)
        if kind == layout.NO_FENCE:
            return self._without_fence(later)
        if kind == layout.ENDED:
            return self._ended(address, later, self._access(other))
        is_delivered = self.deliveries.issued(other) is not None
        return self._race(kind, address, self._access(other), later, is_delivered=is_delivered)

    def _is_ordered(self, other: int, epoch: int) -> bool:
        if self._causality.is_ordered(other, epoch):
            return True
        return self.products.is_complete(other, epoch) or self.deliveries.is_known(other, epoch)

    def _add_same_value(self, address: int, earlier: _Access, later: _Access) -> None:
        """Keep the note on two writes of one value, if it is one about the user's own memory.

        Triton writes a value that several lanes hold once for each of them to the shared memory that it manages itself.
        """
        found = self._race(layout.SAME_WRITES, address, earlier, later)
        if not (found.variable == _OF_TRITON and language_of(self._scene(), later.site) is TRITON):
            self.same_value = found.message

    def _scope(self, kind: int, epoch: int, other: int) -> int:
        """How far apart the threads of two accesses are, as `CheckFinding.scope`."""
        if kind != layout.RACE:
            return int(kind != layout.UNINITIALIZED)
        earlier, later = (self._issued(one) for one in (other, epoch))
        blocks = [self._shadow.block_at(layout.epoch_stamp(one)) for one in (earlier, later)]
        if blocks[0] != blocks[1]:
            return 2 if self._cluster_number(blocks[0]) == self._cluster_number(blocks[1]) else 3
        warps = [layout.epoch_thread(one) // SM_90.warp_size for one in (earlier, later)]
        return int(warps[0] != warps[1])

    def _is_product(self, site: int) -> bool:
        """Whether a site is a wgmma."""
        return self._scene().module.sites[site].mnemonic.startswith("wgmma")

    def all(self) -> tuple[CheckFinding, ...]:
        """The findings, races first, those of the widest scope before others, in the order in which they came."""
        keys = sorted(
            self._found, key=lambda key: (key[0] not in (layout.RACE, layout.UNARRIVED), -self._found[key].scope)
        )
        return tuple(_counted(self._found[key], self._counts[key]) for key in keys)

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The conflicting accesses that were kept."""
        return () if self._log is None else self._log.all(self._told)

    @property
    def is_cut(self) -> bool:
        """Whether there were more reports, or more conflicts, than are looked at."""
        return self._reports >= _MOST_REPORTS or (self._log is not None and self._log.is_cut)

    def _told(self, kind: int, address: int, epoch: int, other: int) -> tuple[str, str, str]:
        """Both accesses of a report in words, their source lines, and the element."""
        earlier, later = self._access(other), self._access(epoch)
        element = self._element(later.site if later.site.size else earlier.site, address)
        if kind != layout.ORDERED_BY_LUCK:
            found = self._race(kind, address, earlier, later)
            return found.message, found.lines, element
        who = _triple("thread", later.thread) if earlier.block == later.block else later.who
        places = _places(earlier.site, later.site)
        first = f"{earlier.action} by {earlier.who} at {places[0]}"
        second = f"{later.action} by {who} at {places[1]}"
        return f"order of accesses to {element}: {first} and {second}", _lines(earlier.site, later.site), element

    def of_exchange(self, text: str) -> tuple[CheckFinding, ...]:
        """The finding of an exchange between lanes, unless a race at the same lines tells it already.

        Args:
            text: of `lane_exchanges.describe`.
        """
        chains = [tuple(place.split(CALLED_AT)) for place in _PLACES.findall(text)]
        lines = [chain[0] for chain in chains]
        known = any(set(lines) <= set(finding.lines.split(", ")) for finding in self._found.values())
        if known:
            return ()
        where = lines[-1] if lines else ""
        told = text.removeprefix(AT_LEAST).partition(ADVICE)[0]
        message, calls = f"relies on a converged warp: {told}", _calls(chains)
        return (CheckFinding("race", message, location=where, lines=", ".join(lines), calls=calls),)

    def _issued(self, epoch: int) -> int:
        """The epoch of an access; of one that has waited for a copy, that of its issue."""
        issued = self.deliveries.issued(epoch)
        return epoch if issued is None else issued

    def _access(self, epoch: int) -> _Access:
        scene, epoch = self._scene(), self._issued(epoch)
        number, block = layout.epoch_thread(epoch), self._shadow.block_at(layout.epoch_stamp(epoch))
        grid = (self._machine.grid_x, self._machine.grid_y, self._machine.grid_z)
        site = scene.module.sites[layout.epoch_site(epoch)]
        return _Access(site, faults.coordinates(number, scene.block), faults.coordinates(block, grid), number)

    @staticmethod
    def _is_global(address: int) -> bool:
        return address >> REGION_SHIFT not in (0, SHARED_WINDOW >> REGION_SHIFT)

    def _race(
        self, kind: int, address: int, earlier: _Access, later: _Access, *, is_delivered: bool = False
    ) -> CheckFinding:
        typed = later.site if later.site.size else earlier.site
        if kind == layout.UNFENCED_INIT:
            typed = replace(earlier.site, size=_MBARRIER_BYTES)  # the copy's own type is that of what it copies
        element = self._element(typed, address)
        same_block = earlier.block == later.block
        places = _places(earlier.site, later.site)
        action = earlier.action
        if kind == layout.UNARRIVED:
            action = "asynchronous copy"
        elif kind == layout.UNFENCED_INIT:
            action = earlier.site.mnemonic
        first = f"{action} by {earlier.who} at {places[0]}"
        who = _triple("thread", later.thread) if same_block else later.who
        second = f"{later.action} by {who} at {places[1]}"
        if kind == layout.UNARRIVED:
            missing = "before the copy was waited for"
        elif is_delivered:
            missing = "with no wait for the copy"
        elif kind == layout.UNFENCED:
            missing = "with no fence.proxy.async between"
        elif kind == layout.UNFENCED_INIT:
            missing = "which signals it, with no fence.mbarrier_init or fence.proxy.async between"
        else:
            missing = self._missing(earlier, later)
        if kind == layout.SAME_WRITES:
            missing += "; both write the same value"
        message = f"data race on {element}: {first} and {second}, {missing}"
        return finding_at("race", message, later.site, (earlier.site, later.site), element)

    def _missing(self, earlier: _Access, later: _Access) -> str:
        if later.is_incoherent:
            how = " by ld.global.nc (__ldg, const __restrict__)" if later.is_read_only_load else ""
            return f"in one launch: a {later.action}{how} may miss what its own launch has written"
        if earlier.block != later.block:
            one, other = (self._cluster(block) for block in (earlier.block, later.block))
            return f"in two blocks {'of a cluster ' if one == other else ''}that nothing orders"
        if earlier.site.mnemonic.startswith("wgmma") and later.site.action != "read":
            is_same = earlier.number // WARPGROUP == later.number // WARPGROUP
            return "before the wgmma was waited for" if is_same else "with no barrier behind the wait for the wgmma"
        is_copy = not (earlier.site.action and later.site.action)
        if earlier.number // 32 == later.number // 32 and not is_copy:
            if earlier.site == later.site:
                return "two lanes of one warp in one instruction"
            wait = language_of(self._scene(), later.site).warp_barrier
            return f"two lanes of one warp, with no {wait} between: it relies on a converged warp"
        return "with no barrier between"

    def _cluster(self, block: Dim3) -> Dim3:
        """The coordinates of a block's cluster."""
        machine = self._machine
        return block[0] // machine.cluster_x, block[1] // machine.cluster_y, block[2] // machine.cluster_z

    def _uninitialized(self, address: int, access: _Access) -> CheckFinding:
        element = self._element(access.site, address)
        message = f"{element} is read and was never written: {access.action} by {access.who} at {access.site.where}"
        return finding_at("uninitialized", message, access.site, (), element)

    @staticmethod
    def _without_fence(access: _Access) -> CheckFinding:
        message = f"wgmma.mma_async at {access.site.where} with no wgmma.fence before it, by the warp of {access.who}: "
        message += "nothing orders the registers that were written before"
        return finding_at("race", message, access.site, (access.site,))

    def _ended(self, address: int, access: _Access, end: _Access) -> CheckFinding:
        element, where = self._element(access.site, address), access.site.where
        block = _triple("block", end.block)
        message = f"data race on {element}: {access.action} by {access.who} at {where} and the end of {block}"
        message += ", which frees its shared memory, with nothing that orders the access before the end"
        return finding_at("race", message, access.site, (access.site,), element)

    def _memory(self, address: int) -> object:
        """The region of an address, or the shared variable."""
        if self._is_global(address):
            return address >> REGION_SHIFT
        offset = address & (1 << CLUSTER_SHIFT) - 1
        return max((item.address for item in self._scene().module.shared if item.address <= offset), default=-1)

    def _element(self, site: Site, address: int) -> str:
        """`s[31]` (shared): the element that an address is in; a bulk copy's site does not tell its size."""
        if not site.size:
            site = replace(site, size=1 << self._scene().kernel.granules[0])
        if self._is_global(address):
            scene = self._scene()
            element, place = (
                faults.element_at(scene, site, address),
                matrix_and_texel_reads.place(scene.textures, address),
            )
            return f"{element} ({place})" if place else element
        rank, inside = divmod(address & (1 << REGION_SHIFT) - 1, 1 << CLUSTER_SHIFT)
        element = faults.element_at(self._scene(), site, SHARED_WINDOW + inside)
        return f"{element} of block rank {rank}" if self._machine.cluster_count > 1 else element


def finding_at(kind: str, message: str, site: Site, sites: Sequence[Site], element: str = "") -> CheckFinding:
    """A finding at the lines of its sites.

    Args:
        kind: of the fault.
        message: for people.
        site: that is blamed.
        sites: both, where there are two.
        element: "`s[31]` (shared)".
    """
    variable = element.partition("[")[0].strip("`") if "[" in element else ""
    calls = _calls([one.lines for one in sites or (site,)])
    return CheckFinding(kind, message, location=site.lines[0], lines=_lines(*sites), calls=calls, variable=variable)


def _lines(*sites: Site) -> str:
    """`dot.cuh:8, dot.cuh:13`: the innermost line of each site."""
    return ", ".join(site.lines[0] for site in sites)


def _calls(chains: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """The calls behind the innermost line of each chain; empty where nothing is inlined."""
    calls = tuple(tuple(chain[1:]) for chain in chains)
    return calls if any(calls) else ()


def _places(*sites: Site) -> list[str]:
    """The lines of two accesses; where one line of the user's stands for both, with those of the library."""
    if len({site.where for site in sites}) > 1:
        return [site.where for site in sites]
    return [CALLED_AT.join(filter(None, (site.library, site.where))) for site in sites]


def _counted(finding: CheckFinding, count: int) -> CheckFinding:
    return replace(finding, count=count)


def _triple(word: str, numbers: Dim3) -> str:
    return f"{word} ({','.join(map(str, numbers))})"


def leaks(heap: DeviceHeap, modules: Sequence[ModuleFacts]) -> tuple[CheckFinding, ...]:
    """What kernels have allocated and not freed, by the line of the allocation.

    Args:
        heap: of the device.
        modules: the facts of its programs, by number.
    """
    counts: dict[Site, tuple[int, int]] = {}
    for allocation in heap.held():
        module, number = allocation.born >> 32, allocation.born & 0xFFFF_FFFF
        site = modules[module].sites[number]
        count, size = counts.get(site, (0, 0))
        counts[site] = count + 1, size + allocation.size
    return tuple(
        replace(finding_at("leak", _leak(site.where, count, size), site, (site,)), count=count)
        for site, (count, size) in counts.items()
    )


def _leak(where: str, number: int, size: int) -> str:
    what = "an allocation" if number == 1 else f"{number:,} allocations"
    return f"{what} of {size:,} byte{'s' if size != 1 else ''} in all, made at {where}, not freed when the kernel ended"

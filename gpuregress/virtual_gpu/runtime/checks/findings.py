"""Findings of the dynamic checks in words: which element, which threads, which source lines."""

from __future__ import annotations

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
from gpuregress.virtual_gpu.runtime.fault_context import FaultContext, coordinates
from gpuregress.virtual_gpu.runtime.lane_exchanges import TRITON, LaneExchange, language_of
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
"""Of blocks, warps or threads at a buffer or variable: further ones are not kept."""


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
    _reports: dict[_Pair, tuple[int, int, int, int]] = field(default_factory=dict)

    def add(self, kind: int, address: int, epoch: int, other: int) -> None:
        """Note a report of the check of races: its words."""
        pair = _Pair(*self._ordered(kind, epoch, other), address >> REGION_SHIFT)
        if len(self._reports) < MOST_PAIRS:
            self._reports.setdefault(pair, (kind, address, epoch, other))
        elif pair not in self._reports:
            self.is_cut = True

    def all(self, describe: Callable[[int, int, int, int], tuple[str, str, str]]) -> tuple[Conflict, ...]:
        """Return the conflicts in the order in which they came.

        Args:
            describe: the words of a report → both accesses in words, their source lines, and the element.
        """
        conflicts = []
        for pair, report in self._reports.items():
            text, lines, element = describe(*report)
            conflicts.append(
                Conflict(
                    part=pair.part,
                    earlier=pair.earlier,
                    later=pair.later,
                    text=text,
                    lines=lines,
                    memory=_variable(element),
                )
            )
        return tuple(conflicts)

    def _ordered(self, kind: int, epoch: int, other: int) -> tuple[str, int, int]:
        """What orders the two accesses, and the numbers of the earlier and the later of that."""
        if kind == layout.UNARRIVED:
            return COPIES, 0, 0
        earlier_block = self.block_at(layout.epoch_stamp(other))
        later_block = self.block_at(layout.epoch_stamp(epoch))
        if earlier_block != later_block:
            earlier, later = self.cluster(earlier_block), self.cluster(later_block)
            return BLOCKS if earlier != later else "", earlier, later
        earlier, later = layout.epoch_thread(other), layout.epoch_thread(epoch)
        earlier_warp, later_warp = earlier // SM_90.warp_size, later // SM_90.warp_size
        if earlier_warp != later_warp:
            return WARPS, earlier_warp, later_warp
        return THREADS, earlier, later


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
            known = np.array([self._is_known(epoch) for epoch in epochs.tolist()], np.bool_)
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
        stamps = (epochs >> STAMP_SHIFT).tolist()
        blocks = np.array([self._block.shadow.block_at(stamp) for stamp in stamps], np.int64)
        is_other = blocks != self._block.word("number")
        return numbers[is_other], epochs[is_other]

    def _is_known(self, epoch: int) -> bool:
        """Whether a thread of the block that ends has waited, at the cluster's barrier or for a release, after it."""
        whose = self._block.shadow.block_at(layout.epoch_stamp(epoch))
        return self._block.has_met(whose, epoch) or self._is_released(epoch)


# --- findings ---------------------------------------------------------------------------------------------------------

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
        self._findings: dict[tuple[object, ...], CheckFinding] = {}
        self._counts: dict[tuple[object, ...], int] = {}
        self._reports, self._limit = 0, _MOST_REPORTS
        self.same_value = ""
        """Two plain writes of one value that nothing orders, the first of the launch; no fault."""
        self._grid: Dim3 = (machine.grid_x, machine.grid_y, machine.grid_z)
        self._cluster_sides: Dim3 = (machine.cluster_x, machine.cluster_y, machine.cluster_z)
        cluster = self._cluster_number = cluster_numbers(self._grid, self._cluster_sides)
        self._causality = Causality(machine, shadow, cluster)
        self.deliveries = Deliveries(block, self._causality.is_any_ordered)
        self.ends = BlockEnd(block, self._causality.is_known, self.add)
        self.products = MatrixReads(block, self._causality.is_any_ordered, self.add)
        self._log = ConflictLog(shadow.block_at, cluster) if keeps_conflicts else None

    def take(self, number: int = CHECK_REPORT) -> None:
        """Take a report from the launch's state."""
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
            window = layout.OF_GLOBAL if self._is_global(address) else layout.OF_SHARED
            if self._causality.is_fenced(other, window):
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
        if kind == layout.UNARRIVED and self._scene().module.sites[sites[1]].mnemonic.startswith("wgmma"):
            kind = layout.RACE  # The wait tells of writes before it, later writes of the wait.
        # A function that is not inlined is one site, whatever memory it is given.
        key_kind = layout.RACE if kind == layout.STALE else kind
        key = (key_kind, *sites, self._memory(address))
        self._counts[key] = self._counts.get(key, 0) + 1
        # The widest scope stands for the others: what orders two blocks orders two warps, too.
        scope = self._scope(kind, epoch, other)
        if key not in self._findings or scope > self._findings[key].scope:
            self._findings[key] = replace(self._described(kind, address, epoch, other), scope=scope)

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
        finding = self._race(layout.SAME_WRITES, address, earlier, later)
        if finding.variable != _OF_TRITON or language_of(self._scene(), later.site) is not TRITON:
            self.same_value = finding.message

    def _scope(self, kind: int, epoch: int, other: int) -> int:
        """How far apart the threads of two accesses are, as `CheckFinding.scope`."""
        if kind != layout.RACE:
            return int(kind != layout.UNINITIALIZED)
        earlier, later = self._issued(other), self._issued(epoch)
        earlier_block = self._shadow.block_at(layout.epoch_stamp(earlier))
        later_block = self._shadow.block_at(layout.epoch_stamp(later))
        if earlier_block != later_block:
            is_one_cluster = self._cluster_number(earlier_block) == self._cluster_number(later_block)
            return 2 if is_one_cluster else 3
        earlier_warp = layout.epoch_thread(earlier) // SM_90.warp_size
        return int(earlier_warp != layout.epoch_thread(later) // SM_90.warp_size)

    def all(self) -> tuple[CheckFinding, ...]:
        """The findings, races first, those of the widest scope before others, in the order in which they came."""

        def rank(key: tuple[object, ...]) -> tuple[bool, int]:
            return key[0] not in (layout.RACE, layout.UNARRIVED), -self._findings[key].scope

        return tuple(replace(self._findings[key], count=self._counts[key]) for key in sorted(self._findings, key=rank))

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The conflicting accesses that were kept."""
        if self._log is None:
            return ()
        return self._log.all(self._describe_conflict)

    @property
    def is_cut(self) -> bool:
        """Whether there were more reports, or more conflicts, than are looked at."""
        return self._reports >= _MOST_REPORTS or (self._log is not None and self._log.is_cut)

    def _describe_conflict(self, kind: int, address: int, epoch: int, other: int) -> tuple[str, str, str]:
        """Both accesses of a report in words, their source lines, and the element."""
        earlier, later = self._access(other), self._access(epoch)
        element = self._shared_element(address, earlier, later)
        if kind != layout.ORDERED_BY_LUCK:
            finding = self._race(kind, address, earlier, later)
            return finding.message, finding.lines, element
        text = f"order of accesses to {element}: {_both(earlier.action, earlier, later)}"
        return text, _lines(earlier.site, later.site), element

    def of_exchange(self, exchange: LaneExchange) -> tuple[CheckFinding, ...]:
        """The finding of an exchange between lanes, unless a race at the same lines tells it already."""
        sites = (exchange.write, exchange.read)
        lines = {site.lines[0] for site in sites}
        for finding in self._findings.values():
            if lines <= set(finding.lines.split(", ")):
                return ()
        return (finding_at("race", f"relies on a converged warp: {exchange.text}", exchange.read, sites),)

    def _issued(self, epoch: int) -> int:
        """The epoch of an access; of one that has waited for a copy, that of its issue."""
        issued = self.deliveries.issued(epoch)
        return issued if issued is not None else epoch

    def _access(self, epoch: int) -> _Access:
        scene, epoch = self._scene(), self._issued(epoch)
        number = layout.epoch_thread(epoch)
        block = self._shadow.block_at(layout.epoch_stamp(epoch))
        return _Access(
            site=scene.module.sites[layout.epoch_site(epoch)],
            thread=coordinates(number, scene.block),
            block=coordinates(block, self._grid),
            number=number,
        )

    @staticmethod
    def _is_global(address: int) -> bool:
        return address >> REGION_SHIFT not in (0, SHARED_WINDOW >> REGION_SHIFT)

    def _race(
        self, kind: int, address: int, earlier: _Access, later: _Access, *, is_delivered: bool = False
    ) -> CheckFinding:
        element = self._shared_element(address, earlier, later)
        if kind == layout.UNFENCED_INIT:
            # The copy's own type is that of what it copies.
            element = self._element(replace(earlier.site, size=_MBARRIER_BYTES), address)
        action = earlier.action
        if kind == layout.UNARRIVED:
            action = "asynchronous copy"
        elif kind == layout.UNFENCED_INIT:
            action = earlier.site.mnemonic
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
        message = f"data race on {element}: {_both(action, earlier, later)}, {missing}"
        return finding_at("race", message, later.site, (earlier.site, later.site), element)

    def _missing(self, earlier: _Access, later: _Access) -> str:
        if later.is_incoherent:
            access = later.action
            if later.is_read_only_load:
                access += " by ld.global.nc (__ldg, const __restrict__)"
            return f"in one launch: a {access} may miss what its own launch has written"
        if earlier.block != later.block:
            if self._cluster(earlier.block) == self._cluster(later.block):
                return "in two blocks of a cluster that nothing orders"
            return "in two blocks that nothing orders"
        if earlier.site.mnemonic.startswith("wgmma") and later.site.action != "read":
            if earlier.number // WARPGROUP == later.number // WARPGROUP:
                return "before the wgmma was waited for"
            return "with no barrier after the wait for the wgmma"
        is_copy = not (earlier.site.action and later.site.action)
        if earlier.number // 32 == later.number // 32 and not is_copy:
            if earlier.site == later.site:
                return "two lanes of one warp in one instruction"
            wait = language_of(self._scene(), later.site).warp_barrier
            return f"two lanes of one warp, with no {wait} between: it relies on a converged warp"
        return "with no barrier between"

    def _cluster(self, block: Dim3) -> Dim3:
        """The coordinates of a block's cluster."""
        x, y, z = self._cluster_sides
        return block[0] // x, block[1] // y, block[2] // z

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
        element = self._element(access.site, address)
        message = f"data race on {element}: {access.action} by {access.who} at {access.site.where}"
        message += f" and the end of {_triple('block', end.block)}"
        message += ", which frees its shared memory, with nothing that orders the access before the end"
        return finding_at("race", message, access.site, (access.site,), element)

    def _memory(self, address: int) -> object:
        """The region of an address, or the shared variable."""
        if self._is_global(address):
            return address >> REGION_SHIFT
        offset = address & (1 << CLUSTER_SHIFT) - 1
        return max((item.address for item in self._scene().module.shared if item.address <= offset), default=-1)

    def _shared_element(self, address: int, earlier: _Access, later: _Access) -> str:
        """The element that both accesses are at."""
        return self._element(later.site if later.site.size else earlier.site, address)

    def _element(self, site: Site, address: int) -> str:
        """`s[31]` (shared): the element that an address is in; a bulk copy's site does not tell its size."""
        scene = self._scene()
        if not site.size:
            site = replace(site, size=1 << scene.kernel.granules[0])
        if self._is_global(address):
            element = faults.element_at(scene, site, address)
            texel = matrix_and_texel_reads.place(scene.textures, address)
            return f"{element} ({texel})" if texel else element
        rank, inside = divmod(address & (1 << REGION_SHIFT) - 1, 1 << CLUSTER_SHIFT)
        element = faults.element_at(scene, site, SHARED_WINDOW + inside)
        if self._machine.cluster_count > 1:
            element += f" of block rank {rank}"
        return element


def finding_at(kind: str, message: str, site: Site, sites: Sequence[Site], element: str = "") -> CheckFinding:
    """A finding at the lines of its sites.

    Args:
        kind: of the fault.
        message: for people.
        site: that is blamed.
        sites: both, where there are two.
        element: "`s[31]` (shared)".
    """
    return CheckFinding(
        kind,
        message,
        location=site.lines[0],
        lines=_lines(*sites),
        calls=_calls([item.lines for item in sites or (site,)]),
        variable=_variable(element) if "[" in element else "",
    )


def _variable(element: str) -> str:
    """The name in "`s[31]` (shared)"."""
    return element.strip("`").partition("[")[0]


def _both(action: str, earlier: _Access, later: _Access) -> str:
    """Two accesses with their threads and places; the first one's action."""
    places = _places(earlier.site, later.site)
    who = _triple("thread", later.thread) if earlier.block == later.block else later.who
    return f"{action} by {earlier.who} at {places[0]} and {later.action} by {who} at {places[1]}"


def _lines(*sites: Site) -> str:
    """`dot.cuh:8, dot.cuh:13`: the innermost line of each site."""
    return ", ".join(site.lines[0] for site in sites)


def _calls(chains: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """The calls after the innermost line of each chain; empty where nothing is inlined."""
    calls = tuple(tuple(chain[1:]) for chain in chains)
    return calls if any(calls) else ()


def _places(*sites: Site) -> list[str]:
    """The lines of two accesses; where one line of the user's stands for both, with those of the library."""
    if len({site.where for site in sites}) > 1:
        return [site.where for site in sites]
    return [CALLED_AT.join(filter(None, (site.library, site.where))) for site in sites]


def _triple(word: str, numbers: Dim3) -> str:
    return f"{word} ({numbers[0]},{numbers[1]},{numbers[2]})"


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
    findings = []
    for site, (count, size) in counts.items():
        allocations = "an allocation" if count == 1 else f"{count:,} allocations"
        unit = "byte" if size == 1 else "bytes"
        message = f"{allocations} of {size:,} {unit} in all, made at {site.where}, not freed when the kernel ended"
        findings.append(replace(finding_at("leak", message, site, (site,)), count=count))
    return tuple(findings)

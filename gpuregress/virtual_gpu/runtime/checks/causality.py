"""Order between threads by fences, releases and acquires, as the PTX memory model has it.

PTX ISA manual, 8.8 "Release and acquire patterns": a release is a strong write after a fence, or a releasing one; an
acquire is a strong read before a fence, or an acquiring one, that sees it or an atomic operation after it. Two
patterns that CUDA's own samples use count as well: a barrier of the block after the strong read takes the place of
its fence, and a fence before a barrier of the block holds for what another thread of the block writes after it.

Most programs that synchronise never ask for this order, because barriers or the strength of the accesses settle each
pair. So compiled code only logs the events (`checks.synchronization.order`), and they are followed at the first
question. A clock for each thread would make each event as long as the number of threads; here an event takes constant
time. What a thread knows is a prefix of each of some lists that only grow, and a question searches the releases
between the earlier access and now.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from gpuregress.gpu.programs import Dim3
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.checks.shadow_memory import ShadowMemory
from gpuregress.virtual_gpu.runtime.machine_layout import REGION_SHIFT, SHARED_WINDOW, Machine

_Key = int | tuple[int, int]
_SEARCHES = 256
"""Questions whose searches are kept: the next one about the same access goes on where the last one ended."""


class _Fence(Record):
    """What a fence, or an access that releases, holds for: the accesses that are ordered before it.

    Attributes:
        stamp: its thread's own accesses up to then.
        open: epochs of the block's threads before that one.
        warps: up to when its warp knew what each warp did.
    """

    stamp: int
    open: int
    warps: Sequence[int]

    def covers(self, thread: int, other: int) -> bool:
        """Whether an access of the block came before the fence of a thread."""
        stamp, whose = layout.epoch_stamp(other), layout.epoch_thread(other)
        own = whose == thread and stamp <= self.stamp
        return own or other < self.open or stamp <= self.warps[whose // 32]


class _ProxyFence(Record):
    """What a fence between the generic and the asynchronous proxy holds for.

    Attributes:
        fence: the accesses that are ordered before it.
        lanes: up to when its thread knew what each lane of its warp did.
        has_acquired: whether a thread of the block had acquired anything, which may have ordered further accesses.
    """

    fence: _Fence
    lanes: Sequence[int]
    has_acquired: bool

    def covers(self, thread: int, other: int) -> bool:
        """Whether an access of the block may have come before the fence of a thread."""
        whose = layout.epoch_thread(other)
        is_lane = whose // 32 == thread // 32 and layout.epoch_stamp(other) <= self.lanes[whose % 32]
        return self.has_acquired or is_lane or self.fence.covers(thread, other)


@dataclass(slots=True, eq=False)
class _Reads:
    """Reads that saw releases, the oldest first.

    Attributes:
        block: of their threads.
        seen: of each read, what it saw.
        stamps: of each read, when it was an acquire.
    """

    block: int
    seen: list[_Seen] = field(default_factory=list)
    stamps: list[int] = field(default_factory=list)

    def add(self, stamp: int, seen: _Seen) -> None:
        """Add a read."""
        self.seen.append(seen)
        self.stamps.append(stamp)


_Known = tuple[_Reads, int]
"""A list of reads, and how many of them are known."""


class _Release(Record):
    """A release: what its thread and its block had done by then, and what it had seen itself.

    Attributes:
        block: of the thread.
        thread: its number in the block.
        near: its fence, for threads of the same block; None: it has none of its own.
        far: likewise for those of other blocks.
        fenced: the stamp of the block's last barrier after fences of its threads; 0: none.
        is_far: whether it holds for other blocks.
        known: what it had acquired.
    """

    block: int
    thread: int
    near: _Fence | None
    far: _Fence | None
    fenced: int
    is_far: bool
    known: tuple[_Known, ...]


@dataclass(slots=True, eq=False)
class _Location:
    """The releases at one address, the oldest first.

    Attributes:
        releases: all of them.
        stamps: of each release.
        of_blocks: block → the numbers of its releases.
        first: those before a plain strong write do not count any more.
        completed: of an mbarrier, the number of releases before the phase that it is in, whose arrivals no wait has
            seen.
        parity: of that phase, as `layout.ODD_PHASE` or 0.
    """

    releases: list[_Release] = field(default_factory=list)
    stamps: list[int] = field(default_factory=list)
    of_blocks: dict[int, list[int]] = field(default_factory=dict)
    first: int = 0
    completed: int = 0
    parity: int = 0

    def enter_phase(self, parity: int) -> None:
        """Note the parity of the phase that an mbarrier is in."""
        if parity != self.parity:
            self.parity, self.completed = parity, len(self.releases)

    def add(self, stamp: int, release: _Release) -> None:
        """Add a release."""
        self.of_blocks.setdefault(release.block, []).append(len(self.releases))
        self.releases.append(release)
        self.stamps.append(stamp)


class _Seen(Record):
    """The releases that a read saw: those of a location from a first one to a last one.

    Attributes:
        place: the location.
        first: the number of the first release.
        end: that after the last one.
        is_far: whether releases of other blocks count.
    """

    place: _Location
    first: int
    end: int
    is_far: bool


@dataclass(slots=True)
class _Block:
    """What the threads of a block have fenced and acquired.

    Attributes:
        near: thread → its last fence.
        far: likewise, beyond the block.
        proxy: thread and one of `layout.OF_SHARED` … → its last fence between the proxies that holds for that.
        reads: all reads that saw releases: a barrier takes the place of their fence.
        of_warps: warp → the acquires of its threads.
        of_threads: thread → its acquires.
        pending: thread → its reads that no fence has made acquires yet.
        narrow: thread → its acquires for the block alone, which a wider fence makes acquires for all.
        last: thread and location → what it saw there last, and whether that was an acquire.
    """

    reads: _Reads
    near: dict[int, _Fence] = field(default_factory=dict)
    far: dict[int, _Fence] = field(default_factory=dict)
    proxy: dict[tuple[int, int], _ProxyFence] = field(default_factory=dict)
    of_warps: dict[int, _Reads] = field(default_factory=dict)
    of_threads: dict[int, _Reads] = field(default_factory=dict)
    pending: dict[int, list[_Seen]] = field(default_factory=dict)
    narrow: dict[int, list[_Seen]] = field(default_factory=dict)
    last: dict[tuple[int, _Location], tuple[_Seen, bool]] = field(default_factory=dict)

    def acquire(self, thread: int, stamp: int, seen: _Seen, *, is_active: bool) -> None:
        """Note a strong read; see `_Seen`.

        Args:
            thread: the reader.
            stamp: of the read.
            seen: what it saw.
            is_active: whether it is an acquire itself.
        """
        known, was_active = self.last.get((thread, seen.place), (None, False))
        if known == seen and was_active >= is_active:
            return
        self.last[thread, seen.place] = seen, is_active
        self.reads.add(stamp, _Seen(seen.place, seen.first, seen.end, is_far=True))
        if is_active:
            self._activate(thread, stamp, seen)
        else:
            self.pending.setdefault(thread, []).append(seen)

    def fence(self, thread: int, stamp: int, fence: _Fence, *, is_far: bool) -> None:
        """Note a fence of a thread, which makes its reads acquires."""
        self.near[thread] = fence
        woken = self.pending.pop(thread, [])
        if is_far:
            self.far[thread] = fence
            woken += self.narrow.pop(thread, [])
        for seen in woken:
            self._activate(thread, stamp, _Seen(seen.place, seen.first, seen.end, is_far))

    def _activate(self, thread: int, stamp: int, seen: _Seen) -> None:
        for reads, number in ((self.of_threads, thread), (self.of_warps, thread // 32)):
            known = reads.get(number)
            if known is None:
                known = reads[number] = _Reads(self.reads.block)
            known.add(stamp, seen)
        if not seen.is_far:
            self.narrow.setdefault(thread, []).append(seen)

    def known(self, thread: int, open_: int, warps: Sequence[int], lanes: Sequence[int]) -> Iterator[_Known]:
        """What a thread has acquired, itself or through barriers.

        Args:
            thread: its number.
            open_: the first epoch after the block's last barrier.
            warps: up to when its warp knows what each warp did; empty where it knows nothing.
            lanes: up to when it knows what each lane of its warp did; likewise.
        """
        behind = bisect_left(self.reads.stamps, open_ >> layout.STAMP_SHIFT)
        if behind:
            yield self.reads, behind
        own = self.of_threads.get(thread)
        if own is not None:
            yield own, len(own.seen)
        if warps:
            for warp, reads in self.of_warps.items():
                yield reads, bisect_right(reads.stamps, warps[warp])
        if lanes:
            first = thread // 32 * 32
            for lane, stamp in enumerate(lanes):
                if stamp and first + lane in self.of_threads:
                    reads_of_lane = self.of_threads[first + lane]
                    yield reads_of_lane, bisect_right(reads_of_lane.stamps, stamp)

    def all_known(self, open_: int) -> Iterator[_Known]:
        """What any thread has acquired."""
        yield self.reads, bisect_left(self.reads.stamps, open_ >> layout.STAMP_SHIFT)
        for reads in self.of_warps.values():
            yield reads, len(reads.seen)


class _Search:
    """The search for a release that comes after one of some accesses.

    Args:
        others: epochs of the accesses, all of one block.
        whose: the number of that block.
        fences: thread of the block → its last fence beyond it.
    """

    def __init__(self, others: tuple[int, ...], whose: int, fences: dict[int, _Fence]) -> None:
        self._others, self._whose, self._fences = others, whose, fences
        self._since = min(layout.epoch_stamp(other) for other in others)
        self._searched: dict[object, tuple[int, int]] = {}

    def finds(self, known: Iterator[_Known]) -> bool:
        """Whether one of the releases that are known, or of those that they know of, comes after an access."""
        fresh: dict[object, tuple[int, int]] = {}
        todo = list(known)
        while todo:
            reads, count = todo.pop()
            for first, end in self._unsearched(fresh, reads, bisect_left(reads.stamps, self._since), count):
                for seen in reads.seen[first:end]:
                    if self._finds_at(fresh, todo, reads.block, seen):
                        return True
        # Only now is it known that nothing of all this leads to such a release.
        self._searched.update(fresh)
        return False

    def _finds_at(self, fresh: dict[object, tuple[int, int]], todo: list[_Known], block: int, seen: _Seen) -> bool:
        """Whether a release that a read of a block saw comes after an access; what else it knows of is to do."""
        place = seen.place
        # The oldest first: the next release after an access is most likely one of the same thread.
        start = max(seen.first, bisect_left(place.stamps, self._since))
        own = place.of_blocks.get(block)
        if own is not None:
            for first, end in self._unsearched(fresh, (place, block), start, seen.end):
                for number in own[bisect_left(own, first) : bisect_left(own, end)]:
                    release = place.releases[number]
                    if block == self._whose and self._is_behind(release, release.near):
                        return True
                    todo.extend(release.known)
        if seen.is_far:
            for first, end in self._unsearched(fresh, place, start, seen.end):
                for release in place.releases[first:end]:
                    if release.is_far:
                        if release.block == self._whose and self._is_behind(release, release.far):
                            return True
                        todo.extend(release.known)
        return False

    def _unsearched(
        self, fresh: dict[object, tuple[int, int]], key: object, first: int, end: int
    ) -> Sequence[tuple[int, int]]:
        """The parts of a range that were not searched before, from a first number to that after the last one."""
        if first >= end:
            return ()
        known = fresh.get(key) or self._searched.get(key)
        if known is None or end < known[0] or known[1] < first:
            fresh[key] = first, end
            return ((first, end),)
        fresh[key] = min(first, known[0]), max(end, known[1])
        return [part for part in ((first, known[0]), (known[1], end)) if part[0] < part[1]]

    def _is_behind(self, release: _Release, fence: _Fence | None) -> bool:
        """Whether an access of the release's block came before it."""
        if fence is not None and any(fence.covers(release.thread, other) for other in self._others):
            return True
        return release.fenced > 0 and any(self._is_fenced(release.fenced, other) for other in self._others)

    def _is_fenced(self, fenced: int, other: int) -> bool:
        """Whether a barrier is after fences of all threads: each of them holds for its own thread."""
        own = self._fences.get(layout.epoch_thread(other))
        stamp = layout.epoch_stamp(other)
        return own is not None and stamp <= fenced and stamp <= own.stamp


class Causality:
    """What the threads of one launch have released and acquired.

    Args:
        machine: the launch's.
        shadow: the state that compiled code reports to.
        cluster: the number of the cluster of a block.
    """

    def __init__(self, machine: Machine, shadow: ShadowMemory, cluster: Callable[[int], int]) -> None:
        self._machine, self._shadow, self._cluster = machine, shadow, cluster
        self._locations: dict[_Key, _Location] = {}
        self._blocks: dict[int, _Block] = {}
        self._searches: dict[tuple[int, ...], _Search] = {}

    def note_proxy_fence(self, epoch: int, holds_for: int) -> None:
        """Note a fence between the proxies.

        Args:
            epoch: of its thread.
            holds_for: bits of `layout.OF_SHARED` …
        """
        self.follow()
        thread, block = layout.epoch_thread(epoch), self._block(self._word("number"))
        fence = _Fence(self._shadow.word("now"), self._word("open"), self._row(layout.WARPS, thread // 32))
        for bit in (layout.OF_SHARED, layout.OF_GLOBAL, layout.OF_INITS):
            if holds_for & bit:
                lanes = self._row(layout.LANES, thread)
                block.proxy[thread, bit] = _ProxyFence(fence, lanes, bool(block.reads.seen))

    def follow(self) -> None:
        """Follow the events that compiled code has logged since the last time."""
        if not self._shadow.word("order_count"):
            return
        events, rows = self._shadow.take_orders()
        known = [(row[:32], max(row[:32]), row[32:], max(row[32:])) for row in rows.tolist()]
        for kind, address, epoch, stamp, number, open_, fenced, row in events.tolist():
            thread, block = layout.epoch_thread(epoch), self._block(number)
            warps, latest_warp, lanes, latest_lane = known[row]
            is_far = kind >> layout.ORDER_SCOPE_SHIFT >= layout.SCOPES["cluster"]
            if kind & layout.FENCE:
                block.fence(thread, stamp, _Fence(stamp, open_, warps), is_far=is_far)
                continue
            key = self._key(address, number)
            place = self._locations.get(key)
            if kind & layout.READS and place is not None:
                end = len(place.releases)
                if kind & layout.PHASED:
                    place.enter_phase(kind & layout.ODD_PHASE)
                    end = place.completed
                # After a strong write that releases nothing, all releases before it are taken as seen.
                seen = _Seen(place, place.first if place.first < end else 0, end, is_far)
                if end:
                    block.acquire(thread, stamp, seen, is_active=bool(kind & layout.ACQUIRES))
            if not kind & layout.WRITES:
                continue
            if not kind & layout.READS and place is not None:
                place.first = len(place.releases)
            near, far = block.near.get(thread), block.far.get(thread)
            if kind & layout.RELEASES:
                near = _Fence(stamp, open_, warps)
                if is_far:
                    far = near
            if near is None and not fenced:
                continue
            if place is None:
                place = self._locations[key] = _Location(parity=kind & layout.ODD_PHASE)
            since = open_ >> layout.STAMP_SHIFT
            new_warps = warps if latest_warp >= since else ()
            new_lanes = lanes if latest_lane >= since else ()
            holds_far = is_far and (far is not None or fenced > 0)
            seen_before = tuple(block.known(thread, open_, new_warps, new_lanes))
            place.add(stamp, _Release(number, thread, near, far, fenced, holds_far, seen_before))

    def _block(self, number: int) -> _Block:
        block = self._blocks.get(number)
        if block is None:
            block = self._blocks[number] = _Block(_Reads(number))
        return block

    def is_ordered(self, other: int, epoch: int) -> bool:
        """Whether an earlier access is ordered before one of the running thread."""
        return self.is_any_ordered((other,), epoch)

    def is_any_ordered(self, others: Sequence[int], epoch: int) -> bool:
        """Whether one of some earlier accesses, all of one block, is ordered before one of the running thread."""
        self.follow()
        block, thread = self._blocks.get(self._word("number")), layout.epoch_thread(epoch)
        if block is None or not others:
            return False
        rows = self._row(layout.WARPS, thread // 32), self._row(layout.LANES, thread)
        return self._search(tuple(others)).finds(block.known(thread, self._word("open"), *rows))

    def is_known(self, other: int) -> bool:
        """Whether an earlier access is ordered before the next one of some thread of the running block."""
        self.follow()
        block = self._blocks.get(self._word("number"))
        return block is not None and self._search((other,)).finds(block.all_known(self._word("open")))

    def _search(self, others: tuple[int, ...]) -> _Search:
        found = self._searches.pop(others, None)
        if found is None:
            whose = self._shadow.block_at(layout.epoch_stamp(others[0]))
            found = _Search(others, whose, self._block(whose).far)
            if len(self._searches) >= _SEARCHES:
                oldest = next(iter(self._searches))
                del self._searches[oldest]
        self._searches[others] = found
        return found

    def is_fenced(self, other: int, kind: int) -> bool:
        """Whether a fence between the proxies lies after a write; its kind is one of `layout.OF_SHARED` and the like.

        The fence may be the writer's, or that of a thread which is ordered after the write (PTX ISA manual, 8 "Memory
        Consistency Model", on proxy-preserved base causality order). Whether the access that follows is ordered after
        the fence is not asked.
        """
        block = self._blocks.get(self._shadow.block_at(layout.epoch_stamp(other)))
        if block is None:
            return False
        return any(bit == kind and fence.covers(thread, other) for (thread, bit), fence in block.proxy.items())

    def _key(self, address: int, number: int) -> _Key:
        """A location; shared memory is another one in each block, and the same in those of a cluster."""
        if address >> REGION_SHIFT == SHARED_WINDOW >> REGION_SHIFT:
            return address, self._cluster(number)
        return address

    # --- the block's state --------------------------------------------------------------------------------------------

    def _word(self, name: str) -> int:
        return ctypes.c_uint64.from_address(self._machine.block_checks + layout.BLOCK[name]).value

    def _row(self, table: int, number: int) -> list[int]:
        return list((ctypes.c_uint32 * 32).from_address(self._machine.block_checks + table + 128 * number))


def cluster_numbers(grid: Dim3, cluster: Dim3) -> Callable[[int], int]:
    """The function from a block's linear number to its cluster's."""
    if cluster == (1, 1, 1):
        return lambda number: number

    def number_of(number: int) -> int:
        x, y, z = number % grid[0], number // grid[0] % grid[1], number // grid[0] // grid[1]
        across = grid[0] // cluster[0], grid[1] // cluster[1]
        return x // cluster[0] + across[0] * (y // cluster[1] + across[1] * (z // cluster[2]))

    return number_of

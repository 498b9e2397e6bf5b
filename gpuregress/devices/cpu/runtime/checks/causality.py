"""Order between threads by fences, releases and acquires, as the PTX memory model has it.

PTX ISA manual, 8.8 "Release and acquire patterns": a release is a strong write behind a fence, or a releasing one; an
acquire is a strong read before a fence, or an acquiring one, that sees it or an atomic operation behind it. Two
patterns that CUDA's own samples use count as well: a barrier of the block behind the strong read takes the place of
its fence, and a fence before a barrier of the block holds for what another thread of the block writes behind it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from gpuregress.devices.cpu.runtime.checks import layout
from gpuregress.devices.cpu.runtime.checks.shadow_memory import ShadowMemory
from gpuregress.devices.cpu.runtime.machine_layout import REGION_SHIFT, SHARED_WINDOW, Machine
from gpuregress.records import Dim3

_Key = tuple[int, int]
_Seen = tuple[_Key, int, bool]
"""A location, the number of releases there that were seen, and whether those of other blocks count."""


@dataclass(frozen=True, slots=True)
class _Fence:
    """What a fence, or an access that releases, holds for: the accesses that are ordered before it.

    Attributes:
        stamp: its thread's own accesses up to then.
        open: epochs of the block's threads before that one.
        warps: up to when its warp knew what each warp did.
    """

    stamp: int
    open: int
    warps: tuple[int, ...]

    def covers(self, thread: int, other: int) -> bool:
        """Whether an access of the block came before the fence of a thread."""
        stamp, whose = layout.epoch_stamp(other), layout.epoch_thread(other)
        own = whose == thread and stamp <= self.stamp
        return own or other < self.open or stamp <= self.warps[whose // 32]


@dataclass(frozen=True, slots=True)
class _ProxyFence:
    """What a fence between the generic and the asynchronous proxy holds for.

    Attributes:
        fence: the accesses that are ordered before it.
        lanes: up to when its thread knew what each lane of its warp did.
        has_acquired: whether a thread of the block had acquired anything, which may have ordered further accesses.
    """

    fence: _Fence
    lanes: tuple[int, ...]
    has_acquired: bool

    def covers(self, thread: int, other: int) -> bool:
        """Whether an access of the block may have come before the fence of a thread."""
        whose = layout.epoch_thread(other)
        is_lane = whose // 32 == thread // 32 and layout.epoch_stamp(other) <= self.lanes[whose % 32]
        return self.has_acquired or is_lane or self.fence.covers(thread, other)


@dataclass(slots=True)
class _Release:
    """A release: what its thread and its block had done by then, and what it had seen itself.

    Attributes:
        block: of the thread.
        thread: its number in the block.
        near: its fence, for threads of the same block; None: it has none of its own.
        far: likewise for those of other blocks.
        fenced: the stamp of the block's last barrier behind fences of its threads; 0: none.
        is_far: whether it holds for other blocks.
        seen: the releases that it had acquired.
        phase: of the mbarrier at which it arrived.
    """

    block: int
    thread: int
    near: _Fence | None
    far: _Fence | None
    fenced: int
    is_far: bool
    seen: tuple[_Seen, ...]
    phase: int = 0


@dataclass(slots=True)
class _Location:
    """The releases at one address, the oldest first.

    Attributes:
        releases: all of them.
        first: those before a plain strong write do not count any more.
        phase: how often the parity of an mbarrier was seen to change.
        parity: its last one, as `layout.ODD_PHASE` or 0.
    """

    releases: list[_Release] = field(default_factory=list)
    first: int = 0
    phase: int = 0
    parity: int = 0

    def enter_phase(self, parity: int) -> None:
        """Note the parity of the phase that an mbarrier is in."""
        self.phase += parity != self.parity
        self.parity = parity

    @property
    def completed(self) -> int:
        """The number of releases before the phase that an mbarrier is in, whose arrivals no wait has seen."""
        count = len(self.releases)
        while count and self.releases[count - 1].phase == self.phase:
            count -= 1
        return count


@dataclass(slots=True)
class _Acquired:
    thread: int
    stamp: int
    key: _Key
    index: int
    is_active: bool
    is_far: bool


@dataclass(slots=True)
class _Block:
    near: dict[int, _Fence] = field(default_factory=dict)
    far: dict[int, _Fence] = field(default_factory=dict)
    proxy: dict[int, _ProxyFence] = field(default_factory=dict)
    acquired: list[_Acquired] = field(default_factory=list)


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

    def take(self) -> None:
        """Take a strong access or a fence from the launch's state."""
        kind, address, epoch, scope = self._shadow.report
        thread, stamp = layout.epoch_thread(epoch), self._shadow.word("now")
        number = self._word("number")
        block = self._blocks.setdefault(number, _Block())
        is_far = scope >= layout.SCOPES["cluster"]
        if kind & layout.PROXY_FENCE:
            lanes = self._row(layout.LANES, thread)
            block.proxy[thread] = _ProxyFence(self._fence(thread, stamp), lanes, bool(block.acquired))
            self._shadow.pass_time()
            return
        if kind & layout.FENCE:
            block.near[thread] = self._fence(thread, stamp)
            if is_far:
                block.far[thread] = block.near[thread]
            self._set("fences", 3 if is_far else self._word("fences") | 1)
            for one in block.acquired:
                if one.thread == thread:
                    one.is_active, one.is_far = True, one.is_far or is_far
            self._shadow.pass_time()
            return
        key = self._key(address, number)
        if kind & layout.READS and key in self._locations:
            place = self._locations[key]
            count = len(place.releases)
            if kind & layout.PHASED:
                place.enter_phase(kind & layout.ODD_PHASE)
                count = place.completed
            self._acquire(block, _Acquired(thread, stamp, key, count, bool(kind & layout.ACQUIRES), is_far))
        if kind & layout.WRITES:
            self._release(block, number, thread, key, kind, is_far=is_far)
        self._shadow.pass_time()

    def _seen_at(self, key: _Key, number: int) -> int:
        """The number of releases that a strong read sees.

        At the grid's barrier a block comes on only with those of its own phase, even if others have gone further.
        """
        releases = self._locations[key].releases
        if key[0] != self._machine.workspace:
            return len(releases)
        blocks = self._machine.grid_x * self._machine.grid_y * self._machine.grid_z
        phases = sum(release.block == number for release in releases)
        return int(min(len(releases), phases * blocks))

    def _acquire(self, block: _Block, new: _Acquired) -> None:
        for at, one in enumerate(block.acquired):
            is_same = one.thread == new.thread and one.key == new.key
            # What is active stays so; the fence behind a later read is still to come.
            if is_same and (new.is_active or not one.is_active or one.index == new.index):
                new.is_active = new.is_active or one.is_active
                new.is_far = new.is_far or one.is_far
                block.acquired[at] = new
                return
        block.acquired.append(new)

    def _release(self, block: _Block, number: int, thread: int, key: _Key, kind: int, *, is_far: bool) -> None:
        place = self._locations.get(key)
        if not kind & layout.READS and place is not None:
            place.first = len(place.releases)
        near, far, fenced = block.near.get(thread), block.far.get(thread), self._word("fenced")
        if kind & layout.RELEASES:
            near = self._fence(thread, self._shadow.word("now"))
            far = near if is_far else far
        if near is None and not fenced:
            return
        if place is None:
            place = self._locations[key] = _Location(parity=kind & layout.ODD_PHASE)
        self._shadow.note_release()
        holds_far = is_far and (far is not None or fenced > 0)
        place.releases.append(
            _Release(number, thread, near, far, fenced, holds_far, tuple(self._usable(block, thread)), place.phase)
        )

    def _fence(self, thread: int, stamp: int) -> _Fence:
        return _Fence(stamp, self._word("open"), self._row(layout.WARPS, thread // 32))

    def _covers(self, release: _Release, other: int, *, is_same: bool) -> bool:
        """Whether an access of the release's block came before it."""
        fence = release.near if is_same else release.far
        if fence is not None and fence.covers(release.thread, other):
            return True
        # A barrier behind fences of all threads: each of them holds for its own thread.
        own = self._blocks[release.block].far.get(layout.epoch_thread(other))
        stamp = layout.epoch_stamp(other)
        return own is not None and stamp <= release.fenced and stamp <= own.stamp

    def is_ordered(self, other: int, epoch: int) -> bool:
        """Whether an earlier access is ordered before one of the running thread."""
        return self.is_any_ordered((other,), epoch)

    def is_any_ordered(self, others: Sequence[int], epoch: int) -> bool:
        """Whether one of some earlier accesses, all of one block, is ordered before one of the running thread."""
        block = self._blocks.get(self._word("number"))
        return block is not None and self._is_behind(others, self._usable(block, layout.epoch_thread(epoch)))

    def is_known(self, other: int) -> bool:
        """Whether an earlier access is ordered before the next one of some thread of the running block."""
        block = self._blocks.get(self._word("number"))
        return block is not None and self._is_behind((other,), self._usable(block, None))

    def _is_behind(self, others: Sequence[int], acquired: Iterable[_Seen]) -> bool:
        """Whether one of some accesses comes before a release that was acquired, or before those that it saw."""
        if not others:
            return False
        whose = self._shadow.block_at(layout.epoch_stamp(others[0]))
        visited: dict[_Key, int] = {}
        todo = [(item, self._word("number")) for item in acquired]
        while todo:
            (key, index, is_far), reader = todo.pop()
            if visited.get(key, -1) >= index:
                continue
            visited[key] = index
            place = self._locations[key]
            for release in reversed(place.releases[place.first : index] or place.releases[:index]):
                if release.block != reader and not (is_far and release.is_far):
                    continue
                is_same = release.block == reader
                if release.block == whose and any(self._covers(release, one, is_same=is_same) for one in others):
                    return True
                todo.extend((item, release.block) for item in release.seen)
        return False

    def is_fenced(self, other: int) -> bool:
        """Whether a fence between the proxies lies behind a write of the running block.

        The fence may be the writer's, or that of a thread which is ordered behind the write (PTX ISA manual, 8 "Memory
        Consistency Model", on proxy-preserved base causality order). Whether the access that follows is ordered behind
        the fence is not asked.
        """
        block = self._blocks.get(self._word("number"))
        return block is not None and any(fence.covers(thread, other) for thread, fence in block.proxy.items())

    def _usable(self, block: _Block, thread: int | None) -> Iterator[_Seen]:
        """What a thread of the running block has acquired, itself or through barriers; None: what any has."""
        open_ = self._word("open")
        for one in block.acquired:
            is_behind = one.stamp << layout.STAMP_SHIFT < open_
            is_usable = thread is None or one.thread == thread or self._knows(thread, one)
            if is_behind or (one.is_active and is_usable):
                yield one.key, one.index, one.is_far or is_behind

    def _knows(self, thread: int, one: _Acquired) -> bool:
        if one.stamp <= self._stamp(layout.WARPS, thread // 32, one.thread // 32):
            return True
        same_warp = one.thread // 32 == thread // 32
        return same_warp and one.stamp <= self._stamp(layout.LANES, thread, one.thread % 32)

    def _key(self, address: int, number: int) -> _Key:
        """A location; shared memory is another one in each block, and the same in those of a cluster."""
        is_shared = address >> REGION_SHIFT == SHARED_WINDOW >> REGION_SHIFT
        return (address, self._cluster(number)) if is_shared else (address, -1)

    # --- the block's state --------------------------------------------------------------------------------------------

    def _word(self, name: str) -> int:
        return ctypes.c_uint64.from_address(self._machine.block_checks + layout.BLOCK[name]).value

    def _set(self, name: str, value: int) -> None:
        ctypes.c_uint64.from_address(self._machine.block_checks + layout.BLOCK[name]).value = value

    def _stamp(self, table: int, row: int, column: int) -> int:
        return ctypes.c_uint32.from_address(self._machine.block_checks + table + 128 * row + 4 * column).value

    def _row(self, table: int, number: int) -> tuple[int, ...]:
        return tuple((ctypes.c_uint32 * 32).from_address(self._machine.block_checks + table + 128 * number))


def cluster_numbers(grid: Dim3, cluster: Dim3) -> Callable[[int], int]:
    """The function from a block's linear number to its cluster's."""
    if cluster == (1, 1, 1):
        return lambda number: number

    def number_of(number: int) -> int:
        x, y, z = number % grid[0], number // grid[0] % grid[1], number // grid[0] // grid[1]
        across = grid[0] // cluster[0], grid[1] // cluster[1]
        return x // cluster[0] + across[0] * (y // cluster[1] + across[1] * (z // cluster[2]))

    return number_of

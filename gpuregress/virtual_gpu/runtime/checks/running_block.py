"""Clocks and cells of the running block, as the checks in Python see them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.checks.shadow_memory import ShadowMemory
from gpuregress.virtual_gpu.runtime.machine_layout import CLUSTER_SHIFT, MAX_THREADS, SHARED_WINDOW, Machine

# --- access lists -----------------------------------------------------------------------------------------------------
# Lists of the concurrent accesses of many cells at once, as the checks in Python see them.
#
# Compiled code has them in `checks.access_lists`.

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.intp]
_LANE_BITS = np.uint64(31 << layout.THREAD_SHIFT)
_THREAD_SHIFT = np.uint64(layout.THREAD_SHIFT)
_UPPER, _LOWER, _ONE = np.uint64(32), np.uint64(0xFFFF_FFFF), np.uint64(1)


def accesses(shadow: ShadowMemory, newest: Words, words: Words, mark: int) -> tuple[Numbers, Words]:
    """The different accesses of some cells.

    Args:
        shadow: has the nodes.
        newest: the newest access of each cell.
        words: the second plane's words.
        mark: `layout.WRITE_LIST` or `layout.READER_LIST`.

    Returns:
        the index of a cell for each access, and the accesses' epochs.
    """
    marks = newest & np.uint64(mark)
    in_use = (marks != 0) & (newest >= np.uint64(shadow.word("oldest")))
    is_pair = in_use & (marks == np.uint64(layout.PAIRS[mark]))
    bare = np.where(in_use, newest & np.uint64(~mark & (1 << 64) - 1), newest)
    is_list = in_use & ~is_pair
    masks = np.where(is_list, words & _LOWER, _lane_bit(bare))
    heads = np.where(is_list, words >> _UPPER, np.uint64(0))
    cells = np.arange(len(newest))
    found = [_distinct(cells, bare, masks)]
    if is_pair.any():
        found.append(_distinct(cells[is_pair], words[is_pair], _lane_bit(words[is_pair])))
    cells, heads = cells[heads != 0], heads[heads != 0]
    while len(cells):
        epochs, behind = shadow.nodes[heads, 0], shadow.nodes[heads, 1]
        found.append(_distinct(cells, epochs, behind & _LOWER))
        heads = behind >> _UPPER
        cells, heads = cells[heads != 0], heads[heads != 0]
    numbers, epochs, masks = (np.concatenate(parts) for parts in zip(*found, strict=True))
    lanes = np.arange(32, dtype=np.uint64)
    which, lane = np.nonzero(masks[:, None] >> lanes & _ONE)
    return numbers[which], epochs[which] & ~_LANE_BITS | lane.astype(np.uint64) << _THREAD_SHIFT


def join(
    shadow: ShadowMemory, newest: Words, words: Words, mark: int, access: tuple[int, npt.NDArray[np.bool_], int]
) -> None:
    """Make an access the newest one of some cells.

    Args:
        shadow: has the nodes.
        newest: the newest access of each cell, which is changed.
        words: the second plane's words, likewise.
        mark: `layout.WRITE_LIST` or `layout.READER_LIST`.
        access: its epoch; of each cell, whether it stands for the newest access until now; the first epoch of those
            that are not ordered before it by a barrier or the launch.
    """
    epoch, replaces, since = access
    known, bits = newest.copy(), np.uint64(mark)
    is_open = known >= np.uint64(since)
    bare, in_use = known & ~bits, is_open & (known & bits != 0)
    pairs = np.flatnonzero(in_use & (known & bits == np.uint64(layout.PAIRS[mark])))
    in_use[pairs] = False
    heads = np.where(in_use, words >> _UPPER, np.uint64(0))
    pushed = np.flatnonzero(is_open & ~replaces)
    forget(shadow, np.where(is_open, np.uint64(0), known), words, mark)
    _push(shadow, heads, pairs, words[pairs], _lane_bit(words[pairs]))
    _push(shadow, heads, pushed, bare[pushed], np.where(in_use, words & _LOWER, _lane_bit(bare))[pushed])
    own = np.uint64(epoch)
    newest[:] = own | np.where(heads != 0, np.uint64(layout.IN_USE[mark]), np.uint64(0))
    words[:] = _lane_bit(own) | heads << _UPPER
    if mark == layout.WRITE_LIST:
        exposed = known & bits == bits
        exposed |= bare & np.uint64(layout.WIDE) != np.uint64(layout.WIDE)
        newest[(heads != 0) & exposed] |= np.uint64(layout.EXPOSED)


def _push(shadow: ShadowMemory, heads: Words, cells: Numbers, epochs: Words, masks: Words) -> None:
    """Put accesses before the lists of some cells."""
    numbers = shadow.take_nodes(len(cells))
    if len(numbers):
        shadow.nodes[numbers, 0] = epochs
        shadow.nodes[numbers, 1] = masks | heads[cells] << _UPPER
        heads[cells] = numbers


def replace_newest(newest: Words, words: Words, mark: int, epochs: tuple[int, int]) -> None:
    """Let another epoch stand for an access of one thread, in the cells of which it is the newest.

    Args:
        newest: the newest access of each cell, which is changed.
        words: the second plane's words, likewise: their masks have the lane of the epoch's thread.
        mark: `layout.WRITE_LIST` or `layout.READER_LIST`.
        epochs: that of the access until now, and from now on.
    """
    old, new = (np.uint64(epoch) for epoch in epochs)
    still = np.flatnonzero(newest & np.uint64(~mark & (1 << 64) - 1) == old)
    marks = newest[still] & np.uint64(mark)
    newest[still] = new | marks
    listed = still[marks & np.uint64(layout.IN_USE[mark]) != 0]
    words[listed] = words[listed] & ~_LOWER | _lane_bit(new)


def forget(shadow: ShadowMemory, newest: Words, words: Words, mark: int) -> None:
    """Give back the nodes of cells whose accesses are forgotten; the caller changes the cells.

    Args:
        shadow: has the nodes.
        newest: the newest access of each cell; 0 for one that stays.
        words: the second plane's words.
        mark: `layout.WRITE_LIST` or `layout.READER_LIST`.
    """
    marks = newest & np.uint64(mark)
    in_use = (marks != 0) & (marks != np.uint64(layout.PAIRS[mark])) & (newest >= np.uint64(shadow.word("oldest")))
    heads = words[in_use] >> _UPPER
    heads = heads[heads != 0]
    while len(heads):
        behind = shadow.nodes[heads, 1] >> _UPPER
        shadow.release_nodes(heads)
        heads = behind[behind != 0]


def _lane_bit(epochs: Words | np.uint64) -> Words:
    return np.left_shift(_ONE, epochs >> _THREAD_SHIFT & np.uint64(31), dtype=np.uint64)


def _distinct(cells: Numbers, epochs: Words, masks: Words) -> tuple[Numbers, Words, Words]:
    """The first of the cells that have the same access."""
    _, first = np.unique(np.stack([epochs, masks], axis=1), axis=0, return_index=True)
    return cells[first], epochs[first], masks[first]


# --- running block ----------------------------------------------------------------------------------------------------

Report = Callable[[int, int, int, int], None]
"""Takes a finding: kind, address, epoch of the access, epoch of the earlier one."""
WRITE, READER = 0, 1
"""Words of a cell in both planes."""
STAMP_SHIFT = np.uint64(layout.STAMP_SHIFT)
_SHORT = 0xFFFF_FFFF


class SharedCells(Record):
    """The cells of a block's shared memory.

    Attributes:
        state: host address of the block's state.
        host: that of its shared memory.
        window: the generic address of its first byte.
        shift: log2 of the bytes of a granule.
    """

    state: int
    host: int
    window: int
    shift: int

    def word(self, name: str) -> int:
        """A word of `layout.BLOCK`."""
        return ctypes.c_uint64.from_address(self.state + layout.BLOCK[name]).value

    def planes(self) -> tuple[Words, Words]:
        """Both planes of all cells, two words each."""
        return self._planes(self.word("cells"), self.word("plane") >> layout.CELL_SHIFT)

    def cells(self, host: int, size: int) -> tuple[Words, Words]:
        """Both planes of the cells of a stretch of the memory."""
        offset = host - self.host
        number = offset >> self.shift
        count = (offset + size - 1 >> self.shift) + 1 - number
        return self._planes(self.word("cells") + (number << layout.CELL_SHIFT), count)

    def hosts(self, host: int, size: int) -> range:
        """The host addresses of the granules of a stretch of the memory, one for each of its cells."""
        number, end = (where - self.host >> self.shift for where in (host, host + size - 1))
        return range(self.host + (number << self.shift), self.host + (end << self.shift) + 1, 1 << self.shift)

    def _planes(self, start: int, count: int) -> tuple[Words, Words]:
        first, second = (
            np.ctypeslib.as_array((ctypes.c_uint64 * (2 * count)).from_address(where)).reshape(count, 2)
            for where in (start, start + self.word("plane"))
        )
        return first, second

    def address(self, host: int, number: int) -> int:
        """The generic address of a cell, counted from the cell of a host address."""
        inside = (host - self.host >> self.shift) + number << self.shift
        return self.window + max(inside, host - self.host)


class RunningBlock:
    """The block that the machine names.

    Args:
        machine: the launch's.
        shadow: the launch's state.
        shift: log2 of the bytes of a granule of shared memory.
    """

    def __init__(self, machine: Machine, shadow: ShadowMemory, shift: int) -> None:
        self.machine, self.shadow, self.shift = machine, shadow, shift

    def begin(self, site: int, thread: int) -> int:
        """The epoch of an access by a thread at this moment; what comes next has a later one."""
        stamp = self.shadow.word("now")
        self.shadow.pass_time()
        return stamp << layout.STAMP_SHIFT | thread << layout.THREAD_SHIFT | site << layout.SITE_SHIFT

    def word(self, name: str) -> int:
        """A word of `layout.BLOCK`."""
        return ctypes.c_uint64.from_address(self.machine.block_checks + layout.BLOCK[name]).value

    # --- cells --------------------------------------------------------------------------------------------------------

    @property
    def shared(self) -> SharedCells:
        """The cells of the block's shared memory."""
        machine = self.machine
        return SharedCells(machine.block_checks, machine.shared, SHARED_WINDOW + machine.shared_base, self.shift)

    def shared_at(self, host: int) -> SharedCells:
        """The cells of the shared memory that begins at a host address, of the block or another one of its cluster."""
        machine = self.machine
        if host == machine.shared:
            return self.shared
        hosts, states = (
            list((ctypes.c_uint64 * machine.cluster_count).from_address(table))
            for table in (machine.cluster_shared, machine.cluster_checks)
        )
        rank = hosts.index(host)
        return SharedCells(states[rank], host, SHARED_WINDOW + (rank << CLUSTER_SHIFT), self.shift)

    def note_reader(
        self,
        cells: tuple[Words, Words],
        numbers: npt.NDArray[np.intp],
        epoch: int,
        is_free: npt.NDArray[np.bool_],
        since: int,
    ) -> None:
        """Count an epoch among the readers of cells.

        Args:
            cells: both planes.
            numbers: of the cells.
            epoch: the reader's.
            is_free: of each cell, whether it stands for the reader that is there.
            since: the first epoch of those that a barrier, or the launch, does not order before it.
        """
        first, second = cells
        readers, words = first[numbers, READER], second[numbers, READER]
        join(self.shadow, readers, words, layout.READER_LIST, (epoch, is_free, since))
        first[numbers, READER], second[numbers, READER] = readers, words

    def accesses(self, newest: Words, words: Words, mark: int) -> tuple[Numbers, Words]:
        """The different accesses of some cells; see `access_lists.accesses`."""
        return accesses(self.shadow, newest, words, mark)

    # --- order --------------------------------------------------------------------------------------------------------

    def is_behind(self, written: Words, epoch: int) -> npt.NDArray[np.bool_]:
        """Whether writes of the block were made later than an epoch."""
        return (written >> STAMP_SHIFT > layout.epoch_stamp(epoch)) & (written >= self.word("start"))

    def unordered(self, others: Words, thread: int) -> npt.NDArray[np.bool_]:
        """Whether no barrier orders epochs of the block before the running thread's next access.

        What other blocks of a cluster did counts as ordered.
        """
        their = (others & np.uint64(layout.THREAD_MASK)) >> np.uint64(layout.THREAD_SHIFT)
        stamps = others >> STAMP_SHIFT
        warps = self._row(layout.WARPS, thread // 32)[(their // np.uint64(32)).astype(np.intp)]
        lanes = self._row(layout.LANES, thread)[(their % np.uint64(32)).astype(np.intp)]
        same_warp = their // np.uint64(32) == thread // 32
        result: npt.NDArray[np.bool_] = (others >= max(self.word("start"), self.word("open"))) & (their != thread)
        result &= (stamps > warps) & ~(same_warp & (stamps <= lanes))
        if self.machine.cluster_count > 1:
            own, passed = self.word("number"), int(self._passed()[thread])
            for number in np.flatnonzero(result):
                whose = self.shadow.block_at(int(stamps[number]))
                result[number] = whose == own and not self.has_met(own, int(others[number]), passed)
        return result

    def unordered_anywhere(self, others: Words, thread: int) -> npt.NDArray[np.bool_]:
        """Whether no barrier, nor the launch's start, orders epochs of any blocks before the thread's next access."""
        result = self.unordered(others, thread)
        between = (others >= self.shadow.word("oldest")) & (others < self.word("turn"))
        for number in np.flatnonzero(between):
            epoch = int(others[number])
            whose = self.shadow.block_at(layout.epoch_stamp(epoch))
            if whose != self.word("number"):
                result[number] = not self.has_met(whose, epoch, int(self._passed()[thread]))
        return result

    # --- clusters -----------------------------------------------------------------------------------------------------

    def has_met(self, whose: int, epoch: int, passed: int | None = None) -> bool:
        """Whether the cluster's barrier orders an access of a block of the cluster; see `checks.happens_before`.

        Args:
            whose: the number of that block.
            epoch: of its access.
            passed: how often a thread of the running block has waited there; None: any thread.
        """
        machine = self.machine
        states = list((ctypes.c_uint64 * machine.cluster_count).from_address(machine.cluster_checks))
        states = [state for state in states if state and self._number(state) == whose]
        if not states:
            return False
        state = states[0]
        if passed is None:
            passed = int(self._passed().max())
        arrivals = (ctypes.c_uint64 * (layout.CLUSTER_PHASES * MAX_THREADS)).from_address(
            state + layout.CLUSTER_ARRIVALS
        )
        opens = (ctypes.c_uint64 * layout.CLUSTER_PHASES).from_address(state + layout.CLUSTER_OPEN)
        stamp, thread = layout.epoch_stamp(epoch), layout.epoch_thread(epoch)
        for phase in range(layout.CLUSTER_PHASES):
            arrived, before = arrivals[phase * MAX_THREADS + thread], opens[phase]
            if arrived >> 32 <= passed and stamp <= arrived & _SHORT:
                return True
            if before >> 32 <= passed and stamp < before & _SHORT:
                return True
        return False

    def _passed(self) -> npt.NDArray[np.uint32]:
        counts = (ctypes.c_uint32 * MAX_THREADS).from_address(self.machine.block_checks + layout.CLUSTER_PASSED)
        return np.ctypeslib.as_array(counts)

    @staticmethod
    def _number(state: int) -> int:
        return ctypes.c_uint64.from_address(state + layout.BLOCK["number"]).value

    def _row(self, table: int, number: int) -> npt.NDArray[np.uint32]:
        words = (ctypes.c_uint32 * 32).from_address(self.machine.block_checks + table + 128 * number)
        return np.ctypeslib.as_array(words)


def distinct(words: Words, numbers: npt.NDArray[np.intp]) -> list[int]:
    """The first of each group of numbers whose epochs are the same."""
    _, first = np.unique(words[numbers], return_index=True)
    return sorted(int(numbers[index]) for index in first)

"""Shadow memory of the dynamic checks: cells of all memory, and the states of launch and block."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.device_heap import DeviceHeap, reserve
from gpuregress.virtual_gpu.runtime.machine_layout import HEAP_CLASSES, MAX_REGIONS
from gpuregress.virtual_gpu.runtime.memory import Region

_Words = npt.NDArray[np.uint64]
_CELL_WORDS = 2
_TURNS = 1 << 20
NODES = 1 << 22
"""Nodes of lists of accesses: 64 MiB, of which a launch takes what it uses."""
_ORDERS = 1 << 20
"""Entries of the log of strong accesses and fences, and its rows: 128 MiB, of which a launch takes what it uses."""
_MANY, _MOST_DENSE = 4 << 20, 1 << 30
"""Bytes of a region's cells from which on they are in memory of their own, and up to which in huge pages."""
_LATE = 3 << 30
"""A stamp from which on a launch begins again at 1: stamps have 32 bits."""
PLAIN_READ, PLAIN_WRITE, STRONG_READ, STRONG_WRITE = 1, 2, 4, 8
"""Kinds of accesses: strong ones, as atomics, do not race with each other."""
_OF_A_LAUNCH = (
    "turn_count",
    "has_turns",
    "lost_turns",
    "stop",
    "released",
    "heap_accesses",
    "same_value",
    "free_node",
    "lost_accesses",
    "order_count",
)
"""Words that are 0 when a launch begins."""


class TouchedBytes(Record):
    """What a launch, or a copy, has touched of memory.

    Attributes:
        address: of the first byte.
        step: bytes of a granule.
        kinds: bits of `PLAIN_READ` … for each granule, uint8 of shape (granules,).
        sites: number of the site of a granule's newest write, or of its newest read; of a copy empty.
    """

    address: int
    step: int
    kinds: npt.NDArray[np.uint8]
    sites: npt.NDArray[np.uint16]

    @property
    def end(self) -> int:
        """The address after the last granule."""
        return self.address + self.step * len(self.kinds)


class BlockState:
    """What the checks know of one block that is in memory."""

    def __init__(self) -> None:
        self._state, self._table = np.zeros(0, np.uint64), np.zeros(1, np.uint64)
        self._cells = np.zeros(0, np.uint64)

    @property
    def address(self) -> int:
        """The host address of the state; 0 where nothing is checked."""
        return self._state.ctypes.data if self._state.size else 0

    @property
    def alone(self) -> int:
        """The host address of a table of the states of a cluster that is this one block."""
        self._table[0] = self.address
        return self._table.ctypes.data

    def prepare(self, shared_bytes: int, shift: int) -> None:
        """Make room.

        Args:
            shared_bytes: of the shared window.
            shift: log2 of the bytes of a granule.
        """
        if not self._state.size:
            self._state = np.zeros(layout.BLOCK_BYTES // 8, np.uint64)
        count = (shared_bytes >> shift) + 1
        if self._cells.size < 2 * _CELL_WORDS * count:
            self._cells = np.zeros(2 * _CELL_WORDS * count, np.uint64)
        self._state[layout.BLOCK["cells"] // 8] = self._cells.ctypes.data
        self._state[layout.BLOCK["plane"] // 8] = 8 * _CELL_WORDS * count

    def clear(self) -> None:
        """Forget all epochs, and what warps and lanes knew of each other."""
        self._cells[:] = 0
        self._state[layout.WARPS // 8 :] = 0


class ShadowMemory:
    """The cells of all regions, and the state of the launch.

    Args:
        rows: of the table of regions.
    """

    def __init__(self, rows: int = MAX_REGIONS) -> None:
        self.state = np.zeros(layout.LAUNCH_BYTES // 8, np.uint64)
        self._table = np.zeros((rows, 2), np.uint64)
        self._cells: dict[int, tuple[Region, int, _Words]] = {}
        self._heap_table = np.zeros((HEAP_CLASSES, 2), np.uint64)
        self._heap: dict[int, tuple[int, int, _Words]] = {}
        self._turns = np.zeros(0, np.uint64)
        self.nodes = reserve(NODES << layout.NODE_SHIFT).view(np.uint64).reshape(-1, 2)
        self._released: list[_Words] = []
        self._orders = reserve(_ORDERS << layout.ORDER_SHIFT).view(np.uint64).reshape(-1, len(layout.ORDER_WORDS))
        rows = _ORDERS >> layout.ORDERS_PER_ROW_SHIFT
        self._order_rows = reserve(rows << layout.ORDER_ROW_SHIFT).view(np.uint32).reshape(rows, -1)
        self._set("orders", self._orders.ctypes.data)
        self._set("order_capacity", _ORDERS)
        self._set("order_rows", self._order_rows.ctypes.data)
        self._set("order_row_count", 1)
        self._set("nodes", self.nodes.ctypes.data)
        self._set("node_capacity", NODES)
        self._set("heap", self._heap_table.ctypes.data)
        self._set("now", 1)
        self._set("shadow", self._table.ctypes.data)

    @property
    def address(self) -> int:
        """The host address of the launch's state."""
        return self.state.ctypes.data

    def begin_launch(self, regions: Iterable[Region], shift: int, blocks: int, race_free: Collection[int] = ()) -> bool:
        """Prepare a launch: all that happened before is ordered before it.

        Args:
            regions: all of the device.
            shift: log2 of the bytes of a granule in global memory.
            blocks: of the launch.
            race_free: numbers of the regions in which no two of its threads race.

        Returns:
            whether stamps began anew, so that blocks have to forget theirs.
        """
        begins_anew = self.word("now") > _LATE
        if begins_anew:
            for _, _, cells in self._cells.values():
                cells[cells != 0] = 1
            self._forget_heap(tuple(self._heap))
            self._set("now", 1)
        self._set("now", self.word("now") + 1)
        self._set("oldest", self.word("now") << layout.STAMP_SHIFT)
        self._turns = np.zeros(blocks + _TURNS, np.uint64)
        self._set("turns", self._turns.ctypes.data)
        self._set("turn_capacity", len(self._turns))
        # Epochs of earlier launches have no nodes any more. Index 0 is that of no node.
        self._set("node_count", 1)
        self._released = []
        for name in _OF_A_LAUNCH:
            self._set(name, 0)
        self.state[layout.MATRIX_ROWS // 8] = 0
        for region in regions:
            self._shadow(region, shift, is_race_free=region.number in race_free)
        return begins_anew

    def _shadow(self, region: Region, shift: int, *, is_race_free: bool) -> None:
        known = self._cells.get(region.number)
        if known is None or known[0] is not region or known[1] != shift:
            count = (region.size >> shift) + 1
            cells = _cells(2 * _CELL_WORDS * count)
            if known is not None and known[0] is region:
                _convert(known[2], known[1], cells, shift)
            self._cells[region.number] = (region, shift, cells)
            self._table[region.number] = cells.ctypes.data, 8 * _CELL_WORDS * count
        cells = self._cells[region.number][2]
        for offset, size in region.written:
            first, end = offset >> shift, (offset + size - 1 >> shift) + 1
            writes = cells[_CELL_WORDS * first : _CELL_WORDS * end : _CELL_WORDS]
            writes[writes == 0] = 1
        region.written.clear()
        flags = 0
        if region.is_filled:
            flags |= layout.FILLED
        if is_race_free:
            flags |= layout.RACE_FREE
        self._table[region.number, 0] = cells.ctypes.data | flags

    def keep_heap(self, heap: DeviceHeap, shift: int) -> None:
        """Prepare a launch: forget the cells of size classes whose memory is another now, or whose granule is."""
        known = self._heap.items()
        self._forget_heap([one for one, (start, old, _) in known if (start, old) != (heap.host_address(one), shift)])

    def add_heap_class(self, number: int, heap: DeviceHeap, shift: int) -> None:
        """Reserve the cells of a size class, all of which are unwritten; they take no memory before they are used."""
        start, size = heap.host_address(number), heap.host_size(number)
        if not start:
            return
        count = (size >> shift) + 1
        try:
            cells = reserve(2 * 8 * _CELL_WORDS * count).view(np.uint64)
        except (OSError, ValueError, OverflowError):
            return
        self._heap[number] = start, shift, cells
        self._heap_table[number] = cells.ctypes.data, 8 * _CELL_WORDS * count

    def _forget_heap(self, numbers: Collection[int]) -> None:
        for number in numbers:
            del self._heap[number]
            self._heap_table[number] = 0

    def word(self, name: str) -> int:
        """A word of the launch's state."""
        return int(self.state[layout.LAUNCH[name] // 8])

    def _set(self, name: str, value: int) -> None:
        self.state[layout.LAUNCH[name] // 8] = value

    def pass_time(self) -> None:
        """Begin a new stamp: what comes is not what has been released."""
        self._set("now", self.word("now") + 1)

    def take_orders(self) -> tuple[_Words, npt.NDArray[np.uint32]]:
        """The log of strong accesses and fences, which is emptied: `layout.ORDER_WORDS` of each, and the rows."""
        events, rows = (self.word(name) for name in ("order_count", "order_row_count"))
        found = self._orders[:events].copy(), self._order_rows[:rows].copy()
        # The last row is the one that the next entry is compared with.
        self._order_rows[0] = found[1][-1]
        self._set("order_count", 0)
        self._set("order_row_count", 1)
        return found

    def note_same_value(self) -> None:
        """Have compiled code tell of no further writes of one value."""
        self._set("same_value", 1)

    def stop(self, *, until_next_block: bool = False) -> None:
        """Have compiled code report nothing more, or nothing of the block that runs."""
        self._set("stop", layout.PAUSED if until_next_block else layout.STOPPED)

    @property
    def report(self) -> tuple[int, int, int, int]:
        """The words of a report: kind, address, epoch, other epoch."""
        first = layout.REPORT // 8
        kind, address, epoch, other = (int(word) for word in self.state[first : first + 4])
        return kind, address, epoch, other

    def take_matrix_rows(self) -> _Words:
        """The addresses of the rows that a wgmma has read for a warp; they are forgotten."""
        first = layout.MATRIX_ROWS // 8
        count = int(self.state[first])
        self.state[first] = 0
        return self.state[first + 1 : first + 1 + count].copy()

    def block_at(self, stamp: int) -> int:
        """The linear number of the block in whose turn a stamp is."""
        turns = self._turns[: self.word("turn_count")]
        place = int(np.searchsorted(turns, np.uint64((stamp + 1) << layout.STAMP_SHIFT))) - 1
        if place < 0:
            return -1
        return int(turns[place]) & 0xFFFF_FFFF

    def take_nodes(self, count: int) -> _Words:
        """The indices of some nodes of lists; none where there are not so many, which is noted."""
        parts, left = [np.zeros(0, np.uint64)], count
        while left and self._released:
            last = self._released.pop()
            parts.append(last[:left])
            if len(last) > left:
                self._released.append(last[left:])
            left -= len(parts[-1])
        first = self.word("node_count")
        if first + left > NODES:
            self._set("lost_accesses", 1)
            self._released += parts
            return parts[0]
        self._set("node_count", first + left)
        return np.concatenate([*parts, np.arange(first, first + left, dtype=np.uint64)])

    def release_nodes(self, numbers: _Words) -> None:
        """Take back nodes of lists that nothing refers to any more."""
        if len(numbers):
            self._released.append(numbers)

    def cells_of(self, region: Region) -> tuple[int, _Words, _Words] | None:
        """The log2 of the bytes of a region's granule, and both planes of its cells, two words each.

        Returns:
            None where the region has no cells, as the kernels' heap, or need not be watched.
        """
        known = self._cells.get(region.number)
        tagged = int(self._table[region.number, 0])
        if known is None or tagged & layout.REGION_FLAGS == layout.REGION_FLAGS:
            return None
        planes = known[2].reshape(2, -1, _CELL_WORDS)
        return known[1], planes[0], planes[1]

    def touched(self, region: Region) -> TouchedBytes | None:
        """What the last launch read and wrote of a region; None where it touched nothing, or it was not watched."""
        known = self.cells_of(region)
        if known is None:
            return None
        shift, cells, _ = known
        is_new = cells >= np.uint64(self.word("oldest"))
        places = np.flatnonzero(is_new.any(axis=1))
        if not len(places):
            return None
        first, end = int(places[0]), int(places[-1]) + 1
        cells, is_new = cells[first:end], is_new[first:end]
        is_strong = (cells & np.uint64(layout.STRONG)).astype(bool)
        writes = np.where(is_strong[:, 0], STRONG_WRITE, PLAIN_WRITE)
        reads = np.where(is_strong[:, 1], STRONG_READ, PLAIN_READ)
        kinds = (writes * is_new[:, 0] | reads * is_new[:, 1]).astype(np.uint8)
        epochs = np.where(is_new[:, 0], cells[:, 0], cells[:, 1])
        sites = ((epochs & np.uint64(layout.SITE_MASK)) >> np.uint64(layout.SITE_SHIFT)).astype(np.uint16)
        return TouchedBytes(region.address + (first << shift), 1 << shift, kinds, sites)

    def is_race_free(self, region: Region) -> bool:
        """Whether no two threads of the launch race in a region."""
        return bool(int(self._table[region.number, 0]) & layout.RACE_FREE)

    def clear(self) -> None:
        """Free all cells."""
        self._cells.clear()
        self._table[:] = 0
        self._forget_heap(tuple(self._heap))


def _cells(words: int) -> _Words:
    """Cells that nobody has touched. Where they are many, scattered accesses would miss the processor's page tables."""
    if 8 * words < _MANY:
        return np.zeros(words, np.uint64)
    return reserve(8 * words, is_dense=8 * words <= _MOST_DENSE).view(np.uint64)[:words]


def _convert(old: _Words, old_shift: int, new: _Words, shift: int) -> None:
    """Carry what has been written over to cells of another size."""
    written = old[: len(old) // 2 : _CELL_WORDS]
    if shift < old_shift:
        written = np.repeat(written, 1 << (old_shift - shift))
    else:
        step = 1 << (shift - old_shift)
        written = written[: len(written) // step * step].reshape(-1, step).max(axis=1)
    target = new[: len(new) // 2 : _CELL_WORDS]
    count = min(len(target), len(written))
    target[:count] = written[:count]

"""Race checks of the shared memory that wgmma reads, from its issue to the wait for it.

A wgmma is one operation of a warpgroup. A thread that has waited for its group knows that all four warps have read, so
that CUTLASS has one thread release a stage for all. Here each warp reads when its own lanes have come. The warps'
operations are counted: those of the same number are one. A write races with a read unless it is ordered after a wait
of any thread of the warpgroup.

PTX ISA manual, 9.7.15.7 "Asynchronous Multiply-and-Accumulate Operation using wgmma.mma_async Instruction".
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.checks.running_block import READER, WRITE, Report, RunningBlock, Words, distinct
from gpuregress.virtual_gpu.runtime.machine_layout import CLUSTER_SHIFT, SHARED_WINDOW
from gpuregress.virtual_gpu.runtime.memory import offset_in
from gpuregress.virtual_gpu.runtime.textures import TextureObject, Textures

_ROW_BYTES = 16
_WARPS = 4
WARPGROUP = _WARPS * SM_90.warp_size
"""Threads."""


class _Read(Record):
    """The rows that a warp has read for a product.

    Attributes:
        product: its number.
        epoch: of the lane that has read for the warp.
        cells: numbers of the cells.
    """

    product: int
    epoch: int
    cells: npt.NDArray[np.intp]


class _Wait(Record):
    """A wait that is over.

    Attributes:
        products: those below this number are complete.
        epoch: of the thread that has waited.
    """

    products: int
    epoch: int


@dataclass(slots=True)
class _Warpgroup:
    """The products of one warpgroup.

    Attributes:
        issued: the products of each warp.
        fenced: threads that have executed a wgmma.fence.
        commits: thread → the products up to each of its commits.
        waits: those of each thread, but for the ones that complete nothing new for it.
        completed: the number of products that some thread has waited for.
        pending: reads of those after.
        readers: stamp, thread and site of a reader in the cells → the last product that it stands for.
        known: readers, each with a block and a thread whose accesses come after a wait for the reader's product.
    """

    issued: list[int] = field(default_factory=lambda: [0] * _WARPS)
    fenced: set[int] = field(default_factory=set)
    commits: dict[int, list[int]] = field(default_factory=dict)
    waits: dict[int, list[_Wait]] = field(default_factory=dict)
    completed: int = 0
    pending: list[_Read] = field(default_factory=list)
    readers: dict[int, int] = field(default_factory=dict)
    known: set[tuple[int, int, int]] = field(default_factory=set)

    def first_waits(self, product: int) -> list[int]:
        """The epochs at which threads have waited for a product."""
        epochs = []
        for waits in self.waits.values():
            later = [wait.epoch for wait in waits if wait.products > product]
            epochs += later[:1]
        return epochs


class MatrixReads:
    """The reads of wgmma of one launch.

    Args:
        block: the running one.
        is_released: whether releases order one of some earlier epochs before one of the running thread.
        report: takes what is found.
    """

    def __init__(self, block: RunningBlock, is_released: Callable[[Sequence[int], int], bool], report: Report) -> None:
        self._block, self._is_released, self._report = block, is_released, report
        self._groups: dict[tuple[int, int], _Warpgroup] = {}

    def take(self, arguments: int) -> None:
        """Take what compiled code tells of a wgmma: one of `layout.PRODUCT` …, the thread, and a number."""
        kind, thread, value = (ctypes.c_uint64 * 3).from_address(arguments)
        number = self._block.word("number")
        if not self._block.shadow.word("has_turns") and (number, thread // WARPGROUP) not in self._groups:
            self._groups = {key: group for key, group in self._groups.items() if key[0] == number}
        group = self._groups.setdefault((number, thread // WARPGROUP), _Warpgroup())
        warp = thread % WARPGROUP // SM_90.warp_size
        if kind == layout.PRODUCT:
            if thread not in group.fenced:
                self._report(layout.NO_FENCE, SHARED_WINDOW, value, value)
            self._read(group, warp, value)
        elif kind == layout.GROUP_COMMIT:
            group.commits.setdefault(thread, []).append(group.issued[warp])
        elif kind == layout.PRODUCT_FENCE:
            group.fenced.add(thread)
        else:
            self._wait(group, thread, value)
        self._block.shadow.pass_time()

    def _read(self, group: _Warpgroup, warp: int, epoch: int) -> None:
        number = group.issued[warp]
        group.issued[warp] += 1
        group.readers[_key(epoch)] = number
        rows = self._block.shadow.take_matrix_rows()
        if number >= group.completed:
            inside = (rows - np.uint64(SHARED_WINDOW)) & np.uint64((1 << CLUSTER_SHIFT) - 1)
            first = np.unique(inside >> np.uint64(self._block.shift)).astype(np.intp)
            each = np.arange(max(1, _ROW_BYTES >> self._block.shift))
            group.pending.append(_Read(number, epoch, (first[:, None] + each).reshape(-1)))

    def _wait(self, group: _Warpgroup, thread: int, most: int) -> None:
        commits = group.commits.get(thread, [])
        products = commits[-1 - most] if most < len(commits) else 0
        waits = group.waits.get(thread, [])
        if products <= (waits[-1].products if waits else 0):
            return
        now = self._block.shadow.word("now") << layout.STAMP_SHIFT | thread << layout.THREAD_SHIFT
        group.waits.setdefault(thread, []).append(_Wait(products, now))
        group.completed = max(group.completed, products)
        complete = [read for read in group.pending if read.product < products]
        group.pending = [read for read in group.pending if read.product >= products]
        planes, replaced = self._block.shared.planes(), np.array([read.epoch for read in complete], np.uint64)
        for read in complete:
            self._report_late_writes(planes, read)
            until = now | layout.epoch_site(read.epoch) << layout.SITE_SHIFT | layout.ASYNCHRONOUS
            group.readers[_key(until)] = read.product
            readers = planes[0][read.cells, READER]
            is_free = readers < self._block.word("open")
            is_free |= np.isin(readers & ~np.uint64(layout.LEVEL_MASK), replaced)
            self._block.note_reader(planes, read.cells, until, is_free, self._block.word("open"))

    def _report_late_writes(self, planes: tuple[Words, Words], read: _Read) -> None:
        """Report the writes since a read that ends."""
        written = planes[0][read.cells, WRITE]
        for number in distinct(written, np.flatnonzero(self._block.is_behind(written, read.epoch))):
            address = self._block.shared.address(self._block.machine.shared, int(read.cells[number]))
            self._report(layout.UNARRIVED, address, int(written[number]), read.epoch)

    def is_complete(self, other: int, epoch: int) -> bool:
        """Whether an earlier access is a read of wgmma that an access of the running thread comes after.

        Args:
            other: the epoch of the earlier access.
            epoch: that of the running thread's.
        """
        number = self._block.shadow.block_at(layout.epoch_stamp(other))
        group = self._groups.get((number, layout.epoch_thread(other) // WARPGROUP))
        if group is None:
            return False
        product, thread = group.readers.get(_key(other)), layout.epoch_thread(epoch)
        if product is None:
            return False
        known = (_key(other), self._block.word("number"), thread)
        if known not in group.known:
            waits = group.first_waits(product)
            is_over = bool(waits) and not self._block.unordered_anywhere(np.array(waits, np.uint64), thread).all()
            if not is_over and not self._is_released(waits, epoch):
                return False
            group.known.add(known)
        return True


def _key(epoch: int) -> int:
    """Stamp, thread and site of an epoch."""
    return epoch >> layout.SITE_SHIFT


# --- texels -----------------------------------------------------------------------------------------------------------
# Accesses of textures and surfaces, and places of texels, in words.

FETCH, SURFACE_READ, SURFACE_WRITE = "texture fetch", "surface read", "surface write"
"""Actions of sites."""
INCOHERENT = (FETCH, SURFACE_READ)
"""Those that may miss what their own launch has written. CUDA programming guide, "Read/Write Coherency"."""
_FACES = ("+x", "-x", "+y", "-y", "+z", "-z")


def place(textures: Textures, address: int) -> str:
    """Return the coordinates of the texel that an address is in: `x 5, y 3`, `x 7, layer 2`, `x 1, y 0, face -y`.

    Args:
        textures: all objects of the device.
        address: in device memory.

    Returns:
        "" where no texture or surface is there, or it is a single row, in which the index says it.
    """
    for found in textures.objects:
        offset = offset_in(found.region, address)
        if 0 <= offset < found.region.size:
            return _coordinates(found, offset)
    return ""


def _coordinates(texture: TextureObject, offset: int) -> str:
    description = texture.description
    width, height, _ = (max(1, extent) for extent in description.extents)
    line, x = divmod(offset // description.element_size, width)
    z, y = divmod(line, height)
    words = [f"x {x}", f"y {y}", f"z {z}"][: description.axes]
    if description.cube:
        words.append(f"face {_FACES[z % len(_FACES)]}")
        z //= len(_FACES)
    if description.layered:
        words.append(f"layer {z}")
    return ", ".join(words) if len(words) > 1 else ""

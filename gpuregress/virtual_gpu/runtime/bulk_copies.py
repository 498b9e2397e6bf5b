"""Bulk and tensor copies of one launch, pending until a thread waits for them.

A copy to shared memory reads its source when it is issued, and arrives when a thread looks at its mbarrier. A copy to
global memory reads its source when its thread waits for the read, and arrives when its thread waits for the write, or
when the block ends. So a missing wait shows old data.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.descriptors import TENSOR_MAP_ALIGNMENT, TENSOR_MAP_BYTES, TensorMap
from gpuregress.gpu.errors import KernelFault
from gpuregress.virtual_gpu.runtime import bulk_elements, machine_layout, tensor_tiles
from gpuregress.virtual_gpu.runtime.bulk_elements import PendingLoad, PendingStore, StoreGroups
from gpuregress.virtual_gpu.runtime.bulk_forms import BulkForm, form_of, with_bytes_done
from gpuregress.virtual_gpu.runtime.checks.bulk_notes import BulkNotes
from gpuregress.virtual_gpu.runtime.fault_context import BadAccess
from gpuregress.virtual_gpu.runtime.machine_layout import CLUSTER_SHIFT, SHARED_WINDOW, Machine
from gpuregress.virtual_gpu.runtime.memory import AddressSpace, Region, offset_in
from gpuregress.virtual_gpu.runtime.program import SharedVariable
from gpuregress.virtual_gpu.runtime.tensor_tiles import CHUNK, Bytes, row_bytes, spatial_axes

# --- rules ------------------------------------------------------------------------------------------------------------
# Rules of tensor copies, the breach of which is an illegal instruction on an H200.

_BITS = "and or xor"
_REDUCTIONS = {
    "uint32": f"add min max inc dec {_BITS}", "int32": f"add min max {_BITS}", "uint64": f"add min max {_BITS}",
    "int64": "min max", "float16": "add min max", "bfloat16": "add min max", "float32": "add", "float32_ftz": "add",
    "float64": "add", "tfloat32": "add", "tfloat32_ftz": "add",
}  # fmt: skip
"""Type of a tensor → the reductions that there are for it."""


def breach(given: TensorMap, start: tuple[int, ...], *, is_load: bool, reduction: str = "") -> str:
    """Return the rule that a copy breaks; "" if it breaks none.

    Args:
        given: the map.
        start: the coordinates, fastest axis first.
        is_load: whether it goes to shared memory.
        reduction: of a reduction, its operation.
    """
    byte = start[0] * given.unit
    if byte % CHUNK:
        return f"coordinate {start[0]} of the fastest axis is byte {byte}: it must be a multiple of {CHUNK}"
    row = row_bytes(given)
    if row % CHUNK:
        return f"the tensor map has {row} bytes along the fastest axis of its box: they must be a multiple of {CHUNK}"
    if not is_load:
        return _wrong_store(given, start, reduction)
    return _wrong_pixel(given, start)


def _wrong_store(given: TensorMap, start: tuple[int, ...], reduction: str) -> str:
    for number, value in enumerate(start):
        if value < 0:
            return f"coordinate {number} is {value}: a box that is stored cannot begin in front of the tensor"
    known = _REDUCTIONS.get(given.type, "").split()
    if reduction and reduction not in known:
        only = f", only {', '.join(known)}" if known else ""
        return f"there is no {reduction} of {given.type} elements{only}"
    if given.im2col is not None and given.interleave != "none":
        return (
            f"pixels are stored, and the tensor map has interleave: {given.interleave}: not supported by the cpu device"
        )
    if given.im2col is not None and (min(given.im2col.lower) < 0 or max(given.im2col.upper) > 0):
        return "the bounding box reaches out of the tensor: pixels cannot be stored with such a tensor map"
    return _wrong_pixel(given, start)


def _wrong_pixel(given: TensorMap, start: tuple[int, ...]) -> str:
    """An im2col copy begins in the bounding box; the image that is loaded may be outside the tensor."""
    box = given.im2col
    if box is None:
        return ""
    for axis, low, high in zip(spatial_axes(given), box.lower, box.upper, strict=True):
        first, last = start[axis], given.extents[axis] - 1 + high
        if not low <= first <= last:
            return f"coordinate {axis} is {first}: the bounding box is {low} to {last} there"
    return ""


# --- copies -----------------------------------------------------------------------------------------------------------

_TILE_ALIGNMENT = 128
"""Of a tensor copy's address in shared memory."""
_BARRIER_BYTES = 8
_MOST_RANKS = 16


class BulkCopies:
    """The bulk copies of one launch.

    Args:
        machine: the launch's.
        space: all regions.
        shared: the shared variables of the program.
        mnemonics: of each site, by its number.
        in_cluster: whether the launch is one in clusters, of one block or more.

    Attributes:
        moved: number of a site → bytes that its copies have moved.
    """

    def __init__(
        self,
        machine: Machine,
        space: AddressSpace,
        shared: Sequence[SharedVariable],
        mnemonics: Sequence[str],
        *,
        in_cluster: bool = True,
    ) -> None:
        self._machine, self._space = machine, space
        self._shared = []
        for item in shared:
            size = machine.dynamic_size if item.size < 0 else item.size
            self._shared.append((item.address, size))
        self._mnemonics, self._in_cluster = mnemonics, in_cluster
        self.moved: dict[int, int] = {}
        self._moving, self._issuer = -1, 0
        self._reads: list[object] = []
        self._sent: tuple[int, int, int, int] | None = None
        self._loads: dict[int, list[PendingLoad]] = {}
        self._groups: dict[tuple[int, int], StoreGroups] = {}
        self.noted: BulkNotes | None = None
        """What follows the copies for the dynamic checks."""
        self._at_once = machine.arrival == machine_layout.AT_ONCE
        self.lost = 0
        """Copies to shared memory for which no thread waited before their block ended."""
        self.lost_stores = 0
        """Asynchronous stores of registers likewise."""

    def issue(self, site: int, thread: int, values: Iterator[int]) -> None:
        """Execute one instruction of `cp.async.bulk` or `cp.reduce.async.bulk`.

        Args:
            site: its number.
            thread: the running thread's number in its block.
            values: the operands: an address is a generic one, a tensor's is followed by the coordinates.

        Raises:
            BadAccess: it reaches outside of its memory.
            KernelFault: it is wrong otherwise.
        """
        mnemonic = self._mnemonics[site]
        self._moving, self._issuer = site, thread
        form = form_of(tuple(mnemonic.split(".")[1:]))
        assert form is not None, "refused before it was compiled"
        self._machine.bulk_copies = 1
        if form.action == "commit":
            groups = self._groups_of(thread)
            groups.committed.append(groups.current)
            groups.current = []
        elif form.action == "wait":
            self._wait(thread, next(values), reads_only=form.reads_only)
        elif form.target == "shared":
            self._load(form, (site, thread), values, mnemonic)
        else:
            self._store(form, (site, thread), values, mnemonic)

    def send(self, site: int, thread: int, target: int, barrier: int, values: Sequence[int]) -> None:
        """Execute one `st.async` or `red.async`, whose addresses have been checked.

        Args:
            site: its number.
            thread: the running thread's number in its block.
            target: host address.
            barrier: host address of an mbarrier; that at the same place of the target's block is signalled.
            values: the elements' bits.

        Raises:
            KernelFault: the launch has no clusters.
        """
        self._moving = site
        self._check_cluster(self._mnemonics[site])
        machine, words = self._machine, self._mnemonics[site].split(".")
        machine.bulk_copies = 1
        type_ = words[-1]
        width = int(type_.lstrip("bsuf")) // 8
        data = np.frombuffer(b"".join(value.to_bytes(8, "little")[:width] for value in values), np.uint8)
        block = self._block_of(target)
        barrier += block - self._block_of(barrier)
        self._count(len(data))
        reduction = (words[-2], type_) if words[0] == "red" else ("", "")
        self._add(barrier, PendingLoad(target, data, block, reduction, is_store=True, issuer=(site, thread)))

    def _block_of(self, host: int) -> int:
        """The host address of the shared memory that holds another address."""
        return max(start for start in self._shared_hosts() if start <= host)

    def _count(self, size: int) -> None:
        self.moved[self._moving] = self.moved.get(self._moving, 0) + size

    def _add(self, barrier: int, load: PendingLoad) -> None:
        is_far = load.block != self._machine.shared
        if self.noted is not None:
            reduces = bool(load.reduction[0])
            load.issued = self.noted.load_issued(load.issuer, load.block, load.target, load.extent, reduces=reduces)
            if not load.is_store:  # st.async and red.async are accesses of the generic proxy
                self.noted.signals(load.issued, load.block, barrier)
        self._loads.setdefault(barrier, []).append(load)
        self._machine.pending_loads += 1
        # What is noted of an arrival in another block is a wait of its threads.
        if self._at_once and not (is_far and self.noted is not None):
            self.arrive(barrier, load.issuer[1])

    def _check_cluster(self, mnemonic: str) -> None:
        """Refuse a copy between blocks, or to the own one by that way, where there are no clusters: measured."""
        if not self._in_cluster:
            text = "the launch has no clusters; __cluster_dims__(1, 1, 1) makes one of each block"
            raise KernelFault("illegal-instruction", f"{mnemonic}: {text}")

    def arrive(self, barrier: int, waiter: int = 0) -> None:
        """Complete the copies that signal an mbarrier.

        Args:
            barrier: its host address.
            waiter: the thread that looks at it.
        """
        loads = self._loads.pop(barrier, None)
        if loads is None:
            return
        self._machine.pending_loads -= len(loads)
        cell = ctypes.c_uint64.from_address(barrier)
        for load in loads:
            load.write()
            if self.noted is not None:
                if load.block == self._machine.shared:
                    self.noted.in_shared(load.issued, waiter, load.target, load.extent)
                if load.source is not None:
                    self.noted.source_copied(*load.source)
                for read in load.reads:
                    self.noted.global_read_ended(read, waiter)
            cell.value = with_bytes_done(cell.value, len(load.data))

    def end_block(self) -> None:
        """Complete the stores of the block that ends, and drop the copies to its shared memory."""
        block = self._machine.shared
        for key in [key for key in self._groups if key[0] == block]:
            groups = self._groups.pop(key)
            for group in (*groups.committed, groups.current):
                for store in group:
                    self._perform(store)
        for barrier, loads in list(self._loads.items()):
            others = []
            for load in loads:
                if load.block != block:
                    others.append(load)
                elif load.is_store:
                    self.lost_stores += 1
                else:
                    self.lost += 1
            for load in others:
                if load.source is not None and load.source[0] == block and self.noted is not None:
                    self.noted.source_ended(*load.source)
                    load.source = None
            self._machine.pending_loads -= len(loads) - len(others)
            self._loads[barrier] = others
            if not others:
                del self._loads[barrier]

    # --- groups -------------------------------------------------------------------------------------------------------

    def _groups_of(self, thread: int) -> StoreGroups:
        return self._groups.setdefault((self._machine.shared, thread), StoreGroups())

    def _read(self, store: PendingStore) -> None:
        if store.data is None and store.issued is not None and self.noted is not None:
            self.noted.source_read(*store.issued)
        store.read()

    def _perform(self, store: PendingStore) -> None:
        self._read(store)
        store.write()
        if self.noted is not None:
            self.noted.global_write_ended(store.written)

    def _wait(self, thread: int, most: int, *, reads_only: bool) -> None:
        groups = self._groups_of(thread)
        count = max(0, len(groups.committed) - most)
        for group in groups.committed[:count]:
            for store in group:
                if reads_only:
                    self._read(store)
                else:
                    self._perform(store)
        if not reads_only:
            del groups.committed[:count]

    # --- to shared memory ---------------------------------------------------------------------------------------------

    def _load(self, form: BulkForm, issuer: tuple[int, int], values: Iterator[int], mnemonic: str) -> None:
        target, given = next(values), None
        self._reads = []
        if form.source == "shared":
            self._check_cluster(mnemonic)
        if form.axes:
            given, origin, start = self._tensor(form, values, mnemonic)
            barrier = next(values)
            offsets = tuple(next(values) & 0xFFFF for _ in range(form.axes - 2)) if form.im2col else ()
            data = self._inner_box(given, origin, start)
            if data is None:
                data = self._gathered(given, origin, tensor_tiles.element_offsets(given, start, offsets))
        else:
            source, size, barrier = next(values), next(values) & 0xFFFF_FFFF, next(values)
            _check_size(size, mnemonic)
            data = self._source(form, source, size)
        ends = [(target, barrier)]
        if form.multicast:
            mask = next(values)
            ranks = [rank for rank in range(_MOST_RANKS) if mask >> rank & 1]
            ends = [(_moved(target, rank), _moved(barrier, rank)) for rank in ranks]
        for end in ends:
            signalled, load = self._new_load(form, given, data, end)
            load.issuer, load.reads, load.source = issuer, self._reads, self._sent
            self._reads, self._sent = [], None
            self._add(signalled, load)

    def _new_load(
        self, form: BulkForm, given: TensorMap | None, data: Bytes, ends: tuple[int, int]
    ) -> tuple[int, PendingLoad]:
        """A copy, and the host address of the mbarrier that it signals."""
        target, barrier = ends
        places, size, alignment = None, len(data), CHUNK
        if given is not None:
            places, size = tensor_tiles.chunk_places(given, len(data), target)
            alignment = _TILE_ALIGNMENT
        host, block = self._in_shared(target, size, "write", alignment)
        # That of the target's block, whichever the instruction names: measured.
        barrier = _moved(barrier, target - SHARED_WINDOW >> CLUSTER_SHIFT)
        signalled, _ = self._in_shared(barrier, _BARRIER_BYTES, "atomic access", _BARRIER_BYTES)
        if places is not None and size == len(data):
            stored = np.empty_like(data)
            stored.reshape(-1, CHUNK)[places] = data.reshape(-1, CHUNK)
            data, places = stored, None
        self._count(len(data))
        return signalled, PendingLoad(host, data, block, (form.reduction, form.type), places)

    def _source(self, form: BulkForm, address: int, size: int) -> Bytes:
        if form.source == "shared":
            host, home = self._in_shared(address, size, "read", CHUNK, own=True)
            if self.noted is not None:
                self._sent = home, host, size, self.noted.store_issued(self._moving, self._issuer, host, size)
            return np.frombuffer(ctypes.string_at(host, size), np.uint8)
        region, start = self._in_global(address, size, "read", CHUNK)
        self._note_read(region, slice(start, start + size))
        return region.data[start : start + size].copy()

    def _note_read(self, region: Region, places: slice | npt.NDArray[np.int64]) -> None:
        """Tell of the global memory that the copy which is being issued reads."""
        if self.noted is not None:
            self._reads.append(self.noted.global_read(self._moving, self._issuer, region, places))

    def _inner_box(self, given: TensorMap, origin: int, start: tuple[int, ...]) -> Bytes | None:
        """Read a box that is inside the tensor and has no gaps, the usual one, by rows; None for any other."""
        if given.im2col is not None or set(given.element_strides[given.interleave == "none" :]) - {1}:
            return None
        counts, size = tensor_tiles.box_counts(given), given.unit
        ends = zip(start, counts, given.extents, strict=True)
        if not all(0 <= first <= extent - count for first, count, extent in ends):
            return None
        steps = (size, *given.strides)
        first = sum(at * step for at, step in zip(start, steps, strict=True))
        last = first + sum((count - 1) * step for count, step in zip(counts, steps, strict=True))
        region, end = self._in_global(origin + last, size, "read", 1)
        shape = (*counts[:0:-1], counts[0] * size)
        if self.noted is not None:
            self._note_read(region, end - last + first + _offsets(shape, (*given.strides[::-1], 1)))
        rows = np.lib.stride_tricks.as_strided(
            region.data[end - last + first :], shape, (*given.strides[::-1], 1), writeable=False
        )
        data: Bytes = rows.reshape(-1).copy()
        return bulk_elements.loaded(data, given.type)

    def _gathered(self, given: TensorMap, origin: int, offsets: tensor_tiles.Offsets) -> Bytes:
        """Read elements of a tensor, with the map's fill for those outside."""
        inside = offsets >= 0
        count = given.unit
        region, first = self._extent(origin, offsets, count, "read")
        result = np.empty((len(offsets), count), np.uint8)
        if region is not None:
            sources = np.where(inside, offsets, offsets.max()) + first
            read = _elements(region.data, sources, count)
            if self.noted is not None:
                self._note_read(region, (sources[inside][:, None] + np.arange(count)).reshape(-1))
            result[:] = bulk_elements.loaded(read.reshape(-1), given.type).reshape(result.shape)
        if not inside.all():
            result[~inside] = np.frombuffer(bulk_elements.fill(given), np.uint8)
        return result.reshape(-1)

    # --- to global memory ---------------------------------------------------------------------------------------------

    def _store(self, form: BulkForm, issuer: tuple[int, int], values: Iterator[int], mnemonic: str) -> None:
        if form.axes:
            store = self._tensor_store(form, values, mnemonic)
        else:
            target, source, size = next(values), next(values), next(values) & 0xFFFF_FFFF
            _check_size(size, mnemonic)
            region, start = self._in_global(target, size, "write", CHUNK)
            memory = self._view_of_shared(source, size, CHUNK)
            store = PendingStore(memory, region, slice(start, start + size), None, (form.reduction, form.type))
        self._count(store.size)
        if self.noted is not None:
            host, size = int(store.source.ctypes.data), store.source.nbytes
            epoch = self.noted.store_issued(*issuer, host, size)
            store.issued = host, size, epoch
            store.written = self.noted.global_write(epoch, store.region, store.places, reduces=bool(form.reduction))
        if self._at_once:
            self._perform(store)
        else:
            self._groups_of(issuer[1]).current.append(store)

    def _tensor_store(self, form: BulkForm, values: Iterator[int], mnemonic: str) -> PendingStore:
        given, origin, start = self._tensor(form, values, mnemonic)
        source = next(values)
        count, shift = given.unit, (0,) * (form.axes - 2)
        offsets = tensor_tiles.element_offsets(given, start, shift)
        places, size = tensor_tiles.chunk_places(given, len(offsets) * count, source)
        memory = self._view_of_shared(source, size, _TILE_ALIGNMENT)
        region, first = self._extent(origin, offsets, count, "write")
        whole = tensor_tiles.whole_chunks(given)
        if region is not None and whole is not given:
            offsets = tensor_tiles.element_offsets(whole, start, shift)
            offsets[offsets + first + count > region.size] = tensor_tiles.OUTSIDE
        inside = np.flatnonzero(offsets >= 0)
        order = inside[:, None] * count + np.arange(count)
        if places is not None:
            order = places[order // CHUNK] * CHUNK + order % CHUNK
        bytes_ = offsets[inside][:, None] + first + np.arange(count)
        if region is None:
            region = Region(0, "", 0, 1)
        return PendingStore(memory, region, bytes_.reshape(-1), order.reshape(-1), (form.reduction, given.type))

    # --- memory -------------------------------------------------------------------------------------------------------

    def _tensor(self, form: BulkForm, values: Iterator[int], mnemonic: str) -> tuple[TensorMap, int, tuple[int, ...]]:
        """The tensor map that an instruction names, its tensor's address, and the coordinates."""
        address = next(values)
        start = tuple(_signed(next(values)) for _ in range(form.axes))
        decoded = tensor_tiles.unpack(self._map_at(address))
        if decoded is None:
            raise KernelFault("illegal-instruction", f"{mnemonic}: there is no tensor map at address {hex(address)}")
        given, origin = decoded
        if len(given.extents) != form.axes:
            wrong = f"the tensor map has {len(given.extents)} axes, the instruction {form.axes}"
        elif (given.im2col is not None) != form.im2col:
            wrong = "the tensor map is a tiled one" if form.im2col else "the tensor map is an im2col one"
        else:
            wrong = breach(given, start, is_load=form.target == "shared", reduction=form.reduction)
        if wrong:
            raise KernelFault("illegal-instruction", f"{mnemonic}: {wrong}")
        return given, origin, start

    def _map_at(self, address: int) -> bytes:
        if address % TENSOR_MAP_ALIGNMENT:
            raise BadAccess(address, TENSOR_MAP_BYTES, "read", TENSOR_MAP_ALIGNMENT)
        offset = address - machine_layout.PARAM_WINDOW
        if 0 <= offset <= self._machine.params_size - TENSOR_MAP_BYTES:
            return ctypes.string_at(self._machine.params + offset, TENSOR_MAP_BYTES)
        region, start = self._in_global(address, TENSOR_MAP_BYTES, "read", 1)
        return region.data[start : start + TENSOR_MAP_BYTES].tobytes()

    def _in_global(self, address: int, size: int, action: str, alignment: int) -> tuple[Region, int]:
        """The region of a stretch of global memory, and its first byte there."""
        region = self._space.find(address)
        if region is not None and address % alignment == 0:
            start = offset_in(region, address)
            if 0 <= start <= region.size - size:
                return region, start
        raise BadAccess(address, size, action, alignment)

    def _extent(self, origin: int, offsets: tensor_tiles.Offsets, size: int, action: str) -> tuple[Region | None, int]:
        """The region that elements of a tensor are in, and the tensor's first byte there; None if all are outside."""
        last = int(offsets.max(initial=tensor_tiles.OUTSIDE))
        if last < 0:
            return None, 0
        region, end = self._in_global(origin + last, size, action, 1)
        return region, end - last

    def _view_of_shared(self, address: int, size: int, alignment: int) -> Bytes:
        host, _ = self._in_shared(address, size, "read", alignment, own=True)
        memory: Bytes = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(host))
        return memory

    def _shared_hosts(self) -> ctypes.Array[ctypes.c_uint64]:
        """Host addresses of the shared memory of each block of the cluster; 0: it is not there."""
        machine = self._machine
        hosts: ctypes.Array[ctypes.c_uint64]
        hosts = (ctypes.c_uint64 * machine.cluster_count).from_address(machine.cluster_shared)
        return hosts

    def _in_shared(self, address: int, size: int, action: str, alignment: int, *, own: bool = False) -> tuple[int, int]:
        """The host addresses of a stretch of shared memory, and of its block's."""
        machine = self._machine
        rank, inside = divmod(address - SHARED_WINDOW, 1 << CLUSTER_SHIFT)
        if own and rank != machine.cluster_rank and 0 <= rank < machine_layout.MOST_RANKS:
            raise BadAccess(address, size, action, alignment, is_far=True)
        hosts = self._shared_hosts()
        host = hosts[rank] if 0 <= rank < machine.cluster_count else 0
        fits = any(start <= inside <= start + count - size for start, count in self._shared)
        if not host or not fits or address % alignment:
            raise BadAccess(address, size, action, alignment)
        return host + inside, host


def _check_size(size: int, mnemonic: str) -> None:
    if size % CHUNK:
        raise KernelFault("illegal-instruction", f"{mnemonic} of {size} bytes: the size must be a multiple of {CHUNK}")


def _moved(address: int, rank: int) -> int:
    """The same address of another block's shared memory."""
    mask = (machine_layout.MOST_RANKS - 1) << CLUSTER_SHIFT
    return SHARED_WINDOW | (address - SHARED_WINDOW) & ~mask | rank << CLUSTER_SHIFT


def _signed(value: int) -> int:
    """A coordinate: 32 bits, signed."""
    value &= 0xFFFF_FFFF
    return value - (1 << 32) if value >> 31 else value


def _elements(data: Bytes, offsets: tensor_tiles.Offsets, size: int) -> Bytes:
    """Elements of `size` bytes at byte offsets, which are multiples of their size where the memory's start is one."""
    taken: Bytes = data[offsets[:, None] + np.arange(size)]
    return taken


def _offsets(shape: tuple[int, ...], strides: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """The offset of each element of an array from its first one, in bytes."""
    axes = (np.arange(count, dtype=np.int64) * step for count, step in zip(shape, strides, strict=True))
    total = np.zeros((), np.int64)
    for axis in axes:
        total = total[..., None] + axis
    return total.reshape(-1)

"""Layout of addresses, and the `Machine` record that compiled code and Python share.

An address is 64 bits: a slot from bit 40 up, and an offset that starts at `MIDDLE`, so that a negative index stays in
its own region's slot. Regions are scattered over 2^22 slots by multiplicative hashing (Knuth, The Art of Computer
Programming, 6.4), so that an index of terabytes reaches no other buffer. The windows, which every thread sees
differently, are slots like any other.
"""

from __future__ import annotations

import ctypes

REGION_SHIFT = 40
MIDDLE = 1 << 38
SLOT_BITS = 22
"""Addresses stay below 2^62: as signed numbers they are positive, as on a GPU."""
SCATTER = 617151
"""Region's number → slot, modulo 2^22. Found by search: no two of `MAX_REGIONS` slots are `m * 2^j` slots apart, for
any `j` and odd `m` below 34."""
GATHER = pow(SCATTER, -1, 1 << SLOT_BITS)
"""Slot → region's number."""


def slot_of(number: int) -> int:
    """The slot of a region, or of a window, by its number."""
    return (number * SCATTER) % (1 << SLOT_BITS)


SHARED_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, FUNCTION_WINDOW, TEXTURE_WINDOW = (
    slot_of(1_081_001 + number) << REGION_SHIFT for number in range(5)
)
"""Numbers that no region has, nor the sum or difference of one and a region: a window is not reached by accident."""
"""Windows of shared, local, parameter memory, function addresses, and handles of textures and surfaces."""
FIRST_REGION = 16
MAX_REGIONS = 1 << 16
HEAP_CLASSES = 32
HEAP_FIRST = MAX_REGIONS - HEAP_CLASSES
"""The last numbers belong to the size classes of the kernels' heap."""
TABLE_SHIFT = 5
"""A region's row in the table has 2^5 bytes."""
TEXTURE_SHIFT = 7
"""A texture's row has 2^7 bytes."""
TEXTURE_WORDS = (1 << TEXTURE_SHIFT) // 8

CLUSTER_SHIFT = 26
"""In the shared window the blocks of a cluster lie side by side, each 2^26 bytes from the one before."""
MOST_RANKS = 64
"""Ranks that 32-bit addresses can hold; an address of a higher rank is at the last one, where no block is."""

SHARED_START = 1024
"""The first shared variable's address; the bytes before it catch negative indexes."""
SHARED_GAP = 4096 + 192
"""Bytes between shared variables: catches overruns; not a multiple of a page, which would slow the caches."""
LOCAL_START = 4096
LOCAL_GAP = 256
"""Bytes between the local variables of a kernel: less than between shared ones, because each thread has them."""
FUNCTION_STEP = 16

MAX_THREADS = 1024
ROW = MAX_THREADS + 16
"""Elements between two rows of a thread context; not a power of two, which would slow the caches."""
BARRIERS = 17
"""Sixteen by number, and one for a cluster that is one block."""

FAULT_ACCESS, FAULT_TRAP, FAULT_HOST, FAULT_DEADLOCK, FAULT_CALL, FAULT_STACK, FAULT_BRANCH = range(1, 8)
FAULT_TEXTURE, FAULT_SURFACE, FAULT_CLUSTER, FAULT_FAR, FAULT_STUCK, FAULT_BARRIER, FAULT_FREE = range(8, 15)
FAULT_WARPGROUP, FAULT_RESULT, FAULT_REACH = range(32, 35)
FAULT_MASK, FAULT_DIVERGENT, FAULT_SPIN, FAULT_STOPPED, FAULT_LOOP = range(40, 45)
"""Values of `fault_kind`. FAULT_HOST: a system call failed, and Python knows how; FAULT_CLUSTER: a cluster's barrier
out of turn; FAULT_FAR: another block's memory, by an instruction for the own; FAULT_STUCK: no block of a cluster can
go on; FAULT_BARRIER: a barrier that no block has, or a part of a warp to be counted there; FAULT_FREE: `free` of
memory that is not allocated; FAULT_WARPGROUP: too few warps for wgmma; FAULT_RESULT: a result of wgmma is read in
flight; FAULT_REACH: shared memory that no matrix descriptor reaches; FAULT_MASK: a warp operation by a lane that its
mask leaves out; FAULT_DIVERGENT: lanes of a warp that do not meet at an aligned barrier;
FAULT_SPIN: no resident block can go on; FAULT_STOPPED: the launch was stopped from outside, where a block begins or its
threads wait; FAULT_LOOP: likewise, in a loop."""

LATEST, AT_ONCE, AT_ANY_WAIT = range(3)
"""Values of `arrival`: a copy arrives as late as its thread's waits allow, when it is issued, or when its thread waits
for any group of copies."""

SUSPENDED, HELD = 2, 3
"""Status of a block that has used up its passes, or waits at a cluster's barrier; 0: done; otherwise a fault."""

EXCHANGE_ENTRIES, EXCHANGE_SHIFT = 1 << 10, 5
"""Rows, each of 2^5 bytes, of the table of last writes: address, thread, site."""

SHADOW_SHIFT, SHADOW_CHUNK, SHADOW_PROBES, SHADOW_SIZE_SHIFT = 5, 4, 256, 56
"""A row of the table of shadow values has 2^5 bytes: address and size of an element, its bits, two parts of its shadow.
Chunks of 2^4 rows stand for 64 bytes of memory. A row is looked for in 256 places; the size is above bit 56."""
SHADOW_MULTIPLIER = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio (Knuth, The Art of Computer Programming, 6.4)."""

SYSTEM_CALLS = ("vprintf", "__assertfail", "malloc", "free", "__cuda_syscall_aligned_malloc")
"""Functions that the device offers; a call names one by its index."""
CHECK_REPORT, CHECK_ORDER, CHECK_MASK, CHECK_MATRIX, CHECK_END, CHECK_EXITS, CHECK_LEFT_OUT = (
    (1 << 16) + number for number in range(16, 23)
)
"""Numbers of the calls by which the dynamic checks report, tell of strong accesses and fences, of masks that name lanes
which went another way, of wgmma, its groups and its waits, of a cluster's block that ends, of lanes that leave the
kernel before a barrier of their warp, and of those that their mask leaves out."""
BULK_ISSUE, BULK_ARRIVE, BULK_END, BULK_SEND = range(1 << 16, (1 << 16) + 4)
"""Numbers of the calls that execute a bulk copy, complete those that signal an mbarrier, and end a block."""
TRACE_FULL, TRACE_FLUSH = 1 << 17, (1 << 17) + 1
"""Numbers of the calls that make room for further rows of a stretch (its head), and combine all rows."""
SYSCALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
"""(number, the arguments' bytes, the thread's local memory) → the result; a fault sets `fault_kind`."""


class Machine(ctypes.Structure):
    """The argument of a compiled kernel: the launch's numbers, and host pointers. Every field has 8 bytes.

    `table` holds (host address, size, first address, 0) for each region, and (0, 0, 0, pointer to its record) for each
    size class of the heap; it never moves. `heap` points to the heap's records. `symbols` holds (address, host address)
    for each of the module's variables, `tables` one pointer for each special-function table that the module uses,
    `textures` a row of `TEXTURE_WORDS` words for each texture and surface.
    `workspace` is the address of the grid's barrier. A block that has made `passes_per_turn` passes (0: any number) is
    suspended, and continues from there when it is called with `resuming` set.
    `cluster_x` … are a cluster's blocks along each axis, `cluster_rank` the block's number in it. `cluster_shared` has
    a host pointer to the shared memory of each of its `cluster_count` blocks (0: it is not there); `shared_base` is
    where the block's own lies in the shared window.
    `pending_loads` counts the bulk copies to shared memory that have not arrived; `bulk_copies` is set by the first
    instruction of that kind. `copies` is the queue of the block's `cp.async`.
    `exchanges` is a hash table of the last writes of lanes that depend on each other, `exchange_write` and
    `exchange_read` the numbers, from 1, of the sites of the first exchange (0: there was none).
    `checks` and `block_checks` are the states of the dynamic checks, of the launch and of the block (`checks.layout`);
    `cluster_checks` has a host pointer to the state of each block of the cluster. `local_notes` is the distance from a
    byte of local memory to its note (`checks.local_notes`).
    `left_out` is the number, from 1, of the site of the first operation whose mask leaves out the lane that executes
    it, above bit 32, and the mask; 0: there was none. `left_out_lane` is the lane.
    Another thread of the process sets `stop` to end the launch; compiled code looks at it from time to time.
    `told_exits` has a bit for each wait, modulo 64, that `CHECK_EXITS` has reported.
    `counters` has a 64-bit number for each counter of the module's probes.
    `trace` holds (next row, end of the rows) for each traced stretch; `trace_key` is the running lane's key, made of
    the number of its warp's way between two waits (`trace_way`) and the lane; `trace_warp` and `trace_mask` are the
    warp and its lanes so far, `trace_flush` asks for rows to be combined.
    In code that permutes threads `order` has the number of the thread that runs first, second, … as 32-bit numbers, and
    `arrival` tells when asynchronous copies arrive: `LATEST` and so on.
    `shadows` is the hash table of the shadow values of memory (`instruments.shadow_values`), `shadow_mask` its
    rows less one, `shadows_lost` how many it had no row for.
    `advanced` tells whether a block that was suspended had changed anything; its number is then in `first_block`.
    """

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in (
            "params", "params_size", "table", "table_count", "symbols", "tables",
            "shared", "dynamic_size", "local", "local_size", "context",
            "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "first_block", "end_block",
            "clock", "syscall", "fault_kind", "fault_site", "fault_address",
            "fault_tid_x", "fault_tid_y", "fault_tid_z", "fault_ctaid_x", "fault_ctaid_y", "fault_ctaid_z",
            "inactive_reads", "instructions",
            "workspace", "passes_per_turn", "resuming", "textures", "texture_count", "fault_x", "fault_y", "fault_z",
            "cluster_x", "cluster_y", "cluster_z", "cluster_count", "cluster_rank", "cluster_shared", "shared_base",
            "pending_loads", "bulk_copies", "heap", "copies",
            "exchanges", "exchange_write", "exchange_read", "advanced", "counters", "checks", "block_checks",
            "trace", "trace_key", "trace_way", "trace_warp", "trace_mask", "trace_flush",
            "order", "arrival",
            "shadows", "shadow_mask", "shadows_lost", "cluster_checks", "local_notes",
            "told_exits", "left_out", "left_out_lane", "stop", "local_gaps", "local_gap_count",
        )
    ]  # fmt: skip


OFFSETS = {name: 8 * index for index, (name, *_) in enumerate(Machine._fields_)}


def region_address(number: int) -> int:
    """The address of a region's first byte."""
    return (slot_of(number) << REGION_SHIFT) | MIDDLE


def region_of(address: int) -> int:
    """Return the number of the region whose slot holds an address, existing or not; -1 beyond all slots."""
    slot = (address & (1 << 64) - 1) >> REGION_SHIFT
    return -1 if slot >> SLOT_BITS else (slot * GATHER) % (1 << SLOT_BITS)


def lay_out_shared(sizes: list[tuple[int, int]]) -> tuple[list[int], int]:
    """Lay out shared variables with gaps between.

    Args:
        sizes: each variable's (bytes, alignment).

    Returns:
        each one's address in the shared window, and where the dynamic shared memory starts.
    """
    starts: list[int] = []
    position = SHARED_START
    for size, alignment in sizes:
        step = max(alignment, 128)
        position = -(-position // step) * step
        starts.append(position)
        position += size + SHARED_GAP
    return starts, -(-position // 1024) * 1024


def local_stride(local_bytes: int) -> int:
    """Bytes from one thread's local memory to the next one's."""
    return -(-local_bytes // 64) * 64 + LOCAL_START


# --- thread context ---------------------------------------------------------------------------------------------------
# Layout of a block's thread context: rows with one element for each thread.

DONE = 1 << 30
"""The state of a thread that has exited. A state >= 0 is the number of a wait to resume, one below 0 its complement."""

DEPARTED = 1 << 63
"""Flag of the `key` of a thread that waits no more, under the check of barriers: the rest is the number of the site of
an effect after its last wait."""

PASSED = 1 << 30
"""Flag of a thread's `joined`: it has gone past a barrier on its way out of the kernel."""

AREA = 34 * 1024
"""Bytes in which the lanes of a warp show each other the parts of matrices that they hold."""

ROWS: dict[str, tuple[int, int]] = {}
"""Row → its first byte, and bytes of an element."""


def _place() -> int:
    position = 0
    for name, size in (("state", 4), ("group", 4), ("ballot", 4), ("met", 4), ("key", 8), ("post", 8), ("snap", 8)):
        ROWS[name] = (position, size)
        position += ROW * size
    position = -(-position // 64) * 64
    ROWS["area"] = (position, 8)
    position += AREA * (MAX_THREADS // 32)
    for name in ("arrived", "waiting", "counted", "votes", "expected"):
        ROWS[name] = (position, 4)
        position += -(-BARRIERS * 4 // 16) * 16
    ROWS["left"], ROWS["meetings"] = (position, 4), (position + 4, 4)
    ROWS["joined"] = (position + 16, 4)
    return position + 16 + 4 * ROW


FIXED_BYTES = _place()
"""Bytes of all of them; registers' rows follow, in a cluster's blocks after two more."""

ROWS["cluster"] = (-(-FIXED_BYTES // 64) * 64, 4)
"""How often a thread has come to the cluster's barrier, and gone on after it: odd between the two."""
ROWS["phase"] = (ROWS["cluster"][0] + 4 * ROW, 4)
"""How often the cluster's barrier has opened."""
CLUSTER_BYTES = ROWS["phase"][0] + 16

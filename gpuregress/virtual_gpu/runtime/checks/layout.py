"""Layout of the race detector's state: epochs, shadow cells, and what threads know of each other.

An epoch is a word of 64 bits: when (a stamp), which thread of the block, at which site, and flags. A stamp tells the
block, too, because each turn of a block begins a new one. Every number here is shared by compiled code and Python.
"""

from __future__ import annotations

from collections.abc import Iterable

STAMP_SHIFT, THREAD_SHIFT, SITE_SHIFT = 32, 22, 6
THREAD_MASK = 1023 << THREAD_SHIFT
SITE_MASK = 0x7FFF << SITE_SHIFT
MOST_SITES = 1 << 15
PAUSED, STOPPED = 1, 2
"""Values of the launch's word `stop`: nothing is reported until the next block begins, or any more; 0: all is."""
EXPOSED = 1 << 21
"""With `HAS_EARLIER`: the list of a cell's writes has one that may race with a strong access, because it is plain or
strong for few threads. Alone: see `WRITE_PAIR`."""

STRONG = 1
"""The access is atomic, volatile, or ordered: PTX calls it strong."""
LEVEL_SHIFT = 1
"""Two bits. Of a strong write: its scope; of a reader: a mark of `READER_LIST`, or, in programs that keep two readers
alone, how far the other one is."""
LEVEL_MASK = 3 << LEVEL_SHIFT
COPIED = 1 << LEVEL_SHIFT
"""Of a plain write: a copy of cp.async, which needs no fence between the proxies."""
DELIVERED = 2 << LEVEL_SHIFT
"""Of a plain write: a bulk copy that has arrived. The thread is the one whose wait it was."""
REDUCED = DELIVERED | COPIED
"""Of a plain write: an asynchronous reduction that has arrived."""
SAME_WARP, SAME_BLOCK, OTHER_BLOCK = 1, 2, 3
SCOPES = {"cta": 0, "cluster": 1, "gpu": 2, "gl": 2, "sys": 3}
HAS_EARLIER = 1 << 3
"""The cell has a list of writes, of which this is the newest one."""
IN_FLIGHT = 1 << 4
"""Of a write: an asynchronous copy that has not arrived."""
NARROW = 1 << 4
"""Of a strong reader, whose epoch does not tell its scope: that is its block, or its cluster."""
ARRIVED = 1 << 4
"""Of a plain reader of global memory: a bulk copy that has arrived. The thread is the one whose wait it was."""
OF_CLUSTER = 1 << 5
"""With `NARROW`: it is the cluster."""
ASYNCHRONOUS = 1 << 5
"""Of a plain reader: a wgmma, which a wait of another thread may order where its own thread's reads are not."""
SAME_VALUE = 1 << 5
"""The write stored what memory held already; an atomic operation: it may change places with others of its kind."""

CELL_SHIFT = 4
"""A cell has two words in the first plane (write, reader) and two in the second, of which the last is another reader.
In programs with lists of accesses, the words of the second plane are a mask of lanes, for which the epoch in the first
plane stands, in the lower half, and the index of a node in the upper one."""
WRITE_PAIR, READER_PAIR = EXPOSED, 2 << LEVEL_SHIFT
"""Of `WRITE_LIST` and `READER_LIST`: two accesses stand for all of their kind, whoever comes next, and the second
plane's word is the epoch of the other one. The kind is strong writes for all threads of the device, or plain reads."""
WRITE_LIST, READER_LIST = HAS_EARLIER | EXPOSED, LEVEL_MASK
"""Marks of the newest write and of the newest reader, which say that the second plane's word is in use."""
PAIRS = {WRITE_LIST: WRITE_PAIR, READER_LIST: READER_PAIR}
"""Marks of a list → those that say that it is a pair."""
IN_USE = {WRITE_LIST: HAS_EARLIER, READER_LIST: 1 << LEVEL_SHIFT}
"""Marks of a list → the bit that is set where it is no pair."""
WIDE = STRONG | SCOPES["gpu"] << LEVEL_SHIFT
"""Bits of a write that is strong for all threads of the device."""
NODE_SHIFT = 4
"""A node of a list of accesses has an epoch, a mask of lanes (32 bits), and the index of the node after it (32)."""

LAUNCH_WORDS = (
    "now",
    "oldest",
    "shadow",
    "turns",
    "turn_count",
    "turn_capacity",
    "has_turns",
    "lost_turns",
    "stop",
    "released",
    "heap_accesses",
    "same_value",
    "heap",
    "nodes",
    "node_count",
    "node_capacity",
    "free_node",
    "lost_accesses",
    "orders",
    "order_count",
    "order_capacity",
    "order_rows",
    "order_row_count",
)
LAUNCH = {name: 8 * index for index, name in enumerate(LAUNCH_WORDS)}
"""Word of the launch's state → its byte. `now`: the stamp; `oldest`: the first epoch of this launch; `shadow`: the
table of regions; `turns`: (stamp, block) of each turn of a block; `has_turns`: whether blocks are suspended and go on;
`lost_turns`: whether there were too many of them; `stop`: nothing more is reported;
`released`: whether a thread has released anything; `heap_accesses`: whether one accessed memory that has no cells;
`same_value`: whether two writes of one value were reported; `heap`: the table of the heap's size classes, with rows
like those of regions, but without flags; `nodes`, `node_count`, `node_capacity`, `free_node`: those of lists of
accesses, how many were used and may be, and the first of those that are free again; `lost_accesses`: whether there were
too few; `orders`, `order_count`, `order_capacity`: the log of strong accesses and fences, its length, and what it can
hold; `order_rows`, `order_row_count`: the rows that its entries refer to."""
ORDER_WORDS = ("kind", "address", "epoch", "stamp", "number", "open", "fenced", "row")
ORDER = {name: 8 * index for index, name in enumerate(ORDER_WORDS)}
"""Word of an entry of that log → its byte: bits of `READS` … and the scope, the generic address, the thread's epoch,
the launch's stamp, the block's words, and the number of a row: what the thread's warp knew of each warp (32 stamps),
and what the thread knew of each lane of its warp (32)."""
ORDER_SHIFT, ORDER_ROW_SHIFT, ORDER_SCOPE_SHIFT = 6, 8, 16
ORDERS_PER_ROW_SHIFT = 2
"""The log has a row for 4 entries: most threads know what the one before knew."""
REPORT = 192
"""Where a report's words are: kind, address, epoch, other epoch, bytes."""
MATRIX_ROWS = 256
"""A count, and the addresses in shared memory of as many rows of 16 bytes: those that a wgmma reads for one warp."""
MOST_MATRIX_ROWS = 2048
LAUNCH_BYTES = MATRIX_ROWS + 8 + 8 * MOST_MATRIX_ROWS

BLOCK_WORDS = ("turn", "start", "open", "quick", "cells", "plane", "fences", "fenced", "number")
BLOCK = {name: 8 * index for index, name in enumerate(BLOCK_WORDS)}
"""Word of a block's state → its byte. `turn`, `start`: the first epochs of this turn and of the block; `open`: the
first epoch after the last barrier of all threads; `quick`: that or `turn`, the later one; `cells`, `plane`: the cells
of its shared memory, and the distance of the second plane; `fences`: 1 if a thread has executed a fence, 3 if it
was one beyond the block; `fenced`: the stamp of a barrier after such a fence; `number`: the block's."""
WARPS = 128
"""32 x 32 stamps: up to when a warp knows what another warp (or itself) did."""
LANES = WARPS + 4 * 32 * 32
"""1024 x 32 stamps: up to when a thread knows what a lane of its warp did."""
ARRIVALS = LANES + 4 * 1024 * 32
"""17 x 32 stamps: when a warp arrived at a barrier without waiting."""
WAITING = ARRIVALS + 4 * 17 * 32
"""17 masks: the warps that wait at a barrier."""
CLUSTER_PHASES = 4
"""A power of two. Between the arrival and the wait of one thread, another may arrive for the phase after the next."""
CLUSTER_ARRIVALS = WAITING + 4 * 32
"""4 x 1024 words: a thread's last arrivals at the cluster's barrier, each in the row of its phase: its number, from 1,
and the stamp up to which what the thread did is released by then."""
CLUSTER_OPEN = CLUSTER_ARRIVALS + CLUSTER_PHASES * 8 * 1024
"""4 words, likewise: up to when barriers of the block had ordered what its threads did that is released."""
CLUSTER_PASSED = CLUSTER_OPEN + CLUSTER_PHASES * 8
"""1024 numbers: how often a thread has waited at the cluster's barrier."""
CLUSTER_FENCED = CLUSTER_PASSED + 4 * 1024
"""1024 words: the stamp of a thread's last fence beyond the block, and that of the block's last barrier before it."""
PROXY_FENCED = CLUSTER_FENCED + 8 * 1024
"""1024 stamps: a thread's last fence between the proxies. Those of earlier blocks are older than every write."""
WAITED = PROXY_FENCED + 4 * 1024
"""1024 stamps, likewise: a thread's last wait at an mbarrier that was over, or what it knows of those of others."""
BLOCK_BYTES = WAITED + 4 * 1024

PRODUCT, GROUP_COMMIT, GROUP_WAIT, PRODUCT_FENCE = range(4)
"""Records of a wgmma: that its matrices are read (its epoch follows), a commit of a group, a wait (the number of
groups that may be pending follows), a wgmma.fence."""
READS, WRITES, ACQUIRES, RELEASES, FENCE, PROXY_FENCE, WAITS, PHASED, ODD_PHASE, INITIALIZES = (
    1 << bit for bit in range(10)
)
"""Bits of a strong access or a fence, as it is logged. WAITS: a wait at an mbarrier that is over. PHASED: an
arrival or a wait at an mbarrier, in whose phase the parity is odd (ODD_PHASE) or even. INITIALIZES: mbarrier.init."""
OF_SHARED, OF_GLOBAL, OF_INITS = 1, 2, 4
"""What a fence between the proxies holds for, in the place of its scope: writes to shared memory, to global memory, and
`mbarrier.init`."""

RACE, UNINITIALIZED, UNARRIVED, ORDERED_BY_LUCK, SAME_WRITES, UNFENCED, STALE, ENDED, NO_FENCE, UNFENCED_INIT = range(
    10
)
"""Kinds of a report; UNARRIVED: of an asynchronous copy; ORDERED_BY_LUCK: two strong accesses, which are no race;
SAME_WRITES: two plain writes of one value; UNFENCED: a write that an asynchronous copy reads with no fence between the
proxies; STALE: a read through a cache that sees no writes of its launch, after such a write; ENDED: an access to
another block's shared memory, which nothing orders before the end of that block; NO_FENCE: a wgmma with no wgmma.fence
before it; UNFENCED_INIT: an asynchronous copy that signals an mbarrier, with no fence after its initialization."""

SHADOW_SHIFT = 4
"""A row of the table of regions has two words: the cells, and the distance of the second plane. The cells are aligned,
and the lowest bits of their address are flags."""
FILLED, RACE_FREE = 1, 2
"""Flags of a region: its contents are initialised; no two threads of the launch race there."""
REGION_FLAGS = FILLED | RACE_FREE
"""Where both are set, no access to the region need be watched."""


def epoch_stamp(epoch: int) -> int:
    """The stamp of an epoch."""
    return epoch >> STAMP_SHIFT


def epoch_thread(epoch: int) -> int:
    """The thread's number in its block."""
    return (epoch & THREAD_MASK) >> THREAD_SHIFT


def epoch_site(epoch: int) -> int:
    """The number of the site."""
    return (epoch & SITE_MASK) >> SITE_SHIFT


# --- unwatched --------------------------------------------------------------------------------------------------------
# Note of what a launch accessed that the dynamic checks could not watch.

HEAP = "memory from malloc"
LATE_TURNS = "blocks after a million changes between blocks"
LOST_ACCESSES = "more than four million concurrent accesses"
CLOCKS = "clocks and active masks are read, which depend on the schedule"
"""No access to memory: a sentence of its own, for those who ask what a schedule can change."""
_SUBJECTS = {"races": "races", "uninitialized": "unwritten reads"}


def note(parts: Iterable[str], checks: Iterable[str]) -> str:
    """A line that tells what was not watched; "" where that is nothing.

    Args:
        parts: what was accessed unwatched.
        checks: the dynamic checks that were asked for.
    """
    subjects = [text for name, text in _SUBJECTS.items() if name in checks]
    told = [part for part in parts if part != CLOCKS]
    if not subjects or not told:
        return ""
    return f"{' and '.join(subjects)} of {', '.join(told)} are not watched"

"""Memory in which the copies of `cp.async` wait to arrive: a list for each thread of a block.

`isa.memory.copy_queue` has the code. A header is followed by a row for each thread and by the entries, which are
numbered from 1. An entry is a copy, or an arrival at an mbarrier behind copies.
"""

from __future__ import annotations

from gpuregress.virtual_gpu.runtime.machine_layout import MAX_THREADS

USED, FREE, ARRIVALS, MACHINE = 0, 8, 16, 24
"""Words of the header: entries that have been in use, the first that is free again, arrivals that are pending, and,
where accesses are checked, a pointer to the machine."""
HEADER_BYTES = 64
HEAD, TAIL, GROUP, THREAD_ARRIVALS = 0, 4, 8, 12
"""Words of a row: first and last entry, number of committed groups, arrivals that are pending."""
ROW_BYTES = 16
DATA, TARGET, NEXT, ENTRY_GROUP, SIZE = 0, 16, 24, 28, 32
"""Fields of an entry; an arrival has size 0."""
ENTRY_BYTES = 48
CAPACITY = 1 << 16
"""Entries: as many as shared memory has words, so that copies to all of it may be pending."""
ENTRIES = HEADER_BYTES + MAX_THREADS * ROW_BYTES
QUEUE_BYTES = ENTRIES + (CAPACITY + 1) * ENTRY_BYTES

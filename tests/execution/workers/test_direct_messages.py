"""Layout of the shared memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.execution.workers.direct_messages import ALIGNMENT, laid_out


@given(st.lists(st.integers(0, 1000)))
def test_contents_do_not_overlap_and_are_aligned(sizes: list[int]) -> None:
    offsets, end = laid_out(sizes)
    ends = [offset + size for offset, size in zip(offsets, sizes, strict=True)]
    assert all(offset % ALIGNMENT == 0 for offset in offsets)
    assert all(before <= after for before, after in zip(ends, [*offsets[1:], end], strict=False))

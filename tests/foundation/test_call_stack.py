from __future__ import annotations

import resource

from gpuregress.foundation import call_stack

_CALLS = 2000


def _leaf() -> None:
    pass


def _call_at_each_depth(depth: int) -> None:
    for _ in range(_CALLS):
        _leaf()
    if depth:
        _call_at_each_depth(depth - 1)


def test_calls_at_no_depth_map_memory_again_and_again() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    call_stack.call_with_room(lambda: _call_at_each_depth(300))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < _CALLS

"""Coverage from counters: what the probes of each kind become."""

from __future__ import annotations

import numpy as np

from gpuregress.foundation.records import BoundCount, BranchCount, LoopCount
from gpuregress.virtual_gpu.instruments.coverage_counts import take
from gpuregress.virtual_gpu.runtime.probe_sites import ProbeSite

AT = (("k.cu", 3, 5),)
INLINED = (("h.cuh", 9, 1), ("k.cu", 4, 5))


def test_each_kind_of_probe_becomes_its_record() -> None:
    sites = (
        ProbeSite("run", "k", 0, 0, (AT, INLINED)),
        ProbeSite("branch", "k", 2, 1, (AT,), 0),
        ProbeSite("predicate", "k", 3, 2, (INLINED,), 0),
        ProbeSite("loop", "k", 1, 3, (AT,), note="zero"),
        ProbeSite("bound", "k", 1, 6, (AT,), 0, "lt", "threadIdx.x", "args[1]"),
    )
    counters = np.array([10, 4, 1, 2, 3, 5, 7, 8, 9], np.uint64)
    coverage = take(sites, counters)
    assert coverage is not None
    header, source = coverage.files
    assert not counters.any()
    assert (header.path, header.lines, source.lines) == ("h.cuh", ((9, 10),), ((3, 10), (4, 10)))
    assert source.branches == (BranchCount(3, 5, 4, 6),)
    assert header.branches == (BranchCount(9, 1, 1, 9, "guard"),)
    assert source.loops == (LoopCount(3, 5, 2, 3, 5),)
    assert source.bounds == (BoundCount(3, 5, "lt", "threadIdx.x", "args[1]", 7, 8, 9),)


def test_a_guarded_instruction_is_executed_where_its_guard_is_true() -> None:
    sites = (ProbeSite("run", "k", 0, 0, (AT,)), ProbeSite("predicate", "k", 1, 1, ((("k.cu", 7, 1),),), 0))
    coverage = take(sites, np.array([10, 0], np.uint64))
    assert coverage is not None
    assert coverage.files[0].lines == ((3, 10), (7, 0))


def test_copies_count_together_and_two_loops_of_one_place_are_an_unrolled_one() -> None:
    sites = (ProbeSite("loop", "k", 1, 0, (AT,)), ProbeSite("loop", "k", 2, 3, (AT,)))
    coverage = take(sites, np.arange(6, dtype=np.uint64))
    assert coverage is not None
    assert coverage.files[0].loops == (LoopCount(3, 5, None, 5, 7, is_unrolled=True),)


def test_two_loops_of_a_line_count_apart() -> None:
    sites = (ProbeSite("loop", "k", 1, 0, (AT,)), ProbeSite("loop", "k", 2, 3, (AT,), number=1))
    coverage = take(sites, np.arange(6, dtype=np.uint64))
    assert coverage is not None
    assert coverage.files[0].loops == (LoopCount(3, 5, None, 1, 2), LoopCount(3, 5, None, 4, 5, number=1))


def test_without_probes_there_is_none() -> None:
    assert take((), np.zeros(1, np.uint64)) is None


def test_a_reversed_branch_counts_its_sides_the_other_way_round() -> None:
    sites = (
        ProbeSite("run", "k", 0, 0, (AT,)),
        ProbeSite("branch", "k", 1, 1, (AT,), 0, "lt", is_inverted=True, is_inside=True),
        ProbeSite("branch", "k", 2, 2, (AT,), 0, "lt"),
        ProbeSite("predicate", "k", 3, 3, (AT,), 0, "lt", is_inverted=True),
    )
    coverage = take(sites, np.array([10, 4, 1, 3], np.uint64))
    assert coverage is not None
    assert coverage.files[0].branches == (
        BranchCount(3, 5, 6 + 1, 4 + 9, "branch", "lt", is_inside=True),
        BranchCount(3, 5, 3, 7, "guard", "not lt"),
    )

"""Coverage as a record: sums, and the way to JSON and back."""

from __future__ import annotations

from gpuregress.foundation.records import BoundCount, BranchCount, Coverage, FileCoverage, LoopCount, from_json, to_json
from gpuregress.gpu.instruments import merged_coverage

ONE = Coverage(
    (
        FileCoverage(
            "k.cu",
            ((1, 2), (3, 0)),
            (BranchCount(3, 1, 0, 2), BranchCount(3, 1, 5, 6, "guard")),
            (LoopCount(5, 1, None, 1, 0),),
            (BoundCount(6, 1, "le", "threadIdx.x", "31", 0, 1, 0),),
        ),
    )
)


def test_counts_of_one_place_are_summed() -> None:
    other = Coverage((FileCoverage("a.cu"), FileCoverage("k.cu", ((3, 4),), (BranchCount(3, 1, 7, 0),))))
    whole = merged_coverage((ONE, other))
    assert [one.path for one in whole.files] == ["a.cu", "k.cu"]
    assert whole.files[1].lines == ((1, 2), (3, 4))
    assert whole.files[1].branches == (BranchCount(3, 1, 7, 2), BranchCount(3, 1, 5, 6, "guard"))
    assert merged_coverage((ONE,)) == ONE
    (loop,) = merged_coverage((ONE, ONE)).files[0].loops
    assert loop == LoopCount(5, 1, None, 2, 0)


def test_edges_are_the_values_between_which_a_comparison_changes() -> None:
    (bound,) = ONE.files[0].bounds
    assert bound.edges == (("index (threadIdx.x) = 31", 1), ("index (threadIdx.x) = 32", 0))


def test_json_keeps_it() -> None:
    assert from_json(Coverage, to_json(ONE)) == ONE


def test_conditions_of_one_place_are_summed_apart() -> None:
    first, other = BranchCount(3, 1, 1, 0, condition="a"), BranchCount(3, 1, 0, 1, condition="b")
    part = Coverage((FileCoverage("k.cu", branches=(first, other)),))
    again = Coverage((FileCoverage("k.cu", branches=(BranchCount(3, 1, 1, 0, "branch", "a", is_inside=True),)),))
    (file,) = merged_coverage((part, again)).files
    assert file.branches == (BranchCount(3, 1, 2, 0, condition="a", is_inside=True), other)

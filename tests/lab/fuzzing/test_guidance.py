from __future__ import annotations

from gpuregress.foundation.records import BoundCount, BranchCount, Coverage, FileCoverage, LoopCount
from gpuregress.lab.fuzzing.candidates import Candidate
from gpuregress.lab.fuzzing.fuzz import Corpus, features


def coverage(*lines: tuple[int, int], taken: int = 0) -> Coverage:
    branches = (BranchCount(3, 1, taken, 2),)
    loops = (LoopCount(5, 1, None, 1, 0),)
    return Coverage((FileCoverage("k.cu", lines, branches, loops, (BoundCount(6, 1, "lt", "i", "n", 1, 0, 9),)),))


def test_features_of_what_was_reached() -> None:
    assert set(features(coverage((1, 2), (2, 0)))) == {
        ("k.cu", "line", 1),
        ("k.cu", "branch", 3, 1, "branch", "", 1),
        ("k.cu", "loop", 5, 1, 0, "once"),
        ("k.cu", "bound", 6, 1, "i", "n", 0),
    }


def test_only_what_reaches_something_new_is_kept() -> None:
    corpus, first, other = Corpus(), Candidate(0), Candidate(1)
    assert corpus.add(first, coverage((1, 2)))
    assert not corpus.add(other, coverage((1, 7)))
    assert corpus.inputs == [first]
    assert corpus.add(other, coverage((1, 1), taken=1))
    assert corpus.inputs == [first, other]


def test_without_coverage_the_first_is_kept() -> None:
    corpus = Corpus()
    assert not corpus.add(Candidate(0), None)
    assert not corpus.add(Candidate(1), None)
    assert corpus.inputs == [Candidate(0)]

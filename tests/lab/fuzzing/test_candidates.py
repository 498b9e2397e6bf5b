from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.records import Buffer, Case, Fill, Interval, Launch
from gpuregress.lab.fuzzing import candidates
from gpuregress.lab.fuzzing.candidates import Candidate, EdgeContents, Space
from tests import fakes


def test_edges_begin_with_the_most_telling() -> None:
    found = candidates.parameter_edges([64, 100], [32])
    assert found[:9] == (0, 1, 63, 65, 99, 101, 31, 33, 32)
    assert {127, 128, 129, 15, 16, 17, 49} <= set(found)
    assert not {64, 100} & set(found)


def test_negative_values_only_beside_negative_ones() -> None:
    assert min(candidates.parameter_edges([4], [])) == 0
    assert set(candidates.parameter_edges([-4, 4], [])) >= {-5, -3, -1}


def test_edges_of_floats() -> None:
    assert candidates.parameter_edges([1.0, 2.5], [32]) == (0.0, -1.0)


def test_blocks_of_a_case() -> None:
    launches = (Launch("k", (1, 1, 1), (32, 4, 1), 0, ()),)
    assert candidates.block_sizes(fakes.case("double", launches=launches)) == {32, 4, 128}


@given(st.lists(st.integers(-1000, 100_000), min_size=1, max_size=4), st.lists(st.integers(1, 1024), max_size=3))
def test_edges_are_bounded_new_and_without_repetition(own: list[int], blocks: list[int]) -> None:
    found = candidates.parameter_edges(own, blocks)
    assert len(set(found)) == len(found)
    assert not set(found) & set(own)
    assert all(candidates.least_value(own) <= value <= candidates.most_value(own, blocks) for value in found)


JOB: dict[str, Any] = {
    "job": "j",
    "parameters": {"n": [8, 16], "kind": ["a"]},
    "buffers": {"x": {"dtype": "float32", "shape": ["n"], "fill": {"uniform": {}}}, "out": {"dtype": "float32"}},
    "checks": {"out": ["finite", {"range": [0, "n"]}], "x": [{"sum": 3}]},
    "compare": {"out": {"rtol": 1e-3, "nan": "never"}},
    "reference": {"out": "r.bin"},
    "tags": ["quick"],
}
NAN = EdgeContents("x", "all NaN", {"value": float("nan")}, "special")
EQUAL = EdgeContents("x", "all equal", {"value": 0.5}, "ordinary")


def case(n: int) -> Case:
    buffers = {"x": Buffer("x", "float32", (n,), Fill("uniform", Interval(0.0, 1.0), 0))}
    parameters = {"n": n, "kind": "a"}
    return fakes.case("double", parameters=parameters, buffers=buffers, reference_files={"out": "/r.bin"})


def space(*keep: str) -> Space:
    return Space(JOB, [case(16), case(8)], keep)


def test_edges_take_turns_and_stand_alone() -> None:
    found = list(space().edges())
    assert [one.words for one in found[:2]] == ["n=0", "x: NaN among others"]
    assert all(len(one.parameters) + len(one.contents) == 1 for one in found)
    assert len({one.key for one in found}) == len(found)
    assert {one.base for one in found} == {0, 1}


def test_what_is_kept_never_changes() -> None:
    assert all(one.contents for one in space("n").edges())
    assert all(one.parameters for one in space("x").edges())
    assert space("x").unchanged == ("x",)
    named = Space({**JOB, "fuzz": {"keep": ["x"]}}, [case(16), case(8)])
    assert all(one.parameters for one in named.edges()), "the job names it"


def test_mutations_repeat_with_their_seed() -> None:
    def some() -> list[str]:
        chance = random.Random(3)
        return [space().mutated(Candidate(0), chance).words for _ in range(20)]

    assert some() == some()
    assert len(set(some())) > 10


def test_the_job_of_a_candidate() -> None:
    own = space().job(Candidate(1))
    assert own == {**{key: value for key, value in JOB.items() if key != "tags"}, "job": "fake-fuzz"} | {
        "parameters": {"n": [16], "kind": ["a"]}
    }
    other = space().job(Candidate(0).with_parameter("n", 0))
    assert other["parameters"]["n"] == [0]
    assert "reference" not in other, "a file holds the reference of the job's own case"
    assert other["checks"] == JOB["checks"]


def test_checks_of_other_data() -> None:
    ordinary = space().job(Candidate(0).with_contents(EQUAL))
    assert ordinary["checks"] == {"out": ["finite"]}
    assert ordinary["compare"] == JOB["compare"]
    special = space().job(Candidate(0).with_contents(NAN))
    assert "checks" not in special
    assert special["compare"] == {"out": {"rtol": 1e-3}}
    assert special["buffers"]["x"]["fill"] == NAN.fill
    assert JOB["buffers"]["x"]["fill"] == {"uniform": {}}


def test_the_schedules_are_part_of_the_job() -> None:
    assert Space(JOB, [case(8)], schedules=3).job(Candidate(0))["schedules"] == 3
    assert "schedules" not in JOB


def test_words_grade_and_size() -> None:
    both = Candidate(0).with_contents(EQUAL).with_contents(NAN).with_parameter("n", 17)
    assert (both.words, both.grade) == ("n=17; x: all NaN", "special")
    assert space().is_larger(both)
    assert not space().is_larger(Candidate(0).with_parameter("n", 3))

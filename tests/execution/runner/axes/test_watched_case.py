from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from gpuregress.execution.runner.axes import shared_references
from gpuregress.foundation.records import Case
from tests import fakes

CASE = fakes.case("double", parameters={"n": 8, "tile": 4})


def noted(use: Callable[[Case], object]) -> set[str]:
    seen: set[str] = set()
    use(shared_references.watched(CASE, seen.add))
    return seen


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (lambda _case: 1, set()),
        (lambda case: case.parameters, set()),
        (lambda case: case.seed, {"seed"}),
        (lambda case: case.buffers["x"].shape, {"buffers"}),
        (lambda case: case.initial_buffers, {"buffers", "launches"}),
        (lambda case: case.parameters["n"], {"parameters.n"}),
        (lambda case: case.parameters.get("n"), {"parameters.n"}),
        (lambda case: case.parameters.get("depth", 3), {"parameters.depth"}),
        (lambda case: "depth" in case.parameters, {"parameters.depth"}),
        (lambda case: "{n}".format_map(case.parameters), {"parameters.n"}),
    ],
)
def test_each_fact_that_is_read_is_noted(use: Callable[[Case], object], expected: set[str]) -> None:
    assert noted(use) == expected


@pytest.mark.parametrize(
    "use",
    [
        list,
        len,
        bool,
        dict,
        repr,
        str,
        json.dumps,
        copy.copy,
        copy.deepcopy,
        lambda parameters: {**parameters},
        lambda parameters: f"{parameters}",
        lambda parameters: parameters == {},
        lambda parameters: parameters | {},
        lambda parameters: {} | parameters,
        lambda parameters: [*parameters.keys()],
        lambda parameters: [*parameters.values()],
        lambda parameters: parameters.items(),
        lambda parameters: parameters.copy(),
        lambda parameters: parameters.pop("n"),
        lambda parameters: parameters.popitem(),
        lambda parameters: parameters.setdefault("n", 1),
        lambda parameters: [*reversed(parameters)],
    ],
)
def test_what_reads_all_parameters_is_noted_as_that(use: Callable[[Any], object]) -> None:
    assert "parameters" in noted(lambda case: use(case.parameters))


@pytest.mark.parametrize("use", [copy.copy, copy.deepcopy, pickle.dumps, repr, lambda case: case.with_seed])
def test_what_reads_the_whole_case_notes_every_field(use: Callable[[Any], object]) -> None:
    fields = set(Case.__struct_fields__) - {"parameters"}
    assert noted(use) >= fields


def test_a_function_gets_the_values_of_its_case() -> None:
    case = shared_references.watched(CASE, lambda _name: None)
    assert isinstance(case, Case)
    assert isinstance(case.parameters, dict)
    assert case.parameters == {"n": 8, "tile": 4}
    assert {name: getattr(case, name) for name in Case.__struct_fields__} == asdict(CASE)


@given(st.dictionaries(st.sampled_from("abc"), st.integers(0, 1) | st.booleans() | st.sampled_from(["0", "1"])))
def test_cases_of_equal_facts_have_one_digest(parameters: dict[str, Any]) -> None:
    case = fakes.case("double", parameters=parameters)
    other = fakes.case("double", parameters={**parameters, "other": 1}, name="fake/other")
    seen = [*(f"parameters.{name}" for name in "abc"), "seed"]
    assert shared_references.facts(case, seen) == shared_references.facts(other, reversed(seen))
    assert shared_references.facts(case, [*seen, "name"]) != shared_references.facts(other, [*seen, "name"])
    assert shared_references.facts(case, ["parameters.other"]) != shared_references.facts(other, ["parameters.other"])


def test_a_truth_value_is_no_number_and_no_text() -> None:
    digests = {
        shared_references.facts(fakes.case("double", parameters={"a": value}), ["parameters.a"])
        for value in (1, 1.0, True, "1")
    }
    assert len(digests) == 4

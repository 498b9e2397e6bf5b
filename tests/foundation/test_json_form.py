from __future__ import annotations

import inspect
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation import records
from gpuregress.foundation.records import (
    Argument,
    Buffer,
    Case,
    CaseSettings,
    Check,
    ExpectedSum,
    Fill,
    GeneratorSeed,
    InputFile,
    Interval,
    Launch,
    Limits,
    NoOptions,
    NormalDistribution,
    Outliers,
    Progression,
    PythonFunction,
    ResourceLimits,
    Rule,
    Sigmas,
    Source,
    StatisticLimits,
    TimingLoop,
    Values,
    Verdict,
    from_json,
    to_json,
)
from gpuregress.gpu.records import Record

TEXT = st.text(max_size=8)
PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=5,
)
FLOAT = st.floats(0, 1e300)
DIM3 = st.tuples(*(st.integers(1, 1024),) * 3)
ARGUMENT: st.SearchStrategy[Argument] = st.deferred(
    lambda: st.builds(
        Argument,
        kind=st.sampled_from(["buffer", "scalar", "null", "struct"]),
        buffer=TEXT,
        data=st.binary(max_size=8).map(bytes.hex),
        fields=st.one_of(st.just(()), st.tuples(ARGUMENT)),
    )
)
NUMBER = st.integers() | FLOAT
FILL_OPTIONS = st.one_of(
    st.builds(NoOptions),
    st.builds(Progression, NUMBER, NUMBER),
    st.builds(Interval, NUMBER, NUMBER),
    st.builds(NormalDistribution, NUMBER, NUMBER),
    st.builds(Values, st.lists(NUMBER, max_size=3).map(tuple)),
    st.builds(GeneratorSeed, NUMBER),
    st.builds(InputFile, TEXT),
    st.builds(PythonFunction, TEXT),
)
SETTING = st.one_of(st.none(), NUMBER, TEXT, st.tuples(NUMBER, NUMBER), st.builds(ExpectedSum, NUMBER, FLOAT, FLOAT))
BUFFER = st.builds(
    Buffer,
    name=TEXT,
    dtype=st.just("float32"),
    shape=st.lists(st.integers(1, 2**40), min_size=1, max_size=3).map(tuple),
    fill=st.one_of(st.none(), st.builds(Fill, TEXT, FILL_OPTIONS, st.integers(0, 2**64 - 1))),
    symbol=st.one_of(st.none(), TEXT),
)
RULE = st.builds(
    Rule,
    rtol=st.one_of(st.none(), FLOAT),
    atol=st.one_of(st.none(), FLOAT),
    ulp=st.one_of(st.none(), st.integers(0, 2**62)),
    outliers=st.one_of(st.none(), st.builds(Outliers, FLOAT, FLOAT, FLOAT)),
    metric=st.dictionaries(TEXT, FLOAT, max_size=2),
    order=st.sampled_from(["indexed", "any"]),
    key=st.lists(TEXT, max_size=2).map(tuple),
    statistics=st.builds(StatisticLimits, st.none() | st.builds(Sigmas, FLOAT), st.none(), st.none() | FLOAT),
)
LAUNCH = st.builds(
    Launch,
    kernel=TEXT,
    grid=DIM3,
    block=DIM3,
    shared=st.integers(0, 1000),
    args=st.lists(ARGUMENT, max_size=3).map(tuple),
    swap=st.lists(st.tuples(TEXT, TEXT), max_size=2).map(tuple),
)
CASE = st.builds(
    Case,
    job=TEXT,
    name=TEXT,
    path=TEXT,
    parameters=st.dictionaries(TEXT, st.one_of(st.integers(), st.floats(-1e9, 1e9)), max_size=2),
    source=st.builds(Source, path=TEXT, defines=st.dictionaries(TEXT, TEXT, max_size=2)),
    revision=TEXT,
    source_digest=TEXT,
    seed=st.integers(0, 2**64 - 1),
    buffers=st.dictionaries(TEXT, BUFFER, max_size=2),
    launches=st.lists(LAUNCH, max_size=2).map(tuple),
    dump=st.lists(TEXT, max_size=2).map(tuple),
    compare=st.dictionaries(TEXT, RULE, max_size=2),
    checks=st.dictionaries(TEXT, st.lists(st.builds(Check, TEXT, SETTING), max_size=2).map(tuple), max_size=2),
    limits=st.builds(Limits, st.floats(0.1, 1e6), st.integers(0, 2**50)),
    settings=st.builds(
        CaseSettings,
        arch=st.none() | TEXT,
        timing=st.none() | st.builds(TimingLoop, st.integers(0, 9), st.integers(1, 9)),
        resources=st.none() | st.builds(ResourceLimits, st.none() | st.integers(0, 99), st.none() | st.integers(0, 99)),
        poison=st.none() | st.sampled_from(["twice", "none"]),
    ),
)


@settings(max_examples=60)
@given(CASE)
def test_a_case_survives_the_wire(case: Case) -> None:
    actual = from_json(Case, json.loads(json.dumps(to_json(case))))
    assert actual == case
    for name, value in case.parameters.items():
        assert type(actual.parameters[name]) is type(value)


def test_settings_that_are_not_given_are_not_written() -> None:
    given = CaseSettings(timing=TimingLoop(3, 30), resources=ResourceLimits(spills=0))
    written = {"timing": {"warmup": 3, "samples": 30}, "resources": {"spills": 0}}
    assert to_json(given) == written
    assert from_json(CaseSettings, written) == given
    assert to_json(CaseSettings()) == {}


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_infinities_survive_the_wire(value: float) -> None:
    check = Check("range", (0.0, value))
    assert from_json(Check, json.loads(json.dumps(to_json(check)))) == check


def test_a_case_can_be_changed_by_nobody() -> None:
    with pytest.raises(AttributeError):
        Limits().timeout = 5.0  # type: ignore[misc] # that is the point


def test_every_record_is_frozen_and_documented() -> None:
    actual = [item for _, item in inspect.getmembers(records, inspect.isclass) if issubclass(item, Record)]
    assert len(actual) > 15
    for item in actual:
        assert item.__doc__, item
        assert item.__struct_config__.frozen, item


def test_a_status_keeps_its_key_of_the_journal() -> None:
    verdict = Verdict("j", "j/n=1", "differ")
    assert to_json(verdict)["word"] == "differ"
    assert from_json(Verdict, {"job": "j", "case": "j/n=1", "word": "differ"}) == verdict

"""Results of mutants in the cache: found for equal content, and for nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import (
    Acceptance,
    AcceptedTiming,
    Baseline,
    Check,
    Dump,
    FurtherRun,
    LaunchDigests,
    MadeOf,
    Observations,
    Outcome,
    RunFacts,
)
from gpuregress.gpu.records import replace
from gpuregress.judge import verdict
from gpuregress.judge.accepted import AcceptedDumps
from gpuregress.lab.mutating.programs import Variation
from gpuregress.lab.mutating.results import ResultCache, subject_digest
from gpuregress.lab.mutating.trials import REPRODUCIBLE, TrialResult, TrialState
from gpuregress.toolchain import cache
from tests.lab.mutating.test_programs import subject_of

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
RESULTS = st.builds(
    TrialResult,
    state=st.sampled_from(get_args(TrialState)),
    case=TEXT,
    status=TEXT,
    reason=TEXT,
    fault=TEXT,
    changed=st.lists(TEXT, max_size=3).map(tuple),
    seconds=st.floats(0, 1e6),
)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(result=RESULTS, text=TEXT)
def test_a_result_is_read_as_it_was_kept(tmp_path: Path, result: TrialResult, text: str) -> None:
    results = ResultCache(subject_of(tmp_path))
    change = Variation("m1", files={"/k.cu": f"{text} {result.state}"})
    results.keep(change, result)
    kept = result if result.state in REPRODUCIBLE else None
    assert results.find(replace(change, name="m7")) == kept
    assert results.find(Variation("m1", files={"/k.cu": f"{text}!"})) is None


def test_another_job_another_file_or_a_damaged_entry_is_not_found(tmp_path: Path) -> None:
    subject, change = subject_of(tmp_path), Variation("m1", ptx={"key": "ret;"})
    reference = tmp_path / "reference.py"
    reference.write_text("def f(case): return 1\n")
    case = replace(subject.cases[0], reference={"out": f"{reference}:f"})
    subject = replace(subject, cases=(case,))
    ResultCache(subject).keep(change, TrialResult("killed"))
    assert ResultCache(subject).find(change) == TrialResult("killed")
    checked = replace(case, checks={"out": (Check("finite"),)})
    assert ResultCache(replace(subject, cases=(checked,))).find(change) is None
    reference.write_text("def f(case): return 2\n")
    assert ResultCache(subject).find(change) is None
    reference.write_text("def f(case): return 1\n")
    for path in (cache.folder() / "programs").rglob("*.json"):
        path.write_text(path.read_text().replace("killed", "survived"))
    assert ResultCache(subject).find(change) is None


@pytest.mark.parametrize("record", [{}, {"result": 1}, {"result": {"state": []}}, {"result": {"what": "killed"}}])
def test_a_record_of_another_form_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: dict[str, object]
) -> None:
    monkeypatch.setattr(cache, "load", lambda _key: record)
    assert ResultCache(subject_of(tmp_path)).find(Variation("m1", ptx={"key": "ret;"})) is None


def test_checks_cases_and_the_unchanged_programs_are_told_apart_and_revisions_are_not(tmp_path: Path) -> None:
    subject, change = subject_of(tmp_path), Variation("m1", ptx={"key": "ret;"})
    ResultCache(subject).keep(change, TrialResult("killed"))
    assert ResultCache(subject).find(replace(change, checks=("races",))) is None
    assert ResultCache(subject).find(replace(change, cases=("k",))) is None
    ((key, program),) = subject.programs.items()
    compiled = replace(subject, programs={key: replace(program, key="by another compiler")})
    assert ResultCache(compiled).find(change) is None
    committed = replace(subject.cases[0], revision="a later commit")
    assert ResultCache(replace(subject, cases=(committed,))).find(change) == TrialResult("killed")


def test_the_contents_of_a_file_of_data_count(tmp_path: Path) -> None:
    subject, change, data = subject_of(tmp_path), Variation("m1", ptx={"key": "ret;"}), tmp_path / "gold.npy"
    data.write_bytes(b"1")
    case = replace(subject.cases[0], reference_files={"out": str(data)})
    subject = replace(subject, cases=(case,))
    ResultCache(subject).keep(change, TrialResult("killed"))
    assert ResultCache(subject).find(change) == TrialResult("killed")
    data.write_bytes(b"2")
    assert ResultCache(subject).find(change) is None


def test_a_cache_that_cannot_be_written_loses_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object) -> None:
        raise StorageError("no space left")

    monkeypatch.setattr(cache, "store", full)
    ResultCache(subject_of(tmp_path)).keep(Variation("m1", ptx={"key": "ret;"}), TrialResult("killed"))


def test_other_inputs_references_or_results_of_the_unchanged_run_renew_them(tmp_path: Path) -> None:
    """A function of the user may read files that its text does not tell."""
    subject, change = subject_of(tmp_path), Variation("m1", ptx={"key": "ret;"})
    case = subject.cases[0]

    def results(dumped: str, filled: str, reference: str, unrounded: str) -> ResultCache:
        def of(digest: str) -> Dump:
            return Dump("out", "/nowhere", "float32", (8,), digest, digest)

        facts = RunFacts(unrounded={"out": of(unrounded)})
        run = FurtherRun("reference", "", dumps={"out": of(reference)}, facts=facts)
        observed = Observations(runs=(run,))
        outcome = Outcome(case.name, "done", dumps=(of(dumped),), inputs={"x": filled}, observations=observed)
        passed = replace(verdict.skipped(case, ""), outcome=outcome)
        return ResultCache(replace(subject, verdicts={case.name: passed}))

    results("a", "b", "c", "d").keep(change, TrialResult("killed"))
    assert results("a", "b", "c", "d").find(change) == TrialResult("killed")
    for others in (("x", "b", "c", "d"), ("a", "x", "c", "d"), ("a", "b", "x", "d"), ("a", "b", "c", "x")):
        assert results(*others).find(change) is None


def test_another_baseline_renews_them_and_another_accept_of_it_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject, change = subject_of(tmp_path), Variation("m1", ptx={"key": "ret;"})
    dump = Dump("out", "/nowhere", "float32", (8,), "1", "1")
    timing = AcceptedTiming("r1", instructions={"k": 100})
    accepted = Baseline("k", "/nowhere", "r1", MadeOf("s"), {"out": dump}, (), timings={"cpu": timing})

    def found(baseline: Baseline | None) -> TrialResult | None:
        monkeypatch.setattr(AcceptedDumps, "baseline", lambda *_arguments: baseline)
        return ResultCache(subject).find(change)

    monkeypatch.setattr(AcceptedDumps, "baseline", lambda *_arguments: accepted)
    ResultCache(subject).keep(change, TrialResult("killed"))
    again = Acceptance("r1", "s", "today")
    assert found(replace(accepted, history=(again,), made_of=MadeOf("t"))) == TrialResult("killed")
    other = replace(dump, digest="2")
    fewer = replace(timing, instructions={"k": 50})
    assert found(replace(accepted, dumps={"out": other})) is None
    assert found(replace(accepted, first={"out": dump})) is None
    assert found(replace(accepted, timings={"cpu": fewer})) is None
    assert found(replace(accepted, launch_digests=LaunchDigests(2))) is None
    assert found(None) is None


def test_another_version_of_a_package_renews_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = tmp_path / "rules.py"
    rules.write_text("import click\ndef f(expected, actual): return click.same(expected, actual)\n")
    subject, change = subject_of(tmp_path), Variation("m1", ptx={"key": "ret;"})
    case = replace(subject.cases[0], reference={"out": f"{rules}:f"})
    subject = replace(subject, cases=(case,))
    ResultCache(subject).keep(change, TrialResult("killed"))
    assert ResultCache(subject).find(change) == TrialResult("killed")
    monkeypatch.setattr("importlib.metadata.version", lambda _package: "0.0.1")
    assert ResultCache(subject).find(change) is None


def test_a_change_of_gpuregress_itself_renews_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject, change = subject_of(tmp_path), Variation("m1", ptx={"key": "ret;"})
    ResultCache(subject).keep(change, TrialResult("killed"))
    monkeypatch.setattr(cache, "code_digest", lambda: "another")
    assert ResultCache(subject).find(change) is None


def test_what_cannot_be_known_is_not_kept(tmp_path: Path) -> None:
    subject = subject_of(tmp_path)
    ((key, program),) = subject.programs.items()
    unknown = replace(subject, programs={key: replace(program, unknown="__TIME__")})
    assert subject_digest(unknown) == ""
    ResultCache(unknown).keep(Variation("m1"), TrialResult("killed"))
    assert ResultCache(unknown).find(Variation("m1")) is None
    clock = tmp_path / "clock.py"
    clock.write_text("import time\ndef f(case): return time.time()\n")
    case = replace(subject.cases[0], reference={"out": f"{clock}:f"})
    assert subject_digest(replace(subject, cases=(case,))) == ""

"""Results of mutants in the cache: found for equal content, and for nothing else."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpuregress.operations.mutating.programs import Variation
from gpuregress.operations.mutating.results import ResultCache, subject_digest
from gpuregress.operations.mutating.states import REPRODUCIBLE, TrialState
from gpuregress.operations.mutating.trials import TrialResult
from gpuregress.records import Check
from gpuregress.toolchain import cache
from tests.operations.mutating.test_programs import subject_of

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
    assert results.find(dataclasses.replace(change, name="m7")) == kept
    assert results.find(Variation("m1", files={"/k.cu": f"{text}!"})) is None


def test_another_job_another_file_or_a_damaged_entry_is_not_found(tmp_path: Path) -> None:
    subject, change = subject_of(tmp_path), Variation("m1", ptx={"key": "ret;"})
    reference = tmp_path / "reference.py"
    reference.write_text("def f(case): return 1\n")
    case = dataclasses.replace(subject.cases[0], reference={"out": f"{reference}:f"})
    subject = dataclasses.replace(subject, cases=(case,))
    ResultCache(subject).keep(change, TrialResult("killed"))
    assert ResultCache(subject).find(change) == TrialResult("killed")
    checked = dataclasses.replace(case, checks={"out": (Check("finite"),)})
    assert ResultCache(dataclasses.replace(subject, cases=(checked,))).find(change) is None
    reference.write_text("def f(case): return 2\n")
    assert ResultCache(subject).find(change) is None
    reference.write_text("def f(case): return 1\n")
    for path in (cache.folder() / "programs").rglob("*.json"):
        path.write_text(path.read_text().replace("killed", "survived"))
    assert ResultCache(subject).find(change) is None


def test_a_change_of_gpuregress_itself_renews_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject, change = subject_of(tmp_path), Variation("m1", ptx={"key": "ret;"})
    ResultCache(subject).keep(change, TrialResult("killed"))
    monkeypatch.setattr(cache, "code_digest", lambda: "another")
    assert ResultCache(subject).find(change) is None


def test_what_cannot_be_known_is_not_kept(tmp_path: Path) -> None:
    subject = subject_of(tmp_path)
    ((key, program),) = subject.programs.items()
    unknown = dataclasses.replace(subject, programs={key: dataclasses.replace(program, unknown="__TIME__")})
    assert subject_digest(unknown) == ""
    ResultCache(unknown).keep(Variation("m1"), TrialResult("killed"))
    assert ResultCache(unknown).find(Variation("m1")) is None
    clock = tmp_path / "clock.py"
    clock.write_text("import time\ndef f(case): return time.time()\n")
    case = dataclasses.replace(subject.cases[0], reference={"out": f"{clock}:f"})
    assert subject_digest(dataclasses.replace(subject, cases=(case,))) == ""

"""Examinations that are kept: complete ones alone, and no damaged record is an error."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpuregress.foundation.errors import StorageError
from gpuregress.gpu.records import replace
from gpuregress.lab.auditing import checks, kept
from gpuregress.lab.auditing.examination import AuditContext, JobVerdicts
from gpuregress.lab.mutating import results
from gpuregress.toolchain import cache
from tests.lab.auditing.records import JOBS, SOON, found, verdict


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What was stored, by key; the subjects of both jobs are known."""
    records: dict[str, Any] = {}
    monkeypatch.setattr(kept, "Subject", SimpleNamespace)
    monkeypatch.setattr(results, "subject_digest", lambda _one: "digest")
    monkeypatch.setattr(cache, "store", lambda key, record, _files: records.__setitem__(key, record))
    monkeypatch.setattr(cache, "load", records.get)
    return records


@pytest.fixture
def context(tmp_path: Path) -> AuditContext:
    subjects: Any = {}
    for name in ("a", "b"):
        path = tmp_path / f"{name}.yaml"
        path.write_text("job: x")
        subjects[name] = SimpleNamespace(cases=(SimpleNamespace(path=str(path)),))
    return replace(SOON, subjects=subjects)


def test_complete_examinations_alone_are_kept(stored: dict[str, Any], context: AuditContext, tmp_path: Path) -> None:
    kept.keep(checks.PART, context, (found("a", 0.5), found("b", 1.0, examined=0.5)))
    kept.keep(checks.PART, context, (found("b", None, why="no time"), found("c", 1.0), found("b", 1.0, why="cut")))
    assert len(stored) == 1
    assert kept.find(checks.PART, context, JOBS) == {"a": found("a", 0.5)}
    assert kept.find(replace(checks.PART, name="other"), context, JOBS) == {}
    assert kept.find(checks.PART, replace(context, fresh=True), JOBS) == {}
    (tmp_path / "a.yaml").write_text("fuzz: {keep: [x]}")
    assert kept.find(checks.PART, context, JOBS) == {}, "the job has changed, and no case of it"
    (tmp_path / "a.yaml").write_text("job: x")
    late = replace(context, clean={"a": JobVerdicts((verdict("a/1"),), (verdict("a/2", "skip"),))})
    assert kept.find(checks.PART, late, JOBS) == {}, "its digest knows nothing of the case without a turn"


def test_damaged_records_and_a_full_disk(
    stored: dict[str, Any], context: AuditContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.keep(checks.PART, context, (found("a", 0.5),))
    stored[next(iter(stored))] = {"examination": {"share": "x"}}
    assert kept.find(checks.PART, context, JOBS) == {}

    def full(*_arguments: object) -> None:
        raise StorageError("no space")

    monkeypatch.setattr(cache, "store", full)
    kept.keep(checks.PART, context, (found("a", 0.5),))

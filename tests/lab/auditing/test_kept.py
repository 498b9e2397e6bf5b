"""Examinations that are kept: complete ones alone, and no damaged record is an error."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpuregress.foundation.errors import StorageError
from gpuregress.lab.auditing import audit, case_parts
from gpuregress.lab.auditing.examination import AuditContext, JobVerdicts
from gpuregress.lab.mutating import results
from gpuregress.toolchain import cache
from tests.lab.auditing.records import JOBS, SOON, found, verdict


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What was stored, by key; the subjects of both jobs are known."""
    records: dict[str, Any] = {}
    monkeypatch.setattr(audit, "Subject", SimpleNamespace)
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
    return dataclasses.replace(SOON, subjects=subjects)


def test_complete_examinations_alone_are_kept(stored: dict[str, Any], context: AuditContext, tmp_path: Path) -> None:
    audit.keep_examinations(case_parts.CHECKS, context, (found("a", 0.5), found("b", 1.0, examined=0.5)))
    audit.keep_examinations(
        case_parts.CHECKS, context, (found("b", None, why="no time"), found("c", 1.0), found("b", 1.0, why="cut"))
    )
    assert len(stored) == 1
    assert audit.find_kept(case_parts.CHECKS, context, JOBS) == {"a": found("a", 0.5)}
    assert audit.find_kept(dataclasses.replace(case_parts.CHECKS, name="other"), context, JOBS) == {}
    assert audit.find_kept(case_parts.CHECKS, dataclasses.replace(context, fresh=True), JOBS) == {}
    (tmp_path / "a.yaml").write_text("fuzz: {keep: [x]}")
    assert audit.find_kept(case_parts.CHECKS, context, JOBS) == {}, "the job has changed, and no case of it"
    (tmp_path / "a.yaml").write_text("job: x")
    late = dataclasses.replace(context, clean={"a": JobVerdicts((verdict("a/1"),), (verdict("a/2", "skip"),))})
    assert audit.find_kept(case_parts.CHECKS, late, JOBS) == {}, "its digest knows nothing of the case without a turn"


def test_damaged_records_and_a_full_disk(
    stored: dict[str, Any], context: AuditContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit.keep_examinations(case_parts.CHECKS, context, (found("a", 0.5),))
    stored[next(iter(stored))] = {"examination": {"share": "x"}}
    assert audit.find_kept(case_parts.CHECKS, context, JOBS) == {}

    def full(*_arguments: object) -> None:
        raise StorageError("no space")

    monkeypatch.setattr(cache, "store", full)
    audit.keep_examinations(case_parts.CHECKS, context, (found("a", 0.5),))

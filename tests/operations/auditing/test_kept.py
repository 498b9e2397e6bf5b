"""Examinations that are kept: complete ones alone, and no damaged record is an error."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from gpuregress.errors import StorageError
from gpuregress.operations.auditing import checks, kept
from gpuregress.operations.auditing.examination import JobVerdicts
from gpuregress.operations.mutating import results
from gpuregress.toolchain import cache
from tests.operations.auditing.records import JOBS, SOON, found, verdict


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What was stored, by key; the subjects of both jobs are known."""
    records: dict[str, Any] = {}
    monkeypatch.setattr(kept, "Subject", object)
    monkeypatch.setattr(results, "subject_digest", lambda one: str(one or ""))
    monkeypatch.setattr(cache, "store", lambda key, record, _files: records.__setitem__(key, record))
    monkeypatch.setattr(cache, "load", records.get)
    return records


CONTEXT: Any = dataclasses.replace(SOON, subjects={"a": "one", "b": "two"})  # type: ignore[dict-item]


def test_complete_examinations_alone_are_kept(stored: dict[str, Any]) -> None:
    kept.keep(checks.PART, CONTEXT, (found("a", 0.5), found("b", 1.0, examined=0.5)))
    kept.keep(checks.PART, CONTEXT, (found("b", None, why="no time"), found("c", 1.0), found("b", 1.0, why="cut")))
    assert len(stored) == 1
    assert kept.find(checks.PART, CONTEXT, JOBS) == {"a": found("a", 0.5)}
    assert kept.find(dataclasses.replace(checks.PART, name="other"), CONTEXT, JOBS) == {}
    assert kept.find(checks.PART, dataclasses.replace(CONTEXT, fresh=True), JOBS) == {}
    late = dataclasses.replace(CONTEXT, clean={"a": JobVerdicts((verdict("a/1"),), (verdict("a/2", "skip"),))})
    assert kept.find(checks.PART, late, JOBS) == {}, "its digest knows nothing of the case without a turn"


def test_damaged_records_and_a_full_disk(stored: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    kept.keep(checks.PART, CONTEXT, (found("a", 0.5),))
    stored[next(iter(stored))] = {"examination": {"share": "x"}}
    assert kept.find(checks.PART, CONTEXT, JOBS) == {}

    def full(*_arguments: object) -> None:
        raise StorageError("no space")

    monkeypatch.setattr(cache, "store", full)
    kept.keep(checks.PART, CONTEXT, (found("a", 0.5),))

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpuregress.execution.workers.pool import WorkerPool
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.session.run_context import RunContext
from gpuregress.session.run_request import Machinery, RunRequest
from gpuregress.store.project import Project
from tests.session.selections import CPU


def test_a_context_begins_when_it_is_made_and_is_changed_by_nobody(tmp_path: Path) -> None:
    project = Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")
    before = datetime.now(UTC)
    with WorkerPool((), tmp_path) as pool:
        context = RunContext(project, RunRequest(), lambda _event: None, Machinery(), StopSignal(), CPU, pool)
    assert before <= context.started <= datetime.now(UTC)
    assert datetime.fromisoformat(context.started_text) == context.started.replace(microsecond=0)
    with pytest.raises(AttributeError):
        context.start_s = 0.0  # type: ignore[misc] # that is the point

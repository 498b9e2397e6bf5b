from __future__ import annotations

import time
from pathlib import Path

import pytest

from gpuregress.toolchain import cache, stage_times


def test_only_stages_of_this_run_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    assert stage_times.since("a", 0) == {}
    stage_times.note("a", {"front end": 3.5})
    between = time.time()
    time.sleep(0.01)
    stage_times.note("a", {"PTX": 0.5, "LLVM": 1.0})
    assert stage_times.since("a", 0) == {"front end": 3.5, "PTX": 0.5, "LLVM": 1.0}
    assert stage_times.since("a", between) == {"PTX": 0.5, "LLVM": 1.0}
    assert stage_times.since("b", 0) == {}


def test_a_cache_that_cannot_be_written_costs_the_times_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "file")
    stage_times.note("a", {"PTX": 0.5})
    assert stage_times.since("a", 0) == {}

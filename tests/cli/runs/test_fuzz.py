"""Command `gpuregress fuzz`: its lines, its JSON, its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpuregress.gpu.records import replace
from gpuregress.lab.fuzzing import fuzz
from gpuregress.lab.fuzzing.findings import FuzzFinding
from gpuregress.lab.fuzzing.fuzz import FuzzReport, FuzzRequest
from tests.workshop import Workshop

FOUND = FuzzFinding(
    "fault", "out-of-bounds", "n=33", "own", 2, ("n: 33 → 1",), "configs/fuzz/j-1.yaml", "job: j\n", stopped="no time"
)
REPORT = FuzzReport(1, "j", 7, 40, 3, 1, 9, 2, (FOUND,), ("faults",), ("no reference",), 1.5)


COVERED = "coverage: 9 lines, branch sides, loop counts and index limits by the job's own cases"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[FuzzRequest]:
    found: list[FuzzRequest] = []

    def answer(_project: Any, request: FuzzRequest, **_more: Any) -> FuzzReport:
        found.append(request)
        clean = replace(REPORT, failures=(), notes=(), infeasible=0, not_run=0, more_reached=0)
        return {"j": REPORT, "clean": clean, "cut": replace(REPORT, interrupted=True)}[request.selector]

    monkeypatch.setattr(fuzz, "fuzz", answer)
    return found


def test_a_failure(shop: Workshop, asked: list[FuzzRequest]) -> None:
    result = shop.call(
        "fuzz", "j", "--seed", "7", "--limit", "40", "--time", "1min", "--keep", "x", "-o", "there", "--check", "all"
    )
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        "fault: out-of-bounds",
        "    with n=33, and 2 others",
        "    smaller: n: 33 → 1",
        "    a smaller one may exist: no time",
        "    configs/fuzz/j-1.yaml",
        "",
        "note: no reference",
        "j: 40 inputs (seed 7), judged by faults: 1 kind of failure; 3 infeasible, 1 could not be run",
        f"{COVERED}, 2 more with these inputs",
    ]
    assert asked == [FuzzRequest("j", 7, 40, 60.0, Path("there"), ("x",), 2, ("all",))]


def test_no_input_is_not_a_success(shop: Workshop, asked: list[FuzzRequest], monkeypatch: pytest.MonkeyPatch) -> None:
    none = replace(REPORT, tried=0, failures=())
    monkeypatch.setattr(fuzz, "fuzz", lambda *_arguments, **_more: none)
    assert shop.call("fuzz", "j").exit_code == 5


def test_exit_codes_and_json(shop: Workshop, asked: list[FuzzRequest]) -> None:
    clean = shop.call("fuzz", "clean", "--json", "-")
    assert clean.exit_code == 0
    document = json.loads(clean.stdout)
    assert (document["version"], document["tried"], document["failures"]) == (1, 40, [])
    cut = shop.call("fuzz", "cut")
    assert (cut.exit_code, "interrupted after 40 inputs" in cut.output) == (130, True)
    assert len(asked) == 2
    assert shop.call("fuzz", "j", "--limit", "0").exit_code == 2

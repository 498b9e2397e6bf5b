"""The run that the processes of a session share, and its board of verdicts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuregress.foundation.errors import HarnessError
from gpuregress.foundation.records import Verdict, to_json
from gpuregress.pytest_plugin.run_of_session import SessionRun, Wanted
from tests import fakes

CASE = fakes.case("twice", name="fake/n=1")
ROOT = Path("/home/alice/project")


def follower(folder: Path) -> SessionRun:
    return SessionRun(folder / "board.jsonl", {}, Wanted())


def post(on: SessionRun, /, **entry: object) -> None:
    with on.board.open("a") as file:
        file.write(json.dumps(entry) + "\n")


def test_a_verdict_is_taken_once_its_line_is_whole(tmp_path: Path) -> None:
    run = follower(tmp_path)
    line = json.dumps({"root": str(ROOT), "run": "RUN", "verdict": to_json(Verdict("fake", CASE.name, "pass"))})
    run.board.write_text(line[:20])
    run._take()
    assert run._verdicts == {}
    run.board.write_text(line + "\n")
    reached = run.verdict(CASE, ROOT)
    assert (reached.verdict.status, reached.run, reached.is_passed) == ("pass", "RUN", True)


def test_the_verdict_on_a_broken_job_is_that_of_its_cases(tmp_path: Path) -> None:
    run = follower(tmp_path)
    post(run, root=str(ROOT), run="RUN", verdict=to_json(Verdict("fake", "fake", "error", "wrong", exit_code=4)))
    assert not run.verdict(CASE, ROOT).is_passed


def test_a_problem_of_the_run_fails_every_case_of_its_project(tmp_path: Path) -> None:
    run = follower(tmp_path)
    post(run, root=str(ROOT), problem="not run: no such device: cuda")
    with pytest.raises(HarnessError, match="not run: no such device: cuda"):
        run.verdict(CASE, ROOT)


def test_a_case_is_not_waited_for_when_nobody_runs_it(tmp_path: Path) -> None:
    run = follower(tmp_path)
    with pytest.raises(HarnessError, match="fake/n=1 was not run: the run ended before it"):
        run.verdict(CASE, ROOT)
    post(run, over=True)
    with pytest.raises(HarnessError, match="was not run"):
        run.verdict(CASE, ROOT)
    assert run.finish(is_stopped=False) == []


def test_the_first_process_runs_the_cases_and_no_other(tmp_path: Path) -> None:
    first, second = follower(tmp_path), follower(tmp_path)
    first.begin()
    second.begin()
    assert first.is_host
    assert not second.is_host
    assert first.finish(is_stopped=True) == []
    late = follower(tmp_path)
    late.begin()
    assert not late.is_host

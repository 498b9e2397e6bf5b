from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpuregress.execution.workers.pool import WorkerPool
from gpuregress.foundation.errors import DeviceError, UsageError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import CaseSettings, Rule
from gpuregress.gpu.records import replace
from gpuregress.jobs.spec.overrides import of_texts
from gpuregress.session import accepting, session
from gpuregress.session.events import Event, Judged, Planned, Started
from gpuregress.session.run_context import RunContext
from gpuregress.session.run_request import Machinery, RunRequest
from gpuregress.store.project import Project
from tests import fakes
from tests.session.bench import Bench, words
from tests.session.selections import CPU


def test_a_difference_names_elements_dump_and_baseline(bench: Bench) -> None:
    bench.run(fakes.case("count"))
    accepting.accept(bench.project)
    changed = bench.run(replace(fakes.case("double", name="fake/count"), revision="1.5"))
    assert changed.exit_code == 1
    (verdict,) = changed.verdicts
    assert (verdict.status, verdict.revision, verdict.baseline_revision) == ("differ", "1.5", "1.4")
    (buffer,) = verdict.buffers
    assert buffer.comparisons[0].differing == 8
    assert Path(buffer.dump).is_file()
    assert buffer.baseline == str(bench.project.baselines / "fake" / "count" / "out.1.4")


def test_a_damaged_baseline_is_that_cases_error(bench: Bench) -> None:
    bench.run(fakes.case("double"))
    accepting.accept(bench.project)
    dump = bench.project.baselines / "fake" / "double" / "out.1.4"
    dump.write_text(dump.read_text().replace("2.0", "3.0"))
    summary = bench.run(fakes.case("double"), fakes.case("count"))
    assert words(summary) == {"fake/double": "error", "fake/count": "new"}
    assert "edited" in summary.verdicts[0].reason
    assert summary.exit_code == 4


def test_a_tolerance_passes_what_is_near(bench: Bench) -> None:
    bench.run(fakes.case("double"))
    accepting.accept(bench.project)
    near = replace(fakes.case("double"), compare={"out": Rule(rtol=1e-5, atol=0.0)})
    assert words(bench.run(near)) == {"fake/double": "pass"}


def test_events_come_in_order(bench: Bench) -> None:
    events: list[Event] = []
    bench.run(fakes.case("double"), fakes.case("count"), listen=events.append)
    kinds = [type(event) for event in events if isinstance(event, Planned | Started | Judged)]
    assert kinds == [Planned, Started, Judged, Started, Judged]


def test_results_do_not_depend_on_how_many_workers_there_are(bench: Bench) -> None:
    cases = [fakes.case("double", name=f"fake/{number}", count=8 + number) for number in range(6)]

    def digests(jobs: int) -> list[str]:
        summary = bench.run(*cases, jobs=jobs)
        return [verdict.outcome.dumps[0].digest for verdict in summary.verdicts if verdict.outcome is not None]

    assert digests(1) == digests(3)


@pytest.mark.parametrize(("device", "error"), [("cuda:7", DeviceError), ("tpu", UsageError)])
def test_a_device_that_is_not_there(bench: Bench, device: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        bench.run(fakes.case("double"), device=device)
    assert not bench.project.runs.exists()


def test_a_context_begins_when_it_is_made_and_is_changed_by_nobody(tmp_path: Path) -> None:
    project = Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")
    before = datetime.now(UTC)
    with WorkerPool((), tmp_path) as pool:
        context = RunContext(project, RunRequest(), lambda _event: None, Machinery(), StopSignal(), CPU, pool)
    assert before <= context.started <= datetime.now(UTC)
    assert datetime.fromisoformat(context.started_text) == context.started.replace(microsecond=0)
    with pytest.raises(AttributeError):
        context.start_s = 0.0  # type: ignore[misc] # that is the point


@pytest.mark.parametrize(
    "narrower",
    [
        {"selectors": ("a",)},
        {"name_glob": "*"},
        {"tags": ("a",)},
        {"rerun_failed": True},
        {"parameters": of_texts(["n=8"])},
    ],
)
def test_a_request_takes_all_cases_unless_something_selects(narrower: dict[str, object]) -> None:
    assert RunRequest(device="cpu", repeat=3).takes_all
    assert not RunRequest(**narrower).takes_all  # type: ignore[arg-type] # keyword by keyword


def test_fail_fast_leaves_the_rest_out_and_says_so(bench: Bench) -> None:
    summary = bench.run(fakes.case("fault"), fakes.case("double"), fail_fast=True)
    assert words(summary) == {"fake/fault": "fault", "fake/double": "skip"}


def test_interrupted_in_the_middle_keeps_what_was_finished(bench: Bench) -> None:
    def listen(event: Event) -> None:
        if isinstance(event, Started) and event.case == "fake/sleep":
            threading.Timer(0.2, os.kill, [os.getpid(), 2]).start()

    summary = bench.run(fakes.case("double"), fakes.case("sleep"), fakes.case("count"), listen=listen)
    assert summary.interrupted
    assert summary.exit_code == 130
    assert words(summary) == {"fake/double": "new"}
    assert json.loads((Path(summary.folder) / "results.json").read_text())["interrupted"] is True
    assert any("2 of 3 cases" in note for note in (*summary.notes, *summary.remarks))


def test_interrupted_cases_of_a_group_are_kept_without_its_judgement(bench: Bench) -> None:
    def listen(event: Event) -> None:
        if isinstance(event, Started) and event.case == "fake/sleep":
            threading.Timer(0.2, os.kill, [os.getpid(), 2]).start()

    cases = [fakes.case(kernel, settings=CaseSettings(agree=("block",))) for kernel in ("double", "sleep")]
    summary = bench.run(*cases, listen=listen)
    assert words(summary) == {"fake/double": "new"}
    assert summary.verdicts[0].notes == ("interrupted: not compared with the cases that it must agree with",)


def test_a_job_that_is_infeasible_as_a_whole_is_told(bench: Bench) -> None:
    refused = CaseSettings(infeasible="skip", refused="2048 threads")
    cases = [fakes.case("double", name=f"fake/{number}", settings=refused) for number in (1, 2)]
    summary = bench.run(*cases)
    assert summary.exit_code == 5
    assert "fake: all of its 2 cases are infeasible: nothing of it was run" in summary.notes
    assert bench.run(*cases, fakes.case("fault")).notes == ()


def test_kept_workers_serve_one_run_after_the_other(bench: Bench) -> None:
    def counted() -> str:
        """Return which case of its worker a case was."""
        (verdict,) = bench.run(fakes.case("count")).verdicts
        assert verdict.outcome is not None
        return Path(verdict.outcome.dumps[0].path).read_text().split()[-1]

    with session.keeping_workers():
        assert [counted(), counted()] == ["1.0", "2.0"]
        bench.run(fakes.case("fault"))
        assert counted() == "1.0"
    assert counted() == "1.0"

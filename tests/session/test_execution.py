from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gpuregress import launchlog
from gpuregress.baselines import Batch, Store
from gpuregress.errors import CompileError, DeviceError, NothingToDo, StorageError, UsageError
from gpuregress.operations import accept
from gpuregress.plan import Plan
from gpuregress.project import Project, Settings
from gpuregress.records import Argument, Case, Check, Program, Rule, RunSummary, Source
from gpuregress.session import run_folders, session
from gpuregress.session.events import Event, Judged, Planned, Started
from gpuregress.session.request import Machinery, Request
from tests import fakes

FAKE = (sys.executable, "-m", "tests.fake_worker")


@dataclass
class Bench:
    """A project in a temporary folder, with the cases a test gives it."""

    project: Project
    cases: Sequence[Case] = ()

    def run(self, *cases: Case, listen: Callable[[Event], None] = lambda _event: None, **request: Any) -> RunSummary:
        self.cases = cases
        return session.run(
            self.project,
            Request(**{"device": "cpu", "jobs": 1, **request}),
            listen=listen,
            machinery=Machinery(FAKE, self.compile, self.plan),
        )

    def plan(self, project: Project, selectors: Sequence[str], **options: Any) -> Plan:
        return Plan(tuple(self.cases))

    def compile(self, source: Source) -> Program:
        if "broken" in source.path:
            raise CompileError("broken.cu(3): error: expected a ';'")
        return fakes.program()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "configs").mkdir()
    folders_ = {name: tmp_path / name for name in ("configs", "baselines", "runs")}
    return Bench(Project(tmp_path, **folders_, settings=Settings(keep_runs=3)))


def words(summary: RunSummary) -> dict[str, str]:
    return {verdict.case: verdict.status for verdict in summary.verdicts}


def test_new_then_accepted_then_pass(bench: Bench) -> None:
    first = bench.run(fakes.case("double"))
    assert (words(first), first.exit_code) == ({"fake/double": "new"}, 1)
    accepted = accept.accept(bench.project, (), accept.Terms("first"))
    assert [one.case for one in accepted.accepted] == ["fake/double"]
    second = bench.run(fakes.case("double"))
    assert (words(second), second.exit_code) == ({"fake/double": "pass"}, 0)
    with pytest.raises(NothingToDo, match="nothing to accept"):
        accept.accept(bench.project)


def test_a_source_whose_text_does_not_tell_is_labelled_by_its_program(bench: Bench, tmp_path: Path) -> None:
    def run_with(ptx: str) -> str:
        (tmp_path / "program.ptx").write_text(ptx)
        made = replace(fakes.program(), ptx=str(tmp_path / "program.ptx"), unknown="k.cu:2: an include of a macro")
        machinery = Machinery(FAKE, lambda _source: made, bench.plan)
        bench.cases = (fakes.case("double"),)
        summary = session.run(bench.project, Request(device="cpu", jobs=1), machinery=machinery)
        if summary.verdicts[0].revision != "1.4":
            said = (*summary.notes, *summary.remarks)
            assert any("already recorded for another source text" in note for note in said)
        return summary.verdicts[0].revision

    labels = [run_with("one"), run_with("one"), run_with("two"), run_with("one")]
    assert labels[0] == labels[1] == labels[3] == "1.4"
    assert labels[2].startswith("1.4+")


def test_a_difference_names_elements_dump_and_baseline(bench: Bench) -> None:
    bench.run(fakes.case("count"))
    accept.accept(bench.project)
    changed = bench.run(replace(fakes.case("double", name="fake/count"), revision="1.5"))
    assert changed.exit_code == 1
    (verdict,) = changed.verdicts
    assert (verdict.status, verdict.revision, verdict.baseline_revision) == ("differ", "1.5", "1.4")
    (buffer,) = verdict.buffers
    assert buffer.comparisons[0].differing == 8
    assert Path(buffer.dump).is_file()
    assert buffer.baseline == str(bench.project.baselines / "fake" / "count" / "out.1.4")


def test_what_a_run_leaves_behind(bench: Bench) -> None:
    summary = bench.run(fakes.case("double"), fakes.case("fault"))
    folder = bench.project.runs / "latest"
    assert folder.readlink() == Path(summary.run)
    document = json.loads((folder / "results.json").read_text())
    assert document["version"] == 1
    assert [(case["job"], case["case"], case["verdict"]) for case in document["cases"]] == [
        ("fake", "fake/double", "new"),
        ("fake", "fake/fault", "fault"),
    ]
    assert document["cases"][0]["buffers"][0]["dump"] == str(
        bench.project.runs / summary.run / "dumps/fake/double/out.1.4"
    )
    log = launchlog.read(folder / "launch.log")
    assert {"device", "compiler", "host", "gpuregress", "seed of fake", "seed of fake.x"} <= set(log.head)
    assert [event.number for event in log.events] == [1, 1, 2, 2]
    assert not log.unfinished


def test_a_source_that_does_not_compile_stops_only_its_own_cases(bench: Bench) -> None:
    broken = replace(fakes.case("double", name="fake/broken"), source=Source("/nowhere/broken.cu"))
    summary = bench.run(broken, fakes.case("double"))
    assert words(summary) == {"fake/broken": "error", "fake/double": "new"}
    assert summary.verdicts[0].reason == "broken.cu(3): error: expected a ';'"
    assert summary.exit_code == 3


@pytest.mark.parametrize(("kind", "code"), [("run", 2), ("nightly", 4)])
def test_a_variant_that_contradicts_its_kernel_is_an_error_alone(bench: Bench, kind: str, code: int) -> None:
    right, case = fakes.case("double"), fakes.case("double", name="fake/variant")
    launch = replace(case.launches[0], args=(*case.launches[0].args, Argument("null")))
    where = bench.project.configs / "fake.yaml"
    summary = bench.run(replace(right, path=str(where)), replace(case, path=str(where), launches=(launch,)), kind=kind)
    assert words(summary) == {"fake/double": "new", "fake/variant": "error"}
    assert summary.verdicts[1].reason.startswith("configs/fake.yaml: launches[0].args: double takes 2 arguments, not 3")
    assert (summary.exit_code, summary.verdicts[1].exit_code) == (code, code)


@pytest.mark.parametrize(
    ("kernel", "status", "code"),
    [("fault", "fault", 3), ("crash", "fault", 3), ("sleep", "timeout", 3), ("bug", "error", 4)],
)
def test_what_goes_wrong_is_a_verdict(bench: Bench, kernel: str, status: str, code: int) -> None:
    summary = bench.run(fakes.case(kernel, timeout=0.2), fakes.case("double"))
    assert words(summary) == {f"fake/{kernel}": status, "fake/double": "new"}
    assert summary.exit_code == code


def test_the_last_words_of_a_worker_that_ran_out_of_memory_are_told(bench: Bench) -> None:
    summary = bench.run(fakes.case("no_memory"))
    (verdict,) = summary.verdicts
    assert (verdict.status, summary.exit_code) == ("error", 4)
    assert "LLVM ERROR: out of memory" in verdict.notes


def test_a_status_that_is_not_zero_is_a_fault_with_its_code(bench: Bench) -> None:
    summary = bench.run(fakes.case("status", status="out"))
    assert summary.verdicts[0].status == "fault"
    assert "status: out[2] = " in summary.verdicts[0].reason


def test_an_expected_fault_passes(bench: Bench) -> None:
    assert words(bench.run(fakes.case("fault", expect_fault="out-of-bounds"))) == {"fake/fault": "pass"}


def test_a_case_for_another_device_is_skipped_aloud(bench: Bench) -> None:
    summary = bench.run(fakes.case("double", devices=("cuda",)))
    assert summary.verdicts[0].status == "skip"
    assert "cuda" in summary.verdicts[0].reason
    assert summary.exit_code == 5


def test_fail_fast_leaves_the_rest_out_and_says_so(bench: Bench) -> None:
    summary = bench.run(fakes.case("fault"), fakes.case("double"), fail_fast=True)
    assert words(summary) == {"fake/fault": "fault", "fake/double": "skip"}


def test_rerun_failed_takes_only_what_did_not_pass(bench: Bench) -> None:
    bench.run(fakes.case("double"), fakes.case("count"))
    accept.accept(bench.project, ["fake/double"])
    bench.run(fakes.case("double"), fakes.case("count"))
    assert words(bench.run(fakes.case("double"), fakes.case("count"), rerun_failed=True)) == {"fake/count": "new"}


def test_rerun_failed_runs_what_fail_fast_left_out(bench: Bench) -> None:
    cases = [fakes.case("fault"), fakes.case("double"), fakes.case("twice")]
    bench.run(*cases, fail_fast=True)
    again = bench.run(*cases, rerun_failed=True)
    assert words(again) == {"fake/fault": "fault", "fake/double": "new", "fake/twice": "new"}


def test_rerun_failed_keeps_what_a_narrower_one_did_not_run(bench: Bench) -> None:
    cases = [fakes.case("fault"), fakes.case("double"), fakes.case("twice")]
    bench.run(*cases)
    accept.accept(bench.project)
    bench.run(cases[1], rerun_failed=True, selectors=("fake/double",))
    assert set(words(bench.run(*cases, rerun_failed=True))) == {"fake/fault", "fake/twice"}
    gone = bench.run(cases[0], rerun_failed=True)
    assert set(words(gone)) == {"fake/fault"}


def test_a_case_that_failed_stays_due_where_a_rerun_leaves_it_out_for_its_device(bench: Bench) -> None:
    case = fakes.case("fault")
    bench.run(case, fakes.case("double"))
    bench.run(replace(case, devices=("cuda",)), fakes.case("double"), rerun_failed=True)
    assert "fake/fault" in words(bench.run(case, fakes.case("double"), rerun_failed=True))


def test_rerun_failed_with_nothing_failed_is_nothing_to_do(bench: Bench) -> None:
    bench.run(fakes.case("double"))
    accept.accept(bench.project)
    bench.run(fakes.case("double"))
    with pytest.raises(NothingToDo, match="passed"):
        bench.run(fakes.case("double"), rerun_failed=True)


def test_rerun_failed_names_the_failures_that_are_not_asked_for(bench: Bench) -> None:
    bench.run(fakes.case("double"), fakes.case("count"))
    with pytest.raises(NothingToDo, match="fake/double and 1 more did not pass in the last run, but"):
        bench.run(fakes.case("fault"), rerun_failed=True)


def test_repeats_that_disagree_are_a_difference(bench: Bench) -> None:
    summary = bench.run(fakes.case("count", repeat=3))
    assert summary.verdicts[0].status == "differ"
    assert "run 2 of 3 is not the first one" in summary.verdicts[0].reason


def test_checks_are_judged(bench: Bench) -> None:
    summary = bench.run(fakes.case("double", checks={"out": (Check("finite"),)}))
    assert summary.verdicts[0].status == "differ"
    assert summary.verdicts[0].outcome is not None
    assert summary.verdicts[0].outcome.extra["unwritten"] == {"out": {"elements": 1, "of": 8, "ranges": [[7, 8]]}}


def test_a_reference_is_computed_in_the_worker_and_compared(bench: Bench, tmp_path: Path) -> None:
    module = tmp_path / "gold.py"
    module.write_text(
        "import numpy as np\n"
        "def right(inputs, case):\n"
        "    out = 2 * inputs['x'].astype(np.float64)\n"
        "    out[-1] = np.nan\n"
        "    return out\n"
        "def wrong(inputs, case): return inputs['x'] * 3\n"
        "def raises(inputs, case): raise KeyError('y')\n"
    )
    cases = [
        fakes.case("double", name=f"fake/{name}", reference={"out": f"{module}:{name}"})
        for name in ("right", "wrong", "raises", "absent")
    ]
    summary = bench.run(*cases)
    assert words(summary) == {
        "fake/right": "pass",
        "fake/wrong": "differ",
        "fake/raises": "differ",
        "fake/absent": "differ",
    }
    reasons = [verdict.reason for verdict in summary.verdicts]
    assert "gold.py:raises raised KeyError: 'y' (line 7 of gold.py)" in reasons[2]
    assert "has no function 'absent'; it has: raises, right, wrong" in reasons[3]


def test_a_disk_that_fills_while_accepting_says_what_was_accepted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.run(fakes.case("double"), fakes.case("count"), fakes.case("noise"))
    real, done = Batch.commit, list[int]()

    def filling(batch: Batch) -> None:
        if len(done) == 2:
            raise StorageError("no space is left")
        done.append(len(batch))
        real(batch)

    monkeypatch.setattr(accept, "_BATCH", 1)
    monkeypatch.setattr(Batch, "commit", filling)
    with pytest.raises(StorageError, match=r"no space is left; fake/.* and 1 more had been accepted"):
        accept.accept(bench.project)
    monkeypatch.undo()
    assert len(Store(bench.project.baselines).case_names()) == 2
    assert not list(bench.project.baselines.rglob(".gpuregress-tmp-*"))


def test_a_baseline_without_a_case_is_said(bench: Bench) -> None:
    bench.run(fakes.case("double"))
    accept.accept(bench.project)
    summary = bench.run(fakes.case("count"))
    assert any("fake/double has no case any more" in note for note in (*summary.notes, *summary.remarks))


def test_a_damaged_baseline_is_that_cases_error(bench: Bench) -> None:
    bench.run(fakes.case("double"))
    accept.accept(bench.project)
    dump = bench.project.baselines / "fake" / "double" / "out.1.4"
    dump.write_text(dump.read_text().replace("2.0", "3.0"))
    summary = bench.run(fakes.case("double"), fakes.case("count"))
    assert words(summary) == {"fake/double": "error", "fake/count": "new"}
    assert "edited" in summary.verdicts[0].reason
    assert summary.exit_code == 4


def test_a_case_that_faulted_is_not_accepted_and_the_others_are(bench: Bench) -> None:
    bench.run(fakes.case("fault"), fakes.case("double"))
    done = accept.accept(bench.project)
    assert [one.case for one in done.accepted] == ["fake/double"]
    assert [one.case for one in done.refused] == ["fake/fault"]


def test_a_bug_while_comparing_is_that_cases_error(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.run(fakes.case("double"), fakes.case("twice"))
    accept.accept(bench.project)

    def break_down(_pair: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("gpuregress.judging.buffer_pairs.Pair.compare", break_down)
    summary = bench.run(fakes.case("double"), fakes.case("sleep", timeout=0.2))
    assert words(summary) == {"fake/double": "error", "fake/sleep": "timeout"}
    assert "ZeroDivisionError: a bug" in summary.verdicts[0].reason
    assert summary.exit_code == 4


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


def test_only_the_last_runs_are_kept(bench: Bench) -> None:
    names = [bench.run(fakes.case("double")).run for _ in range(5)]
    kept = [folder.name for folder in run_folders.every(bench.project.runs)]
    assert len(kept) == 3
    assert names[-1] in kept


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


def test_a_runs_folder_that_cannot_be_made_is_a_storage_error(bench: Bench) -> None:
    bench.project.runs.write_text("in the way")
    with pytest.raises(StorageError, match="runs"):
        bench.run(fakes.case("double"))


def test_a_tolerance_passes_what_is_near(bench: Bench) -> None:
    bench.run(fakes.case("double"))
    accept.accept(bench.project)
    near = replace(fakes.case("double"), compare={"out": Rule(rtol=1e-5, atol=0.0)})
    assert words(bench.run(near)) == {"fake/double": "pass"}

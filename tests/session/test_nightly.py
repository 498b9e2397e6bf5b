from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from gpuregress.execution.workers.worker_process import DeviceSlot
from gpuregress.foundation import storage
from gpuregress.foundation.errors import RunLocked
from gpuregress.foundation.records import Case, RunSummary
from gpuregress.gpu.records import replace
from gpuregress.session import accepting, device_slots, missing_cases, nightly
from gpuregress.session import nightly as night_watch
from gpuregress.session.nightly import NightTerms
from gpuregress.session.run_request import RunRequest
from gpuregress.session.runs import journal, run_folders
from gpuregress.store.baselines import BaselineStore
from gpuregress.store.dumps import run_names
from tests import fakes
from tests.session.bench import Bench
from tests.waiting import wait_until


def night(bench: Bench, *cases: Case, **request: object) -> RunSummary:
    bench.cases = cases
    with bench.machinery():
        return nightly.run(bench.project, RunRequest(device="cpu", jobs=1, **request))  # type: ignore[arg-type]


def test_a_case_that_vanished_fails_every_night(bench: Bench) -> None:
    double, count = fakes.case("double"), fakes.case("count")
    assert night(bench, double, count).missing == ()
    for _ in range(2):
        gone = night(bench, double)
        assert [one.case for one in gone.missing] == ["fake/count"]
        assert gone.exit_code == 1
    assert night(bench, double, tags=("some",)).missing == ()


def test_a_case_that_ran_and_is_infeasible_now_fails_until_it_is_forgotten(bench: Bench) -> None:
    double, count = fakes.case("double"), fakes.case("count")
    refused = replace(count, settings=replace(count.settings, infeasible="skip", refused="2048 threads"))
    assert night(bench, double, refused).missing == ()
    assert night(bench, double, count).missing == ()
    for _ in range(2):
        gone = night(bench, double, refused)
        assert [one.lines[0] for one in gone.missing] == ["fake/count ran on an earlier night and is infeasible now"]
        assert gone.exit_code == 1
    store = BaselineStore(bench.project.baselines)
    assert missing_cases.forget(bench.project, store, [count, double]) == ("fake/count",)
    assert night(bench, double, refused).missing == ()


def test_one_night_at_a_time(bench: Bench) -> None:
    with storage.lock(bench.project.runs / nightly.LOCK), pytest.raises(RunLocked):
        night(bench, fakes.case("double"))


# --- several devices --------------------------------------------------------------------------------------------------


def on_devices(bench: Bench, monkeypatch: pytest.MonkeyPatch, here: set[str], *cases: Case, **terms: Any) -> RunSummary:
    """A night on every device that the cases name; the GPU is a fake."""
    select = device_slots.select

    def selected(device: str, jobs: int | None = None) -> device_slots.DeviceSelection:
        if device != "cuda":
            return select(device, jobs)
        return device_slots.DeviceSelection("cuda", "cuda:0", "", (DeviceSlot("cuda:0", "cuda:0", {}),))

    monkeypatch.setattr(device_slots, "select", selected)
    bench.cases = cases
    given = NightTerms(every_device=True, here=lambda: frozenset(here), **terms)
    with bench.machinery():
        return nightly.run(bench.project, RunRequest(device="auto", jobs=1), given)


def named(name: str, *devices: str) -> Case:
    case = fakes.case("double", name=name, devices=devices)
    return replace(case, settings=replace(case.settings, on=devices))


def test_a_night_runs_on_every_device_that_the_jobs_name(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = (named("fake/both", "cpu", "cuda"), named("fake/cpu", "cpu"))
    both = on_devices(bench, monkeypatch, {"cpu", "cuda"}, *cases)
    assert [one.case for one in both.verdicts] == ["fake/both [cuda]", "fake/both [cpu]", "fake/cpu [cpu]"]
    folders = run_names.every(bench.project.runs)
    assert [list(journal.read(folder).judged) for folder in folders] == [["fake/both"], ["fake/both", "fake/cpu"]]
    last = missing_cases.last_night(bench.project)
    assert ((last.run, *last.others), last.devices) == (tuple(one.name for one in folders), ("cuda", "cpu"))


def test_a_device_that_was_never_there_is_counted_and_one_that_is_lost_fails(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = (named("fake/both", "cpu", "cuda"), named("fake/gpu", "cuda"))
    bench.run(cases[0])
    accepting.accept(bench.project)
    for is_new in (True, False):
        never = on_devices(bench, monkeypatch, {"cpu"}, *cases)
        assert never.exit_code == 0
        assert never.changes is not None
        assert [(one.device, one.cases, one.is_new) for one in never.changes.lacking] == [("cuda", 2, is_new)]
    on_devices(bench, monkeypatch, {"cpu", "cuda"}, *cases)
    for _ in range(2):
        lost = on_devices(bench, monkeypatch, {"cpu"}, *cases)
        assert (lost.exit_code, [one.case for one in lost.missing]) == (4, ["cuda"])
        assert "the last night ran on it, and this host lacks it now" in lost.missing[0].lines[0]


def test_a_night_that_was_killed_before_its_second_device_is_continued_there(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = (named("fake/a", "cpu", "cuda"), named("fake/b", "cpu", "cuda"))
    on_devices(bench, monkeypatch, {"cpu", "cuda"}, *cases)
    first, second = run_names.every(bench.project.runs)
    path = second / journal.FILE
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    (second / run_folders.RESULTS).unlink()
    again = on_devices(bench, monkeypatch, {"cpu", "cuda"}, *cases, resume=True)
    assert [one.case for one in again.verdicts] == ["fake/a [cuda]", "fake/b [cuda]", "fake/a [cpu]", "fake/b [cpu]"]
    assert [folder.name for folder in run_names.every(bench.project.runs)] == [first.name, second.name]
    assert journal.read(second).state == "finished"


def test_a_night_that_does_not_come_back_is_stopped_with_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(night_watch, "GRACE_S", 0.05)
    told: list[str] = []
    with night_watch.watched(time.monotonic(), "6 h", told.append):
        wait_until(lambda: bool(told))
    assert told[0].startswith("the night did not end within 0.05 s after its deadline of 6 h: it hangs in ")


def test_a_night_that_ends_is_left_alone() -> None:
    told: list[str] = []
    with night_watch.watched(time.monotonic() + 60, "1 min", told.append):
        (thread,) = [one for one in threading.enumerate() if one.name == "night watch"]
    thread.join(10)
    assert (thread.is_alive(), told) == (False, [])
    before = threading.active_count()
    with night_watch.watched(None, ""):
        assert threading.active_count() == before

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

from gpuregress.foundation.records import CaseSettings
from gpuregress.session.events import Event, Started
from tests import fakes
from tests.session.bench import Bench, words


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

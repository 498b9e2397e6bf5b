from __future__ import annotations

import json
import os
import threading
from pathlib import Path

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

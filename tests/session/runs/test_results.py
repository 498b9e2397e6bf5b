from __future__ import annotations

import json
from pathlib import Path

from gpuregress.store import launch_log
from tests import fakes
from tests.session.bench import Bench


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
    log = launch_log.read(folder / "launch.log")
    assert {"device", "compiler", "host", "gpuregress", "seed of fake", "seed of fake.x"} <= set(log.header)
    assert [event.number for event in log.events] == [1, 1, 2, 2]
    assert not log.unfinished

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuregress.foundation.errors import DumpError
from gpuregress.foundation.records import Fill, InputFile
from gpuregress.gpu.records import replace
from gpuregress.session.runs import results
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


def test_only_dumps_inside_the_folder_of_runs_are_verified(bench: Bench) -> None:
    bench.run(fakes.case("double"))
    runs = bench.project.runs
    dump = next(path for path in sorted(runs.glob("*/dumps/**/*.*")) if path.is_file() and not path.parent.is_symlink())
    outside = bench.project.root / dump.name
    outside.write_bytes(dump.read_bytes())
    case = fakes.case("double")
    name, buffer = next(iter(case.buffers.items()))

    def taking(path: object) -> None:
        filled = replace(buffer, fill=Fill("file", InputFile(str(path)), 0))
        results.verify_inputs(replace(case, buffers={**case.buffers, name: filled}), runs)

    taking(dump)
    for path in (dump, outside):
        path.chmod(0o644)
        path.write_text(path.read_text() + "0\n")
    taking(outside)
    with pytest.raises(DumpError, match="edited or cut short"):
        taking(dump)

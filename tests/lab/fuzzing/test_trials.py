from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuregress.jobs import plan
from gpuregress.jobs.spec import load
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.fuzzing.candidates import Candidate, Space
from gpuregress.lab.fuzzing.findings import FuzzTrials
from gpuregress.lab.shrinking.trials import JobFolder
from gpuregress.store import project
from tests.workshop import Workshop


@pytest.fixture
def scratch(tmp_path_factory: Any) -> Path:
    return Path(tmp_path_factory.mktemp("scratch"))


def trials(shop: Workshop, scratch: Path, more: str) -> FuzzTrials:
    path = shop.root / "configs/scale.yaml"
    path.write_text(path.read_text() + more)
    here = project.find(shop.root)
    space = Space(load.load_file(path).document.data, plan.make(here, ["scale"]).cases)
    return FuzzTrials(space, JobFolder(here, path, RunOptions("cpu"), scratch / "runs"))


def test_candidates_are_judged_by_the_job_itself(fake_shop: Workshop, scratch: Path) -> None:
    made = trials(fake_shop, scratch, "checks: {out: [{range: [0, 198]}]}\n")
    own = Candidate(0)
    assert made.plan(own.with_parameter("n", 0)) is None, "a buffer has one element at least"
    planned = [made.plan(one) for one in (own, own.with_parameter("n", 33), own.with_parameter("n", 101))]
    found = made.run([one for one in planned if one is not None])
    assert [one.state for one in found] == ["passed", "passed", "failed"]
    assert found[2].failure is not None
    assert found[2].failure.sides == (("out", "check"),)
    assert not (scratch / "runs").exists()
    assert made.run([]) == []


@pytest.mark.parametrize(
    ("kernel", "result", "reason"),
    [("scale", "inputs['x'][40:] * 0 + 1 / 0", "ZeroDivisionError"), ("idle", "inputs['x'] * float('nan')", "nothing")],
)
def test_a_reference_without_results_blames_no_kernel(
    fake_shop: Workshop, scratch: Path, kernel: str, result: str, reason: str
) -> None:
    source = fake_shop.root / "kernels/scale.cu"
    source.write_text(source.read_text().replace("void scale(", f"void {kernel}("))
    fake_shop.job(("kernel: scale", f"kernel: {kernel}"))
    fake_shop.write("configs/r.py", f"def f(inputs, case):\n    return {result}\n")
    made = trials(fake_shop, scratch, "reference: {out: 'r.py:f'}\n")
    planned = made.plan(Candidate(0))
    assert planned is not None
    (found,) = made.run([planned])
    assert found.state == "not run"
    assert reason in found.reason

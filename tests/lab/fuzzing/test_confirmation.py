"""Confirmation: a job is run from the folder where it will be, and leaves nothing there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpuregress.jobs.spec import load
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.fuzzing.findings import Confirmation
from gpuregress.lab.shrinking.trials import Failure, JobFolder
from gpuregress.store.project import find
from tests.workshop import Workshop


def test_only_the_same_kind_of_failure_confirms(fake_shop: Workshop, tmp_path_factory: Any) -> None:
    path = fake_shop.job()
    scratch = Path(tmp_path_factory.mktemp("scratch"))
    folder = JobFolder(find(fake_shop.root), path, RunOptions("cpu"), scratch / "runs", coverage=True)
    target = fake_shop.root / "configs/fuzz"
    job = {**load.load_file(path).document.data, "job": "scale-fuzz-1", "source": "../../kernels/scale.cu"}
    confirmation = Confirmation(folder, target)
    kind = Failure("differ", sides=(("out", "check"),))
    assert confirmation.fails({**job, "checks": {"out": [{"range": [0, 1]}]}}, kind)
    assert not confirmation.fails({**job, "checks": {"out": [{"range": [0, 1]}]}}, Failure("fault", "trap"))
    assert not confirmation.fails(job, kind)
    assert not confirmation.fails({**job, "source": 3}, kind)
    assert not target.exists()
    assert not folder.runs.exists()

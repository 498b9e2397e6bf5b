"""Bugs planted by hand: every kernel has one, no operator makes it, and its committed job notices it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.lab.mutating import cuda_mutants, device_code, mutants
from gpuregress.session import session
from gpuregress.session.run_request import RunRequest
from gpuregress.store import project
from tests.kernels.planted import ROOT, plant, planted_bugs

QUICK = ("dot", "langdon", "vector_add")
"""Those that are run here; `python -m tests.kernels.planted` runs all."""


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planted")
    plant(planted_bugs().values(), folder)
    return folder


def test_every_kernel_has_a_bug() -> None:
    kernels = {path.name for pattern in ("*.cu", "triton/*.py") for path in (ROOT / "kernels").glob(pattern)}
    assert {Path(bug.file).name for bug in planted_bugs().values()} == {*kernels, "morton.cuh"}
    assert all(bug.mistake.endswith(".") for bug in planted_bugs().values())


def test_no_operator_makes_one_of_them(planted: Path) -> None:
    for name, bug in planted_bugs().items():
        text, wrong = ((folder / bug.file).read_text() for folder in (ROOT, planted))
        assert text != wrong
        if bug.file.endswith(".py"):
            continue
        every = ["kernel", *(word for word in text.replace("(", " ").split() if word.isidentifier())]
        found = cuda_mutants.find_mutants(device_code.reached({Path(bug.file): text}, every))
        assert found
        assert not any(mutants.apply(text, one.edits) == wrong for one in found), name


def test_the_committed_job_notices_it(planted: Path) -> None:
    bugs = [planted_bugs()[name] for name in QUICK]
    summary = session.run(project.find(planted), [bug.case for bug in bugs], RunRequest(device="cpu"))
    assert {one.case: one.status for one in summary.verdicts} == {bug.case: "differ" for bug in bugs}

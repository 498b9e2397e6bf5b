"""Every job of this repository is looked after: oracles for the results, an expectation for the faults."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpuregress.foundation.records import FAULT_KINDS
from gpuregress.jobs import plan
from gpuregress.store import project
from tests.kernels.recorded import ROOT, cases_of

JOBS = sorted(path.stem for path in (ROOT / "configs").glob("*.yaml"))
FAULTS = sorted((ROOT / "configs" / "faults").glob("*.yaml"))
PROMISED_FAULTS = {"out-of-bounds", "misaligned", "timeout", "assert", "trap", "status", "deadlock"}


@pytest.mark.parametrize("job", JOBS)
def test_job_has_an_oracle_and_choices(job: str) -> None:
    assert (Path(__file__).parent / f"test_{job}.py").is_file()
    assert len(cases_of(job)) >= 2
    assert all(case.job == job for case in cases_of(job).values())


@pytest.mark.parametrize("job", JOBS)
def test_revision_is_the_keyword_of_the_source(job: str) -> None:
    for case in cases_of(job).values():
        keywords = [_keyword(source.path) for source in case.sources]
        assert case.revision == "-".join(dict.fromkeys(keywords))


def _keyword(source: str) -> str:
    keyword = re.search(r"\$Revision: (\S+) \$", Path(source).read_text())
    assert keyword is not None
    return keyword.group(1)


@pytest.mark.parametrize("path", FAULTS, ids=lambda path: path.stem)
def test_fault_job_expects_a_known_fault(path: Path) -> None:
    cases = plan.make(project.find(ROOT), [str(path)]).cases
    assert cases
    assert all(case.expect_fault in FAULT_KINDS for case in cases)


def test_every_promised_fault_has_a_job() -> None:
    planned = plan.make(project.find(ROOT), [str(path) for path in FAULTS])
    assert {case.expect_fault for case in planned.cases} >= PROMISED_FAULTS

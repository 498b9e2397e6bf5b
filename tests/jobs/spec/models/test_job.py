from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from gpuregress.foundation.document.forms import FormErrors
from gpuregress.jobs.spec.models.job import JobSpec

JOB: dict[str, Any] = {
    "source": "k.cu",
    "buffers": {"x": {"dtype": "int32", "shape": [4]}},
    "launches": [{"kernel": "k", "grid": [1], "block": [4], "args": ["x"]}],
}
KNOWN = {"until": "2026-12-24", "why": "the card"}


def test_defaults() -> None:
    job = JobSpec.of(JOB)
    assert (job.revision, job.seed, job.repeat.runs, job.devices) == ("auto", 0, 1, ["cpu", "cuda"])
    assert (job.timing, job.resources, job.dump) == (None, None, None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dump": "x"}, "expected `all` or a list"),
        ({"dump": [1]}, "expected `all` or a list"),
        ({"status": {"buffer": "x", "codes": {"35": "full", "0x23": "bad"}}}, "35 is given in another spelling"),
        ({"parameters": {"min": [1]}}, "reserved name 'min'"),
        ({"known_failing": {"until": "24 Dec", "why": "x"}}, "expected a day such as 2026-12-24, got '24 Dec'"),
        ({"known_failing": {"until": "2026-02-30", "why": "x"}}, "expected a day such as 2026-12-24"),
        ({"known_failing": {"until": "2026-12-24"}}, "missing key"),
        ({"known_failing": {**KNOWN, "status": "new"}}, "expected one of differ, fault, timeout, error"),
        ({"known_failing": {**KNOWN, "status": "differ", "fault": "trap"}}, "'differ' has no fault 'trap'"),
        ({"known_failing": {**KNOWN, "status": "timeout", "fault": "trap"}}, "'timeout' has no fault 'trap'"),
        ({"known_failing": {**KNOWN, "status": "error", "kernel": "k"}}, "`kernel` is that of a fault or a timeout"),
        ({"known_failing": {**KNOWN, "fault": "status", "kernel": "k"}}, "belongs to no one kernel"),
        ({"known_failing": {**KNOWN, "fault": "trap", "buffer": "x"}}, "`buffer` is that of a difference"),
        ({"retries": "many"}, "expected a whole number from 0 to 10, got 'many'"),
        ({"retries": 11}, "expected a whole number from 0 to 10"),
        ({"limits": {"heap": "64 frogs"}}, "invalid size '64 frogs'; expected bytes"),
        ({"limits": {"timeouts": 0}}, "expected a whole number from 1 to 1,000,000, got 0"),
        ({"buffers": {"2x": {"dtype": "int32", "shape": [1]}}}, "invalid name '2x'"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(FormErrors, match=message):
        JobSpec.of({**JOB, **changes})


def test_the_day_of_a_known_failure_may_be_a_date() -> None:
    known = {"until": date(2026, 12, 24), "why": "the card"}
    job = JobSpec.of({**JOB, "known_failing": known, "retries": 2, "limits": {"timeouts": 3, "heap": "64MiB"}})
    assert job.known_failing is not None
    assert (job.known_failing.until, job.retries, job.limits.timeouts) == ("2026-12-24", 2, 3)
    assert job.limits.heap == 64 << 20

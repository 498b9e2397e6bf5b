"""Check of a job's twins: there must be two sides, and the host can only call a function."""

from __future__ import annotations

from gpuregress.foundation.document.problems import Problems
from gpuregress.jobs.spec.load import JobFile


def check(file: JobFile, problems: Problems) -> None:
    """Report twins that cannot be compared.

    Args:
        file: the job.
        problems: collects the errors.
    """
    job = file.job
    if job.twins is None:
        return
    given = list(job.twins)
    for position, twin in enumerate(given):
        if twin in given[:position]:
            problems.add(("twins", position), f"duplicate entry {twin!r}")
    if len(set(given)) == 1 and "host" not in given:
        other = "cuda" if given == ["cpu"] else "cpu"
        text = f"names one device, {given[0]}: name what it is compared with, as [{given[0]}, {other}]"
        problems.add(("twins",), text)
    if "host" in given:
        _check_host(file, problems, given.index("host"))
    if job.expect is not None:
        problems.add(("twins",), "has no effect beside expect: a case that must fail has no results to compare")


def _check_host(file: JobFile, problems: Problems, position: int) -> None:
    job = file.job
    if job.function is None and not file.is_broken("function"):
        problems.add(
            ("twins", position), "the host can only call a function: host needs function: in place of launches"
        )
    symbols = [name for name, buffer in job.buffers.items() if buffer.symbol]
    if symbols:
        text = f"{symbols[0]} is a variable of the device (symbol:), which the host's program does not have"
        problems.add(("twins", position), text)

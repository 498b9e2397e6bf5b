"""Confirmation of a new job: it is run once more from where it will be, and must fail in the same way."""

from __future__ import annotations

import shutil
from pathlib import Path

from gpuregress.gpu.records import replace
from gpuregress.lab.shrinking import failure
from gpuregress.lab.shrinking.failure import Failure
from gpuregress.lab.shrinking.numbers import Job
from gpuregress.lab.shrinking.trials import JobFolder

_NAME = "confirmed.yaml"


class Confirmation:
    """Runs of new jobs at the path that they will have.

    Args:
        folder: where candidates are run.
        target: the folder of the new jobs.
    """

    def __init__(self, folder: JobFolder, target: Path) -> None:
        self._folder = replace(folder, path=target.absolute() / _NAME, coverage=False)

    def fails(self, job: Job, kind: Failure) -> bool:
        """Run a job; tell whether it fails in this way.

        Raises:
            Interrupted: the user asked to stop.
            GpuregressError: the errors of `session.run`.
        """
        case = self._folder.plan(job)
        if case is None:
            return False
        try:
            summary = self._folder.execute([case], self._folder.runs.with_name("no-baselines"))
        finally:
            shutil.rmtree(self._folder.runs, ignore_errors=True)
        return any(kind.is_same(failure.of(case, one)) for one in summary.verdicts)

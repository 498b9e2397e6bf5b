"""Run of all planted bugs: `python -m tests.kernels.planted`; exits with 1 where one is not noticed."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from gpuregress.session import session
from gpuregress.session.run_request import RunRequest
from gpuregress.store import project
from tests.kernels.planted import plant, planted_bugs


def main() -> int:
    """Plant all bugs, run their cases on the CPU device, and print a line for each."""
    bugs = planted_bugs()
    with tempfile.TemporaryDirectory() as folder:
        plant(bugs.values(), Path(folder))
        selectors = tuple(bug.case for bug in bugs.values())
        summary = session.run(project.find(Path(folder)), selectors, RunRequest(device="cpu"))
    verdicts = {one.case: one for one in summary.verdicts}
    for name, bug in bugs.items():
        one = verdicts[bug.case]
        sys.stdout.write(f"{one.status:8} {name}: {bug.mistake} {one.case}: {one.reason}\n")
    return int(any(verdicts[bug.case].status not in ("differ", "fault") for bug in bugs.values()))


if __name__ == "__main__":
    sys.exit(main())

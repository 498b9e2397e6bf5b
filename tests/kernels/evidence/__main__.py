"""Update of the tables by reports of `audit` and `mutate`, and of the page: `python -m tests.kernels.evidence [F…]`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from gpuregress.jobs import plan
from gpuregress.store import project
from tests.kernels import evidence


def main(paths: list[str]) -> int:
    """Take the reports in the order in which they are given, then write the page."""
    for path in paths:
        report = json.loads(Path(path).read_text(encoding="utf-8"))
        if "parts" in report:
            evidence.EXAMINED.update(evidence.of_audit(report, sources()))
        else:
            evidence.MUTANTS.update([evidence.of_mutants(report)])
            survivors = evidence.of_survivors(report, evidence.SURVIVORS.rows())
            evidence.SURVIVORS.path.write_text(evidence.SURVIVORS.text(survivors), encoding="utf-8")
    evidence.PAGE.write_text(evidence.page(), encoding="utf-8")
    return 0


def sources() -> dict[str, str]:
    """Job → the file of its first kernel, relative to the repository."""
    cases = plan.make(project.find(evidence.ROOT), []).cases
    return {case.job: os.path.relpath(case.sources[0].path, evidence.ROOT) for case in cases}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

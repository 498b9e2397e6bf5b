from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress import plan
from gpuregress.errors import NothingToDo
from gpuregress.operations import accept, diff
from gpuregress.plan import Plan
from tests import fakes
from tests.session.bench import Bench


def test_two_files_are_compared_to_the_bit(tmp_path: Path) -> None:
    first, second = tmp_path / "x.1", tmp_path / "x.2"
    first.write_text("# gpuregress 1 float32 [2]\n1.0\n2.0\n")
    second.write_text("# gpuregress 1 float32 [2]\n1.0\n2.5\n")
    same, changed = diff.compare_files(first, first), diff.compare_files(first, second)
    assert (same.exit_code, changed.exit_code) == (0, 1)
    (comparison,) = changed.verdicts[0].buffers[0].comparisons
    assert (comparison.differing, comparison.of) == (1, 2)


def test_revisions_are_found_in_baselines_and_runs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    case = fakes.case("count")
    monkeypatch.setattr(plan, "make", lambda *_arguments: Plan((case,)))
    bench.run(case)
    accept.accept(bench.project)
    bench.run(fakes.case("count", "count", name=case.name, revision="1.5"))
    actual = diff.compare_revisions(bench.project, "baseline", "1.5")
    assert (actual.verdicts[0].status, actual.exit_code) == ("differ", 1)
    assert diff.compare_revisions(bench.project, "1.4", "baseline").exit_code == 0
    with pytest.raises(NothingToDo, match=r"dumps of both 1.4 and 9; there are dumps of: 1.4, 1.5"):
        diff.compare_revisions(bench.project, "1.4", "9")

from __future__ import annotations

from gpuregress.operations import accept
from tests import fakes
from tests.session.bench import Bench


def test_a_baseline_without_a_case_is_said(bench: Bench) -> None:
    bench.run(fakes.case("double"))
    accept.accept(bench.project)
    summary = bench.run(fakes.case("count"))
    assert any("fake/double has no case any more" in note for note in (*summary.notes, *summary.remarks))

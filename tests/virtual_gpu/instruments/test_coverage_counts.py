"""Coverage of one launch after another, also where a fault has ended the one before."""

from __future__ import annotations

from gpuregress.foundation.records import FileCoverage, Instruments
from gpuregress.gpu.base import LaunchReport
from gpuregress.virtual_gpu.instruments.coverage_counts import CoverageCounts
from gpuregress.virtual_gpu.runtime.probe_sites import ProbeSite
from tests.virtual_gpu.instruments.launches import launch_of

LINE = ((("k.cu", 3, 1),),)


def test_each_launch_has_its_own_counts() -> None:
    counts = CoverageCounts()
    assert counts.serves(Instruments(coverage=True))
    assert not counts.serves(Instruments(costs=True))
    sites = (ProbeSite("run", "k", 0, 0, LINE), ProbeSite("rounding", "k", 1, 1, LINE))
    launch = launch_of(Instruments(coverage=True), probes=sites)
    for executed in (7, 2):
        counts.before(launch)
        launch.counters[:2] = executed, 9
        report = counts.after(launch, LaunchReport(0))
        assert report.coverage is not None
        assert report.coverage.files == (FileCoverage("k.cu", ((3, executed),)),)
    assert launch.counters[1] == 9, "what another instrument counts stays"
    counts.clear()

"""Values of higher precision: the table of a device, and the instructions whose errors count."""

from __future__ import annotations

from gpuregress.foundation.records import Instruments
from gpuregress.gpu.base import LaunchReport
from gpuregress.virtual_gpu.instruments.shadow_values import ShadowValues
from gpuregress.virtual_gpu.runtime.probe_sites import ProbeSite
from tests.virtual_gpu.instruments.launches import launch_of

FIRST, SECOND = (("k.cu", 3, 1),), (("k.cu", 4, 1),)


def test_chosen_instructions_count_and_the_table_lasts_until_memory_is_freed() -> None:
    values = ShadowValues()
    assert values.serves(Instruments(accuracy=True))
    assert not values.serves(Instruments(coverage=True))
    sites = (ProbeSite("rounding", "k", 0, 0, (FIRST,)), ProbeSite("rounding", "k", 1, 3, (SECOND,)))
    launch = launch_of(Instruments(accuracy=True), probes=sites)
    region = launch.space.allocate("x", 64)
    assert values.of_region(region, 4) is None
    values.round_at([SECOND])
    values.before(launch)
    assert [int(launch.counters[at]) for at in (0, 3)] == [0, 1]
    launch.counters[4] = 5
    table = launch.machine.shadows
    report = values.after(launch, LaunchReport(0))
    assert [site.count for site in report.roundings] == [0, 5]
    values.before(launch)
    assert launch.machine.shadows == table
    shadow = values.of_region(region, 4)
    assert shadow is not None
    assert not shadow.known.any()
    values.clear()
    assert values.of_region(region, 4) is None

from __future__ import annotations

import numpy as np

from gpuregress.foundation.records import RoundingSite
from gpuregress.virtual_gpu.instruments.shadow_values import take
from gpuregress.virtual_gpu.runtime.probe_sites import ProbeSite

PLACE = (("k.cu", 4, 2),)


def test_instructions_at_one_place_are_one_and_their_counters_are_reset() -> None:
    sites = [
        ProbeSite("rounding", "k", 1, 0, (PLACE,)),
        ProbeSite("rounding", "k", 2, 3, (PLACE,)),
        ProbeSite("restart", "k", 3, 6, (), note="mma.sync"),
        ProbeSite("run", "k", 4, 7, (PLACE,)),
    ]
    counters = np.array([1, 2, 9, 0, 3, 7, 5, 8], np.uint64)
    assert take(sites, counters) == (
        RoundingSite("rounding", PLACE, 5, 9),
        RoundingSite("restart", (), 5, 0, "mma.sync"),
    )
    assert counters.tolist() == [0] * 7 + [8]

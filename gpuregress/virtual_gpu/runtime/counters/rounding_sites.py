"""Counts of the instructions of a launch that cancelled digits or lost a shadow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.accuracy import RoundingSite
from gpuregress.virtual_gpu.runtime.counters.probe_sites import COUNTERS, ProbeSite


def take(sites: Sequence[ProbeSite], counters: npt.NDArray[np.uint64]) -> tuple[RoundingSite, ...]:
    """The instructions whose accuracy was watched since the last call; sets their counters to 0.

    Instructions at one place, as of an unrolled loop, are one.
    """
    found: dict[tuple[object, ...], RoundingSite] = {}
    for site in sites:
        if site.kind not in ("rounding", "restart"):
            continue
        values = [int(value) for value in counters[site.first : site.first + COUNTERS[site.kind]]]
        counters[site.first : site.first + COUNTERS[site.kind]] = 0
        count, bits = (values[1], values[2]) if site.kind == "rounding" else (values[0], 0)
        key = (site.kind, site.lines, site.note)
        before = found.get(key)
        if before is not None:
            count, bits = count + before.count, max(bits, before.bits)
        place = site.lines[0] if site.lines else ()
        kind = "rounding" if site.kind == "rounding" else "restart"
        found[key] = RoundingSite(kind, place, count, bits, site.note)  # type: ignore[arg-type]
    return tuple(found.values())

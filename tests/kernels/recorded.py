"""The committed baselines with the inputs they were made of, for oracles that know nothing of how they were made.

An oracle is a function of a `Recorded` that asserts. It works in exact arithmetic or in float64 and compares within a
bound that follows from the kernel's arithmetic, so the baselines are known to be right, not only to stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpuregress.foundation.records import Case
from gpuregress.gpu.records import replace
from gpuregress.jobs import inputs, plan
from gpuregress.store import baselines, project
from gpuregress.store.dumps import reader

ROOT = Path(__file__).parents[2]
Array = npt.NDArray[Any]
HALF_ULP_32 = 2.0**-24  # the unit roundoff of float32
HALF_ULP_64 = 2.0**-53


@dataclass(frozen=True)
class Recorded:
    """One case: its numbers, the filled buffers before the first launch, and what the baseline says came out."""

    case: Case
    inputs: dict[str, Array]
    outputs: dict[str, Array]

    def number(self, parameter: str) -> int:
        return int(self.case.parameters[parameter])


@lru_cache(maxsize=64)
def cases_of(job: str) -> dict[str, Case]:
    """Case name → case, of one job of this repository."""
    planned = plan.make(project.find(ROOT), [str(ROOT / "configs" / f"{job}.yaml")])
    return {case.name: case for case in planned.cases}


def recorded(case: Case) -> Recorded:
    """Reads a case's baseline and fills its inputs anew."""
    baseline = baselines.BaselineStore(ROOT / "baselines").load(case.name)
    assert baseline is not None, f"{case.name} has no baseline: gpuregress run, then gpuregress accept"
    filled = {name: inputs.fill(buffer) for name, buffer in case.buffers.items() if buffer.fill is not None}
    outputs = {name: reader.read(Path(dump.path)).array for name, dump in baseline.dumps.items()}
    assert set(outputs) == set(case.dump)
    return Recorded(case, filled, outputs)


def each_case(job: str) -> pytest.MarkDecorator:
    """Runs a test of the argument `name` for every case of a job."""
    return pytest.mark.parametrize("name", list(cases_of(job)))


def load(name: str) -> Recorded:
    """The recorded case of this name."""
    return recorded(cases_of(name.partition("/")[0])[name])


def assert_sees_changes(check: Callable[[Recorded], None], right: Recorded) -> None:
    """Asserts that the oracle refuses every output with one element changed."""
    for buffer, spoilt in _spoilt(right):
        try:
            check(spoilt)
        except AssertionError:
            continue
        pytest.fail(f"the oracle takes a {buffer} with a wrong element for right")


def _spoilt(right: Recorded) -> Iterator[tuple[str, Recorded]]:
    for name, array in right.outputs.items():
        for index in {0, array.size // 2, array.size - 1}:
            copy = array.copy()
            _change(copy.reshape(-1)[index : index + 1])
            yield name, replace(right, outputs={**right.outputs, name: copy})


def _change(element: Array) -> None:
    """Changes an array of one element in place: integers by one, floats by a hundredth and more."""
    if element.dtype.names:
        _change(element[element.dtype.names[0]])
    elif element.dtype.kind == "f":
        element *= 1.01
        element += 0.01
    else:
        element += np.ones(1, element.dtype)

"""The same steps in float64. The bound follows the errors of force, velocity and place through the steps."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.recorded import HALF_ULP_32, Array, Recorded, assert_sees_changes, each_case, load

DT = float(np.float32(0.001))
SOFTENING = float(np.float32(0.01))
STEPS = 10


def check(run: Recorded) -> None:
    first = np.stack([run.inputs["positions"][part] for part in "xyzw"], axis=1).astype(np.float64)
    position, mass = first[:, :3].copy(), first[:, 3]
    velocity = np.zeros_like(position)
    place_error = velocity_error = 0.0
    for _ in range(STEPS):
        way = position[np.newaxis] - position[:, np.newaxis]
        squared = (way**2).sum(axis=2) + SOFTENING
        weight = mass * squared**-1.5
        pull = (way * weight[:, :, np.newaxis]).sum(axis=1)
        size = (np.abs(way) * weight[:, :, np.newaxis]).sum(axis=1).max()
        # A sum of `bodies` terms; each term has three factors of rsqrt (2 ulp) and ten roundings more.
        force_error = (len(mass) + 22) * HALF_ULP_32 * size
        # The pull's slope in the place is at most 4 weight: |d/dx (x w)| <= w + 3 x^2 w / squared.
        force_error += 2 * place_error * 4 * weight.sum(axis=1).max()
        velocity += DT * pull
        velocity_error += DT * force_error + HALF_ULP_32 * np.abs(velocity).max()
        position += DT * velocity
        place_error += DT * velocity_error + HALF_ULP_32 * np.abs(position).max()
    assert _is_near(run.outputs["positions"], position, place_error)
    assert _is_near(run.outputs["velocities"], velocity, velocity_error)
    assert np.array_equal(run.outputs["positions"]["w"], run.inputs["positions"]["w"])


def _is_near(vectors: Array, exact: Array, bound: float) -> bool:
    return all(bool(np.all(np.abs(vectors[part] - exact[:, k]) <= bound)) for k, part in enumerate("xyz"))


@each_case("nbody")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@pytest.mark.slow
@each_case("nbody")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))

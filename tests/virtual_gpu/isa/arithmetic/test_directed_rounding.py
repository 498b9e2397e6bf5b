from __future__ import annotations

import math

import numpy as np
import pytest

from tests.virtual_gpu.isa.harness import run


def _bits(value: float) -> int:
    return int(np.float64(value).view(np.uint64))


@pytest.mark.parametrize(
    ("word", "expected"),
    [("rn", 1.0), ("rz", 1.0), ("rm", 1.0), ("rp", math.nextafter(1.0, 2.0))],
)
def test_a_sum_is_rounded_in_the_direction_of_the_modifier(word: str, expected: float) -> None:
    arrays = [np.array([_bits(value)], np.uint64) for value in (1.0, 2.0**-60)]
    (result,) = run(f"add.{word}.f64 %d, %a, %b", {"%a": "f64", "%b": "f64"}, {"%d": "f64"}, arrays)
    assert hex(result[0]) == hex(_bits(expected))


def test_the_rounding_mode_is_restored_after_an_operation() -> None:
    text = "add.rp.f64 %d, %a, %b\nadd.rn.f64 %e, %a, %b"
    arrays = [np.array([_bits(value)], np.uint64) for value in (1.0, 2.0**-60)]
    up, nearest = run(text, {"%a": "f64", "%b": "f64"}, {"%d": "f64", "%e": "f64"}, arrays)
    assert (int(up[0]), int(nearest[0])) == (_bits(math.nextafter(1.0, 2.0)), _bits(1.0))


@pytest.mark.parametrize(("word", "expected"), [("rm", -0.0), ("rp", 0.0)])
def test_an_exact_zero_has_the_sign_of_the_direction(word: str, expected: float) -> None:
    arrays = [np.array([_bits(value)], np.uint64) for value in (1.5, -1.5)]
    (result,) = run(f"add.{word}.f64 %d, %a, %b", {"%a": "f64", "%b": "f64"}, {"%d": "f64"}, arrays)
    assert hex(result[0]) == hex(_bits(expected))

"""Asymptotic p-value of the two-sample Kolmogorov-Smirnov test."""

from __future__ import annotations

import math


def p_value(distance: float, expected: int, actual: int) -> float:
    """The asymptotic probability of a distance at least this large between samples of one distribution.

    Args:
        distance: between the empirical distribution functions.
        expected: numbers in one sample.
        actual: numbers in the other.
    """
    effective = math.sqrt(expected * actual / (expected + actual))
    scaled = (effective + 0.12 + 0.11 / effective) * distance
    if scaled < 0.2:
        return 1.0  # 1 - 1e-12, where the series converges slowly
    terms = [(-1.0) ** (k - 1) * math.exp(-2 * (k * scaled) ** 2) for k in range(1, 101)]
    return min(1.0, max(0.0, 2 * math.fsum(terms)))

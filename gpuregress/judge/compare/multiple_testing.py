"""Correction of statistical limits for the number of tests.

The user's limit then holds for all of them together.

Bonferroni's correction: each of m tests at the level alpha/m keeps the probability of any false alarm at or below
alpha, however the tests depend on each other (O. J. Dunn, Multiple Comparisons among Means, Journal of the American
Statistical Association 56, 1961). A limit of s standard errors stands for the level alpha = erfc(s / sqrt 2), both
tails of the normal distribution.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from gpuregress.foundation.records import Rule, Sigmas
from gpuregress.gpu.records import replace

_SMALLEST_LEVEL = 1e-290
_STEPS = 1000
"""Limits are rounded up to a thousandth, so that a report shows them as they are."""


def corrected(rule: Rule, tests: int) -> Rule:
    """Return a rule with the limits of one of several tests.

    Args:
        rule: with `statistics`, whose limits hold for all tests of a statistic together.
        tests: the number of tests of each statistic.
    """
    limits = rule.statistics
    if tests < 2 or not limits.given:
        return rule
    return replace(
        rule,
        statistics=replace(
            limits,
            mean=None if limits.mean is None else Sigmas(sigmas(limits.mean.sigmas, tests)),
            variance=None if limits.variance is None else Sigmas(sigmas(limits.variance.sigmas, tests)),
            ks=None if limits.ks is None else limits.ks / tests,
        ),
    )


def sigmas(limit: float, tests: int) -> float:
    """The limit of one test, in standard errors.

    Args:
        limit: of all tests together.
        tests: their number.
    """
    level = math.erfc(limit / math.sqrt(2)) / tests
    if level < _SMALLEST_LEVEL:  # exp(-s^2 / 2) decides: the tail's other factor hardly changes
        return _rounded_up(math.sqrt(limit**2 + 2 * math.log(tests)))
    return _rounded_up(-NormalDist().inv_cdf(level / 2))


def _rounded_up(limit: float) -> float:
    return math.ceil(limit * _STEPS) / _STEPS

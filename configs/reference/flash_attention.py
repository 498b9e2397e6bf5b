"""The gold standard of configs/flash_attention.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from gpuregress import Case

    Array = npt.NDArray[Any]


def _scores(inputs: Mapping[str, Array], case: Case) -> Array:
    """The scaled scores of each head, as exponents of 2."""
    q, k = (inputs[name].astype(np.float64) for name in "qk")
    scores: Array = q @ k.transpose(0, 2, 1) / 8 * np.log2(np.e)
    if case.parameters["causal"]:
        scores[:, np.triu(np.ones(scores.shape[1:], bool), 1)] = -np.inf
    return scores


def attention(inputs: Mapping[str, Array], case: Case) -> Array:
    """Weighted means of the values, in float64."""
    weights = np.exp2(_scores(inputs, case))
    result: Array = weights @ inputs["v"].astype(np.float64) / weights.sum(2, keepdims=True)
    return result


def sums(inputs: Mapping[str, Array], case: Case) -> Array:
    """The log2 of each query's sum of weights."""
    result: Array = np.log2(np.exp2(_scores(inputs, case)).sum(2))
    return result

"""The gold standards of the jobs of this folder, in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from gpuregress import Case

    Array = npt.NDArray[Any]


def vector_add(inputs: Mapping[str, Array], case: Case) -> Array:
    """The sums in float32: one rounding, which is the kernel's."""
    del case
    total: Array = inputs["a"] + inputs["b"]
    return total


def softmax(inputs: Mapping[str, Array], case: Case) -> Array:
    """exp(x - max) / sum of each row."""
    del case
    return _softmax(inputs["x"].astype(np.float64))


def _softmax(values: Array) -> Array:
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    result: Array = powers / powers.sum(axis=-1, keepdims=True)
    return result


def layer_norm_mean(inputs: Mapping[str, Array], case: Case) -> Array:
    """The mean of each row."""
    del case
    mean: Array = inputs["x"].astype(np.float64).mean(axis=1)
    return mean


def layer_norm_rstd(inputs: Mapping[str, Array], case: Case) -> Array:
    """1 / the standard deviation of each row."""
    del case
    result: Array = 1 / np.sqrt(inputs["x"].astype(np.float64).var(axis=1) + 1e-5)
    return result


def layer_norm(inputs: Mapping[str, Array], case: Case) -> Array:
    """The normalised rows, scaled and shifted."""
    mean, rstd = layer_norm_mean(inputs, case)[:, None], layer_norm_rstd(inputs, case)[:, None]
    result: Array = (inputs["x"].astype(np.float64) - mean) * rstd * inputs["weight"] + inputs["bias"]
    return result


def matmul(inputs: Mapping[str, Array], case: Case) -> Array:
    """The product of two matrices."""
    del case
    product: Array = inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64)
    return product


def matmul_e4m3(inputs: Mapping[str, Array], case: Case) -> Array:
    """The product of two matrices of 8-bit floats."""
    del case
    product: Array = _e4m3(inputs["a"]) @ _e4m3(inputs["b"])
    return product


def _e4m3(data: Array) -> Array:
    """Decode 8-bit floats: sign, 4 bits of exponent with bias 7, 3 bits of fraction."""
    exponent, fraction = (data >> 3 & 15).astype(np.int64), (data & 7).astype(np.float64)
    normal = (1 + fraction / 8) * 2.0 ** (exponent - 7)
    value = np.where(exponent == 0, fraction / 8 * 2.0**-6, normal)
    value = np.where(data & 0x7F == 0x7F, np.nan, value)
    result: Array = np.where(data & 0x80, -value, value)
    return result


def attention(inputs: Mapping[str, Array], case: Case) -> Array:
    """softmax(Q K^T / sqrt(32)) V of each head; with `causal`, a row sees the columns up to its own."""
    q, k, v = (inputs[name].astype(np.float64) for name in "qkv")
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    if case.parameters["causal"]:
        length = q.shape[1]
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    result: Array = _softmax(scores) @ v
    return result

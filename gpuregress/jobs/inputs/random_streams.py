"""Random number streams that are equal to the bit on every host: no libm, no numpy distribution.

Words: Philox4x64-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11) with the seed as key and the
counter from 0, as `numpy.random.Philox(key=seed).random_raw`. Everything after that is integer arithmetic or the IEEE
operations + - * / and sqrt on float64, which round the same everywhere.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpuregress.jobs.inputs.fill_check import PARK_MILLER_MODULUS

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

PARK_MILLER_FACTOR = 16807
_BLOCK = 1 << 15  # values worked on at a time, so that they stay in the cache


def words(seed: int, count: int) -> Words:
    """The first `count` words of the seed's stream."""
    return np.asarray(np.random.Philox(key=seed).random_raw(count), np.uint64)


def uniform(seed: int, count: int, low: float, high: float) -> Floats:
    """Low + u (high - low), u = (word >> 11) / 2^53."""
    steps = (words(seed, count) >> np.uint64(11)).astype(np.float64)
    return low + steps * 2.0**-53 * (high - low)


def integers(seed: int, count: int, low: int, high: int) -> npt.NDArray[np.int64] | Words:
    """Uniform integers in low … high - 1, by rejection: the words' top bits, without those that are too large.

    Args:
        seed: of the stream.
        count: how many.
        low: from -2^63.
        high: up to 2^64.
    """
    span = high - low
    bits = (span - 1).bit_length()
    drawn = _rejected(seed, count, span, bits) if bits else np.zeros(count, np.uint64)
    if low >= 0:
        return drawn + np.uint64(low) if high > 2**63 else (drawn + np.uint64(low)).astype(np.int64)
    # Two's complement: adding modulo 2^64 and reading as signed gives low + drawn.
    with np.errstate(over="ignore"):
        return (drawn + np.uint64(low % 2**64)).view(np.int64)


def _rejected(seed: int, count: int, span: int, bits: int) -> Words:
    source = np.random.Philox(key=seed)
    shift = np.uint64(64 - bits)
    if span == 1 << bits:
        return np.asarray(source.random_raw(count), np.uint64) >> shift
    kept: list[Words] = []
    missing = count
    while missing > 0:
        # What is drawn too much is dropped at the end, so the size of a draw does not change the stream.
        values = np.asarray(source.random_raw(missing + missing // 2 + 16), np.uint64) >> shift
        kept.append(values[values < np.uint64(span)][:missing])
        missing -= kept[-1].size
    return np.concatenate(kept) if kept else np.zeros(0, np.uint64)


def permutation(seed: int, count: int) -> npt.NDArray[np.int64]:
    """0 … count - 1 in the order of their words; equal words keep their order."""
    return np.argsort(words(seed, count), kind="stable").astype(np.int64)


def park_miller(start: int, count: int) -> npt.NDArray[np.int64]:
    """x_1 … x_count of x_{k+1} = 16807 x_k mod 2^31-1, x_0 = start.

    Source: Park and Miller, "Random number generators: good ones are hard to find", CACM 31(10), 1988; from 1 the
    10,000th number is 1043618065. Made by jumping ahead: x_{k+j} = 16807^j x_k, doubling what is known.
    """
    result = np.empty(count, np.int64)
    if count == 0:
        return result
    result[0] = start * PARK_MILLER_FACTOR % PARK_MILLER_MODULUS
    known = 1
    while known < count:
        jump = pow(PARK_MILLER_FACTOR, known, PARK_MILLER_MODULUS)
        more = min(known, count - known)
        # Both factors are below 2^31, so the product fits 63 bits.
        result[known : known + more] = result[:more] * np.int64(jump) % np.int64(PARK_MILLER_MODULUS)
        known += more
    return result


# --- the normal distribution ------------------------------------------------------------------------------------------
# Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37(3), 1988, PPND16:
# rational functions of degree 7, relative accuracy about 1e-16. Highest power first.
_A = (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
      13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.3871328727963666080)  # fmt: skip
_B = (5226.4952788528545610, 28729.085735721942674, 39307.895800092710610, 21213.794301586595867,
      5394.1960214247511077, 687.18700749205790830, 42.313330701600911252, 1.0)  # fmt: skip
_C = (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258,
      3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590, 1.42343711074968357734)  # fmt: skip
_D = (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
      6.89767334985100004550e-1, 1.67638483018380384940, 2.05319162663775882187, 1.0)  # fmt: skip
_E = (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
      2.96560571828504891230e-1, 1.78482653991729133580, 5.46378491116411436990, 6.65790464350110377720)  # fmt: skip
_F = (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
      1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0)  # fmt: skip
_LN2 = 0.6931471805599453
_SQRT_HALF = 0.7071067811865476


def normal(seed: int, count: int, mean: float, std: float) -> Floats:
    """Mean + std Φ⁻¹(u), u = ((word >> 12) + 1/2) / 2^52, Φ⁻¹ by Wichura's AS 241."""
    result = np.empty(count)
    source = np.random.Philox(key=seed)
    for start in range(0, count, _BLOCK):
        drawn = np.asarray(source.random_raw(min(_BLOCK, count - start)), np.uint64)
        points = (drawn >> np.uint64(12)).astype(np.float64)
        result[start : start + points.size] = quantile((points + 0.5) * 2.0**-52)
    return mean + std * result


def quantile(probability: Floats) -> Floats:
    """Φ⁻¹, the standard normal distribution's quantile.

    Args:
        probability: above 0 and below 1.
    """
    centred = probability - 0.5
    square = 0.180625 - centred * centred
    result = centred * (_polynomial(_A, square) / _polynomial(_B, square))
    tails = np.nonzero(np.abs(centred) > 0.425)[0]
    if tails.size:
        outer = probability[tails]
        result[tails] = np.copysign(_tail(np.minimum(outer, 1.0 - outer)), centred[tails])
    return result


def _tail(probability: Floats) -> Floats:
    root = np.sqrt(-_log(probability))
    near, far = root - 1.6, root - 5.0
    inner = _polynomial(_C, near) / _polynomial(_D, near)
    return np.where(root <= 5.0, inner, _polynomial(_E, far) / _polynomial(_F, far))


def _log(values: Floats) -> Floats:
    """The natural logarithm: e ln 2 + 2 atanh((m-1)/(m+1)) for x = m 2^e, √½ <= m < √2; the series to s^21."""
    mantissa, exponent = np.frexp(values)
    small = mantissa < _SQRT_HALF
    mantissa = np.where(small, mantissa * 2.0, mantissa)
    exponent = exponent - small
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    series = _polynomial(tuple(1.0 / power for power in range(21, 0, -2)), ratio * ratio)
    return exponent * _LN2 + 2.0 * ratio * series


def _polynomial(coefficients: tuple[float, ...], at: Floats) -> Floats:
    result = np.full_like(at, coefficients[0])
    for coefficient in coefficients[1:]:
        result *= at
        result += coefficient
    return result

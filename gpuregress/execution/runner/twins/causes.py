"""Causes of differences between device and host: contraction, fast mathematics, the library.

Each cause but the last is shown by a run: the function is compiled again without it, and the elements that then agree
are explained by it. The library is named where the function calls one of its functions and no run explains the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.records import TwinCause
from gpuregress.gpu.records import Record

Array = npt.NDArray[np.generic]
Mask = npt.NDArray[np.bool_]
Results = Mapping[str, Array]
_FAST = ("use_fast_math", "ftz=true", "prec-div=false", "prec-sqrt=false", "fmad=true", "extra-device-vectorization")


class CauseTrial(Record):
    """A run without one possible cause.

    Attributes:
        name: of the cause.
        message: what it shows, if elements then agree.
        device: run the function on the device with that change; None: the device's own results.
        host: the same on the host.
    """

    name: str
    message: str
    device: Callable[[], Results] | None = None
    host: Callable[[], Results] | None = None


def without_contraction(options: Sequence[str]) -> tuple[str, ...]:
    """Return compiler options under which the device fuses nothing."""
    return (*(option for option in options if "fmad" not in option), "--fmad=false")


def without_fast_math(options: Sequence[str]) -> tuple[str, ...]:
    """Return compiler options without fast mathematics."""
    return tuple(option for option in options if not any(word in option for word in _FAST))


def is_fast(options: Sequence[str]) -> bool:
    """Tell whether options ask for fast mathematics."""
    return without_fast_math(options) != tuple(options)


def differing(element: ElementType, one: Array, other: Array) -> Mask:
    """Return which elements have other values: other bits, but for a NaN beside a NaN.

    Args:
        element: the type of both.
        one: any shape.
        other: the same shape.
    """
    result = np.zeros(one.size, dtype=np.bool_)
    columns = zip(element.parts, element.columns(one.reshape(-1)), element.columns(other.reshape(-1)), strict=True)
    for part, left, right in columns:
        bits = f"<u{part.scalar.size}"
        canonical = (dtypes.canonical_nans(np.ascontiguousarray(column), part.scalar) for column in (left, right))
        first, second = (column.view(bits) for column in canonical)
        result |= first != second
    return result


def explain(
    elements: Mapping[str, ElementType],
    device: Results,
    host: Results,
    trials: Sequence[CauseTrial],
    library: Sequence[str],
) -> dict[str, tuple[TwinCause, ...]]:
    """Explain the differences of each buffer.

    Args:
        elements: buffer → its type.
        device: buffer → the device's results.
        host: buffer → the host's results.
        trials: in the order in which they are run, as long as something is unexplained.
        library: the library functions that the function calls.

    Returns:
        Buffer that differs → its causes.
    """
    unexplained = {name: differing(elements[name], device[name], host[name]) for name in elements}
    totals = {name: int(mask.sum()) for name, mask in unexplained.items()}
    causes: dict[str, list[TwinCause]] = {name: [] for name, total in totals.items() if total}
    for trial in trials:
        if not any(unexplained[name].any() for name in causes):
            break
        changed_device = trial.device() if trial.device else device
        changed_host = trial.host() if trial.host else host
        for name, found in causes.items():
            agrees = ~differing(elements[name], changed_device[name], changed_host[name]) & unexplained[name]
            if agrees.any():
                found.append(_cause(trial.name, trial.message, int(agrees.sum()), totals[name]))
                unexplained[name] &= ~agrees
    for name, found in causes.items():
        rest = int(unexplained[name].sum())
        if rest and library:
            calls = " and ".join(library)
            message = f"likely the library: it calls {calls}, which CUDA's library and the host's round differently"
            found.append(_cause("library", message, rest, totals[name]))
        elif rest:
            found.append(_cause("unexplained", "unexplained", rest, totals[name]))
    return {name: tuple(found) for name, found in causes.items()}


def _cause(name: str, message: str, elements: int, of: int) -> TwinCause:
    return TwinCause(name, f"{message} ({elements} of {of} differing elements)", elements, of)

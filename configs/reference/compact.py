"""The check of configs/compact.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

    from gpuregress import Case


def is_packed(kept: npt.NDArray[Any], case: Case) -> bool:  # noqa: ARG001 - a check's signature
    """Whether the records stand one behind the other from the first slot on; a score that is kept is not 0."""
    used = kept["score"] != 0
    return bool(used[: used.sum()].all())

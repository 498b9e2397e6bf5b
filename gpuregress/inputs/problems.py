"""What keeps a fill from going into its buffer: said while a run is planned, so nothing here loads numpy."""

from __future__ import annotations

import math

from gpuregress import dtypes
from gpuregress.dtypes import Scalar
from gpuregress.inputs.bounds import PARK_MILLER_MODULUS, bounds_problem
from gpuregress.records import Buffer, Fill


def fill_problem(buffer: Buffer) -> str | None:
    """Why a fill cannot go into this buffer, as far as no file needs to be read; None if nothing is in the way."""
    made = buffer.fill
    if made is None or made.kind == "python":
        return None
    element = dtypes.parse(buffer.dtype)
    if made.kind == "file":
        from gpuregress.inputs import files  # noqa: PLC0415 - loads numpy, for .npy

        return files.size_problem(buffer, element)
    if made.kind == "value" and len(made.options["values"]) not in (1, len(element.parts)):
        return f"value has {len(made.options['values'])} numbers and {element.name} has {len(element.parts)} parts"
    for at, part in enumerate(element.parts):
        problem = _part_problem(buffer, made, part.scalar, at)
        if problem:
            return f"{problem} (part {part.name})" if part.name else problem
    return None


def _part_problem(buffer: Buffer, made: Fill, scalar: Scalar, at: int) -> str | None:
    options = made.options
    if made.kind in ("uniform", "normal") and not scalar.is_float:
        return f"{made.kind} fills floats, and {scalar.name} is none: use {{integers: {{low: …, high: …}}}}"
    if made.kind == "park_miller" and not scalar.is_float and scalar.size < 4:
        return f"park_miller numbers go up to {PARK_MILLER_MODULUS - 1}, too large for {scalar.name}"
    total = math.prod(buffer.shape) * len(dtypes.parse(buffer.dtype).parts)
    if made.kind == "integers":
        return bounds_problem([int(options["low"]), int(options["high"]) - 1], scalar)
    if made.kind == "permutation":
        return bounds_problem([0, total - 1], scalar)
    if made.kind == "arange":
        start, step = options.get("start", 0), options.get("step", 1)
        return bounds_problem([start, step, start + step * (total - 1)], scalar)
    if made.kind in ("value", "choice"):
        values = options["values"]
        return bounds_problem([values[at]] if made.kind == "value" and len(values) > 1 else values, scalar)
    if made.kind in ("uniform", "normal"):
        return bounds_problem(list(options.values()), scalar)
    return None

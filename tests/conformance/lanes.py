"""Batches of forms compiled for arrays of operands, once for all tests of a session."""

from __future__ import annotations

from functools import cache

from tests.conformance.generate import Batch, batches
from tests.virtual_gpu.isa.harness import Lanes

BATCHES = {batch.name: batch for batch in batches()}


@cache
def compiled(name: str) -> Lanes:
    """Compile a batch's forms; LLVM vectorises the floating-point families only, which takes twice as long."""
    batch = BATCHES[name]
    programs = {kernel: (form.text, form.inputs, form.outputs) for kernel, form in batch.forms.items()}
    return Lanes(programs, vectorize=family_of(batch) in ("single", "double"))


def family_of(batch: Batch) -> str:
    return batch.name.rpartition("-")[0]

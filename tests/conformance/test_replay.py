"""Replay of the conformance forms: what an H200 stored, against the lowering and the CPU device.

The harness runs every form. The device runs every eighth here, several to a kernel, and all of them, a kernel each,
with `python -m tests.conformance.replay compare cpu tests/conformance/digests.json`.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest

from gpuregress.execution.device_registry import open_device
from gpuregress.foundation.errors import GpuregressError
from gpuregress.gpu.records import replace
from tests.conformance.catalog.form import Form
from tests.conformance.generate import Batch, machine_batches, module
from tests.conformance.lanes import BATCHES, compiled
from tests.conformance.replay import DIGESTS, OPEN, UNASKED, digest, execute, inputs, program, results_of
from tests.slow_cases import some_slow

_MACHINE = {batch.name: batch for batch in machine_batches()}


def _wrong(result: dict[str, str]) -> list[str]:
    recorded = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return [
        f"{name}: {value}, the card {recorded.get(name, 'was not asked')}"
        for name, value in result.items()
        if name not in OPEN and recorded.get(name) != value and (name in recorded or name not in UNASKED)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", BATCHES)
def test_every_form_gives_what_the_card_stored(name: str) -> None:
    forms = BATCHES[name].forms
    assert not _wrong({form.name: digest(compiled(name).run(kernel, *inputs(form))) for kernel, form in forms.items()})


def _merged(forms: list[Form]) -> Form:
    """Make one form of several, each with registers of its own, so that one kernel executes all of them."""
    merged = Form(" + ".join(form.name for form in forms), "", {}, {})
    text = []
    for number, form in enumerate(forms):
        text.append(re.sub(r"%(\w+)", rf"%\1_{number}", form.text))
        for mine, own in ((merged.inputs, form.inputs), (merged.outputs, form.outputs), (merged.scratch, form.scratch)):
            mine.update({f"{register}_{number}": kind for register, kind in own.items()})
    return replace(merged, text="\n".join(text))


@pytest.mark.parametrize("name", some_slow(BATCHES, [name for name in BATCHES if not name.endswith("-0")]))
def test_the_cpu_device_stores_what_the_card_stored(name: str) -> None:
    chosen = list(BATCHES[name].forms.values())[::8]
    groups = {f"k{start}": chosen[start : start + 7] for start in range(0, len(chosen), 7)}
    kernels = {kernel: _merged(forms) for kernel, forms in groups.items()}
    actual = {}
    with open_device("cpu") as device, tempfile.TemporaryDirectory() as folder:
        loaded = device.load(program(Batch(name, kernels, module(kernels)), Path(folder)))
        for kernel, forms in groups.items():
            operands = [inputs(form) for form in forms]
            lanes = max(len(arrays[0]) for arrays in operands)
            padded = [np.resize(array, lanes) for arrays in operands for array in arrays]
            results = iter(execute(device, loaded, kernel, kernels[kernel], padded))
            for form, arrays in zip(forms, operands, strict=True):
                actual[form.name] = digest([next(results)[: len(arrays[0])] for _ in form.outputs])
    assert len(actual) == len(chosen)
    assert not _wrong(actual)


SLOW = ("machine-atomic", "machine-cluster", "machine-matrix", "machine-warpgroup")


@pytest.mark.parametrize("name", some_slow(_MACHINE, SLOW))
def test_threads_meet_and_reach_memory_as_on_the_card(name: str) -> None:
    batch = _MACHINE[name]
    chosen = dict(list(batch.forms.items())[::6])
    part = replace(batch, forms=chosen, ptx=module(chosen))
    with open_device("cpu") as device:
        results = {form.name: result for form, _, result in results_of(device, part)}
    assert list(results) == [form.name for form in chosen.values()]
    assert not [f"{name}: {item}" for name, item in results.items() if isinstance(item, GpuregressError)]
    result = {name: digest(item) for name, item in results.items() if not isinstance(item, GpuregressError)}
    assert not _wrong(result)

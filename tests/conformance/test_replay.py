"""What an H200 stored, against what the lowering and the cpu device store: names the opcodes that are off.

The harness runs every form. The device, which compiles a whole kernel for each, runs every eighth here, and all of
them with `python -m tests.conformance.replay compare cpu tests/conformance/digests.json`.
"""

from __future__ import annotations

import dataclasses
import json

import pytest

from gpuregress.devices.registry import open_device
from gpuregress.errors import GpuregressError
from tests.conformance.generate import Batch, machine_batches, module
from tests.conformance.lanes import BATCHES, compiled
from tests.conformance.replay import DIGESTS, OPEN, UNASKED, digest, inputs, results_of

_MACHINE = {batch.name: batch for batch in machine_batches()}


def _wrong(found: dict[str, str]) -> list[str]:
    recorded = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return [
        f"{name}: {value}, the card {recorded.get(name, 'was not asked')}"
        for name, value in found.items()
        if name not in OPEN and recorded.get(name) != value and (name in recorded or name not in UNASKED)
    ]


@pytest.mark.parametrize("name", BATCHES)
def test_every_form_gives_what_the_card_stored(name: str) -> None:
    forms = BATCHES[name].forms
    assert not _wrong({form.name: digest(compiled(name).run(kernel, *inputs(form))) for kernel, form in forms.items()})


def test_the_cpu_device_stores_what_the_card_stored() -> None:
    found = {}
    with open_device("cpu") as device:
        for batch in BATCHES.values():
            chosen = dict(list(batch.forms.items())[::8])
            part = dataclasses.replace(batch, forms=chosen, ptx=module(chosen))
            for form, _, results in results_of(device, part):
                found[form.name] = str(results) if isinstance(results, GpuregressError) else digest(results)
    assert not _wrong(found)


@pytest.mark.parametrize("batch", _MACHINE.values(), ids=_MACHINE)
def test_threads_meet_and_reach_memory_as_on_the_card(batch: Batch) -> None:
    chosen = dict(list(batch.forms.items())[::6])
    part = dataclasses.replace(batch, forms=chosen, ptx=module(chosen))
    with open_device("cpu") as device:
        results = {form.name: found for form, _, found in results_of(device, part)}
    assert list(results) == [form.name for form in chosen.values()]
    assert not [f"{name}: {item}" for name, item in results.items() if isinstance(item, GpuregressError)]
    found = {name: digest(item) for name, item in results.items() if not isinstance(item, GpuregressError)}
    assert not _wrong(found)

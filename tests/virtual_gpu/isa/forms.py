"""Comparison of the catalogue's forms with the oracle, for the tests of one family each."""

from __future__ import annotations

from tests.conformance.catalog.form import Form
from tests.conformance.lanes import BATCHES, compiled, family_of
from tests.virtual_gpu.isa.harness import Lanes
from tests.virtual_gpu.isa.oracle import Oracle, mask
from tests.virtual_gpu.isa.samples import operands


def batches_of(*families: str) -> list[str]:
    """The batches of forms of some families."""
    return [name for name, batch in BATCHES.items() if family_of(batch) in families]


def mismatches(name: str) -> list[str]:
    """The results of a batch's forms that differ from the oracle's."""
    forms = enumerate(BATCHES[name].forms.items())
    return [line for seed, (kernel, form) in forms for line in _mismatches(compiled(name), kernel, form, seed)]


def _mismatches(lanes: Lanes, name: str, form: Form, seed: int) -> list[str]:
    arrays = operands(form, seed, count=90, random=30)
    results = lanes.run(name, *arrays)
    wrong = []
    for lane in range(len(arrays[0])):
        given = {register: int(array[lane]) for register, array in zip(form.inputs, arrays, strict=True)}
        registers = Oracle(given).run(form.text)
        for (register, kind), result in zip(form.outputs.items(), results, strict=True):
            expected = registers[register] & mask(kind)
            if int(result[lane]) != expected:
                shown = ", ".join(f"{key}={value:#x}" for key, value in given.items())
                wrong.append(f"{form.name}: {shown}: {register} = {int(result[lane]):#x}, should be {expected:#x}")
    return wrong[:3]

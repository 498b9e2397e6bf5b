"""Every catalogued form against the oracle."""

from __future__ import annotations

import pytest

from tests.conformance.catalog.form import Form
from tests.conformance.lanes import BATCHES, compiled, family_of
from tests.devices.cpu.isa.harness import Lanes
from tests.devices.cpu.isa.oracle import Oracle, mask
from tests.devices.cpu.isa.samples import operands

# test_approx.py tests the special-function unit: its tables have no oracle but the rules.
_NAMES = [name for name, batch in BATCHES.items() if family_of(batch) != "approximate"]


@pytest.mark.parametrize("name", _NAMES)
def test_a_form_gives_what_the_oracle_says(name: str) -> None:
    failures = [
        line
        for place, (kernel, form) in enumerate(BATCHES[name].forms.items())
        for line in _mismatches(compiled(name), kernel, form, place)
    ]
    assert not failures, "\n".join(failures)


def _mismatches(lanes: Lanes, name: str, form: Form, seed: int) -> list[str]:
    arrays = operands(form, seed, count=90, random=30)
    results = lanes.run(name, *arrays)
    wrong = []
    for place in range(len(arrays[0])):
        given = {register: int(array[place]) for register, array in zip(form.inputs, arrays, strict=True)}
        registers = Oracle(given).run(form.text)
        for (register, kind), result in zip(form.outputs.items(), results, strict=True):
            expected = registers[register] & mask(kind)
            if int(result[place]) != expected:
                shown = ", ".join(f"{key}={value:#x}" for key, value in given.items())
                wrong.append(f"{form.name}: {shown}: {register} = {int(result[place]):#x}, should be {expected:#x}")
    return wrong[:3]

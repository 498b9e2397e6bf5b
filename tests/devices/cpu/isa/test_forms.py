"""Every catalogued form against the oracle."""

from __future__ import annotations

import pytest

from tests.conformance.catalog.computing import FAMILIES, forms
from tests.conformance.catalog.form import Form
from tests.devices.cpu.isa.harness import Lanes
from tests.devices.cpu.isa.oracle import Oracle, mask
from tests.devices.cpu.isa.samples import operands

_BATCH = 64
_BATCHES = [
    (family, start)
    for family in FAMILIES
    if family != "approximate"  # test_approx.py: the unit's tables have no oracle but the rules
    for start in range(0, len(forms(family)), _BATCH)
]


@pytest.mark.parametrize(("family", "start"), _BATCHES)
def test_a_form_gives_what_the_oracle_says(family: str, start: int) -> None:
    chosen = forms(family)[start : start + _BATCH]
    lanes = Lanes(
        {f"f{place}": (form.text, form.inputs, form.outputs) for place, form in enumerate(chosen)},
        vectorize=family in ("single", "double"),
    )
    failures = [
        line for place, form in enumerate(chosen) for line in _mismatches(lanes, f"f{place}", form, start + place)
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

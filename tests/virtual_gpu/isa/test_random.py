"""Random operands, and those near an edge, for the forms in which rounding, saturation and NaNs meet."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.virtual_gpu.ptx.modifiers import BITS
from tests.conformance.lanes import BATCHES, compiled, family_of
from tests.virtual_gpu.isa.oracle import Oracle, mask
from tests.virtual_gpu.isa.samples import edges

_CHOSEN = [
    (name, kernel, form)
    for name, batch in BATCHES.items()
    if family_of(batch) != "approximate"
    for kernel, form in list(batch.forms.items())[::9]
]


def _bits(kind: str) -> st.SearchStrategy[int]:
    top = (1 << BITS[kind]) - 1
    near = st.builds(lambda edge, step: (edge + step) & top, st.sampled_from(edges(kind)), st.integers(-2, 2))
    return st.one_of(st.integers(0, top), near, st.sampled_from(edges(kind)))


@settings(max_examples=200)
@given(st.data())
def test_any_operands_give_what_the_oracle_says(data: st.DataObject) -> None:
    name, kernel, form = _CHOSEN[data.draw(st.integers(0, len(_CHOSEN) - 1))]
    values = {register: data.draw(_bits(kind), register) for register, kind in form.inputs.items()}
    results = compiled(name).run(kernel, *(np.array([value], np.uint64) for value in values.values()))
    registers = Oracle(values).run(form.text)
    actual = {register: int(result[0]) for register, result in zip(form.outputs, results, strict=True)}
    assert actual == {register: registers[register] & mask(kind) for register, kind in form.outputs.items()}, form.name

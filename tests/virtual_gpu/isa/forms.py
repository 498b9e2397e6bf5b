"""Comparison of the catalogue's forms with the oracle, for the tests of one family each."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from gpuregress.virtual_gpu.ptx.modifiers import BITS
from tests.conformance.catalog.form import Form
from tests.conformance.lanes import BATCHES, compiled, family_of
from tests.virtual_gpu.isa.harness import Lanes
from tests.virtual_gpu.isa.oracle import Oracle, mask
from tests.virtual_gpu.isa.samples import edges, operands


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


def check_drawn_operands(name: str, data: st.DataObject) -> None:
    """Compare one form of a batch with the oracle, for operands that Hypothesis draws: any, and those near an edge.

    It runs beside `mismatches` of the same batch, in the same process, which then compiles the batch once.
    """
    batch = BATCHES[name]
    kernel = data.draw(st.sampled_from(list(batch.forms)), "form")
    form = batch.forms[kernel]
    values = {register: data.draw(_bits(kind), register) for register, kind in form.inputs.items()}
    results = compiled(name).run(kernel, *(np.array([value], np.uint64) for value in values.values()))
    registers = Oracle(values).run(form.text)
    actual = {register: int(result[0]) for register, result in zip(form.outputs, results, strict=True)}
    assert actual == {register: registers[register] & mask(kind) for register, kind in form.outputs.items()}, form.name


def _bits(kind: str) -> st.SearchStrategy[int]:
    top = (1 << BITS[kind]) - 1
    near = st.builds(lambda edge, step: (edge + step) & top, st.sampled_from(edges(kind)), st.integers(-2, 2))
    return st.one_of(st.integers(0, top), near, st.sampled_from(edges(kind)))

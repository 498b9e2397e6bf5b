"""Random operands, and those near an edge, for the forms in which rounding, saturation and NaNs meet."""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.devices.cpu.builder.scalar import width
from tests.conformance.catalog.computing import FAMILIES, forms
from tests.conformance.catalog.form import Form
from tests.devices.cpu.isa.harness import Lanes
from tests.devices.cpu.isa.oracle import Oracle, mask
from tests.devices.cpu.isa.samples import edges


@cache
def _chosen() -> tuple[Form, ...]:
    """Every ninth form of each family."""
    return tuple(form for family in FAMILIES if family != "approximate" for form in forms(family)[::9])


@cache
def _lanes() -> Lanes:
    return Lanes({f"f{i}": (form.text, form.inputs, form.outputs) for i, form in enumerate(_chosen())}, vectorize=False)


def _bits(kind: str) -> st.SearchStrategy[int]:
    top = (1 << width(kind)) - 1
    near = st.builds(lambda edge, step: (edge + step) & top, st.sampled_from(edges(kind)), st.integers(-2, 2))
    return st.one_of(st.integers(0, top), near, st.sampled_from(edges(kind)))


@settings(max_examples=1000)
@given(st.data())
def test_any_operands_give_what_the_oracle_says(data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(_chosen()) - 1))
    form = _chosen()[place]
    values = {register: data.draw(_bits(kind), register) for register, kind in form.inputs.items()}
    results = _lanes().run(f"f{place}", *(np.array([value], np.uint64) for value in values.values()))
    expected = Oracle(values).run(form.text)
    found = {register: int(result[0]) for register, result in zip(form.outputs, results, strict=True)}
    assert found == {register: expected[register] & mask(kind) for register, kind in form.outputs.items()}, form.name

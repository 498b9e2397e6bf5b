"""The generated kernels: every form is there once, parses, and is lowered by a family that knows it."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.ptx.opcode_table import OPCODES
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Instruction
from tests.conformance.catalog import machine
from tests.conformance.catalog.computing import FAMILIES, forms
from tests.conformance.generate import Batch, batches, machine_batches
from tests.conformance.replay import inputs

_BATCHES = {batch.name: batch for batch in (*batches(), *machine_batches())}


def test_there_are_over_a_thousand_forms_each_named_once() -> None:
    names = [form.name for family in FAMILIES for form in forms(family)]
    assert len(names) == len(set(names)) > 1000


def test_machine_forms_are_named_once_and_by_nothing_else() -> None:
    computing = {form.name for family in FAMILIES for form in forms(family)}
    names = [form.name for family in machine.FAMILIES for form in machine.forms(family)]
    assert len(names) == len(set(names)) > 250
    assert not computing & set(names)


def test_every_opcode_of_the_table_has_a_form() -> None:
    opcodes = {line.split(".")[0] for family in FAMILIES for form in forms(family) for line in form.text.splitlines()}
    families = {opcode: row.family for opcode, rows in OPCODES.items() for row in rows.values()}
    assert opcodes == {opcode for opcode, family in families.items() if family.startswith("arithmetic.")}


@pytest.mark.slow
@pytest.mark.parametrize("batch", _BATCHES.values(), ids=_BATCHES)
def test_a_batch_parses_into_its_kernels(batch: Batch) -> None:
    module = parse(batch.ptx)
    assert [function.name for function in module.functions] == list(batch.forms)
    for function, form in zip(module.functions, batch.forms.values(), strict=True):
        written = [line.split()[0] for line in form.text.splitlines()]
        body = function.body or ()
        actual = [statement.mnemonic for statement in body if isinstance(statement, Instruction)]
        assert any(actual[index : index + len(written)] == written for index in range(len(actual)))


def test_operands_are_the_same_every_time_and_differ_from_form_to_form() -> None:
    first, second = forms("single")[:2]
    assert all((a == b).all() for a, b in zip(inputs(first), inputs(first), strict=True))
    assert any((a != b).any() for a, b in zip(inputs(first), inputs(second), strict=True))

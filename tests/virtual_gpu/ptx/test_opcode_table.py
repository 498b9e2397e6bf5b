from __future__ import annotations

from collections import Counter

import pytest

from gpuregress.virtual_gpu.ptx import opcode_table
from gpuregress.virtual_gpu.ptx.opcode_table import UNKNOWN, Control, Exchange, MemoryEffect, ResultKind, Wait, info
from gpuregress.virtual_gpu.ptx.tree import Instruction


def _info(mnemonic: str) -> opcode_table.OpcodeInfo:
    opcode, *modifiers = mnemonic.split(".")
    return info(Instruction(opcode, tuple(modifiers), ()))


def test_no_form_has_two_rows() -> None:
    names = Counter(name for names in opcode_table.ROWS for name in names.split())
    assert [name for name, count in names.items() if count > 1] == []


def test_the_row_that_names_most_modifiers_holds() -> None:
    assert _info("bar.sync").result is ResultKind.NONE
    assert _info("barrier.cta.red.popc.aligned.u32").result is ResultKind.UNIFORM
    assert _info("bar.warp.sync").wait is Wait.MASK
    assert _info("barrier.cluster.wait.acquire").wait is Wait.CLUSTER
    assert _info("barrier.cluster.arrive.release").wait is Wait.NONE
    assert not _info("fence.acq_rel.cta").crosses_blocks
    assert _info("fence.acq_rel.gpu").crosses_blocks


def test_nothing_is_concluded_of_an_opcode_without_a_row() -> None:
    assert _info("fresh.u32") is UNKNOWN
    assert UNKNOWN.memory is MemoryEffect.UPDATE
    assert UNKNOWN.crosses_blocks
    assert UNKNOWN.result is ResultKind.VARYING


@pytest.mark.parametrize("names", opcode_table.ROWS)
def test_the_properties_of_a_row_fit_each_other(names: str) -> None:
    row = opcode_table.ROWS[names]
    assert not (row.result is ResultKind.PURE and row.memory is not MemoryEffect.NONE)
    assert not (row.is_cheap and row.result is not ResultKind.PURE)
    assert not (row.control is not Control.NEXT and row.result is not ResultKind.NONE)
    assert row.exchange is Exchange.NONE or row.wait in {Wait.MASK, Wait.WARP}
    assert row.pointer_operands is None or row.result is not ResultKind.NONE
    assert not (row.space and row.memory is MemoryEffect.NONE)

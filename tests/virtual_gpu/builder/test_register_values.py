from __future__ import annotations

import pytest
from llvmlite import ir

from gpuregress.virtual_gpu.builder.register_values import RegisterValues

I32 = ir.IntType(32)
ONE, TWO = I32(1), I32(2)


@pytest.fixture
def blocks() -> tuple[ir.Block, ir.Block, ir.Block]:
    """The first, a middle and the last block of a statement."""
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), ()), "f")
    return (function.append_basic_block(), function.append_basic_block(), function.append_basic_block())


@pytest.fixture
def values() -> RegisterValues:
    return RegisterValues(frozenset(["local"]), frozenset(["local", "kept"]))


Blocks = tuple[ir.Block, ir.Block, ir.Block]


@pytest.mark.parametrize("name", ["local", "kept"])
def test_a_value_of_the_first_or_the_last_block_is_known_to_the_next_statement(
    values: RegisterValues, blocks: Blocks, name: str
) -> None:
    first, _, last = blocks
    for block in (first, last):
        values.begin(first)
        values.set(name, ONE, block)
        assert values.end(last) == {}
        assert values.get(name, last) is ONE


def test_a_value_of_a_middle_block_is_lost_and_a_local_one_must_be_stored(
    values: RegisterValues, blocks: Blocks
) -> None:
    first, middle, last = blocks
    values.begin(first)
    for name in ("local", "kept"):
        values.set(name, ONE, middle)
        assert values.get(name, middle) is ONE
        assert values.get(name, last) is None
    lost = values.end(last)
    assert [(name, known.value, known.block) for name, known in lost.items()] == [("local", ONE, middle)]
    assert values.get("local", last) is values.get("kept", last) is None


def test_a_local_value_that_is_used_elsewhere_is_stored_once(values: RegisterValues, blocks: Blocks) -> None:
    first, middle, last = blocks
    values.begin(first)
    values.set("local", ONE, middle)
    taken = values.take("local")
    assert taken is not None
    assert taken.value is ONE
    assert values.end(last) == {}


def test_what_a_guarded_statement_computes_or_loads_is_not_known_behind_it(
    values: RegisterValues, blocks: Blocks
) -> None:
    first, body, after = blocks
    values.begin(first)
    values.set("kept", ONE, first)
    values.begin(body, guarded=True)
    assert values.get("kept", body) is ONE
    values.set("kept", TWO, body)
    assert values.end(after) == {}
    assert values.get("kept", after) is None
    values.begin(body, guarded=True)
    values.loaded("kept", TWO, body)
    assert values.get("kept", body) is None


def test_loads_are_kept_in_the_first_block_only(values: RegisterValues, blocks: Blocks) -> None:
    first, middle, _ = blocks
    values.begin(first)
    values.loaded("kept", ONE, middle)
    assert values.get("kept", middle) is None
    values.loaded("kept", ONE, first)
    assert values.get("kept", middle) is ONE


def test_temporaries_are_never_forwarded(values: RegisterValues, blocks: Blocks) -> None:
    values.begin(blocks[0])
    values.set("temporary", ONE, blocks[0])
    values.loaded("temporary", ONE, blocks[0])
    assert values.get("temporary", blocks[0]) is None


def test_nothing_is_known_after_control_came_from_elsewhere(values: RegisterValues, blocks: Blocks) -> None:
    first, other, _ = blocks
    values.begin(first)
    values.set("kept", ONE, first)
    before = values.copy()
    values.clear(other)
    assert values.get("kept", other) is None
    values.restore(before, first)
    assert values.get("kept", first) is ONE

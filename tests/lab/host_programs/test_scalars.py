from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.jobs.spec import expressions
from gpuregress.lab.host_programs import scalars
from gpuregress.lab.host_programs.scalars import HostScalar, binary, constant, named

N = named("n", 1000, "")
BLOCK = named("block", 256, "")


def shown(value: HostScalar) -> str:
    return scalars.text(value, lambda leaf: leaf.name)


def test_divisions_that_round_up_become_ceil() -> None:
    one = constant(1)
    rounded = [
        binary("/", binary("-", binary("+", N, BLOCK), one), BLOCK),
        binary("/", binary("+", N, binary("-", BLOCK, one)), BLOCK),
        binary("/", binary("+", N, constant(255)), constant(256)),
    ]
    assert [shown(one) for one in rounded] == ["ceil(n / block)", "ceil(n / block)", "ceil(n / 256)"]
    assert {one.number for one in rounded} == {4}
    assert shown(binary("/", binary("+", N, constant(254)), constant(256))) == "(n + 254) // 256"
    assert shown(scalars.called("ceil", (binary("/", scalars.to_float(N), BLOCK),))) == "ceil(n / block)"


def test_sizes_in_bytes_become_elements() -> None:
    size = binary("*", constant(4), binary("*", N, BLOCK))
    assert shown(scalars.quotient(size, 4)) == "n * block"
    assert shown(scalars.quotient(size, 16)) == "n * block // 4"
    assert shown(scalars.quotient(binary("*", N, constant(8)), 4)) == "2 * n"


def test_a_random_number_keeps_its_range() -> None:
    t = binary("/", HostScalar("random", 0.0, high=2147483647.0), constant(2147483647.0))
    value = binary("+", binary("*", binary("-", constant(1.0), t), constant(5.0)), binary("*", t, constant(30.0)))
    assert (value.number, value.high) == (5.0, 30.0)
    assert binary("%", HostScalar("random", 0, high=99), constant(16)).high == 15


def test_a_guess_makes_its_formula_unknown() -> None:
    guess = named("m", 7, "a.cu:1", is_known=False)
    assert not binary("*", N, guess).is_known
    assert list(scalars.leaves(binary("*", N, guess))) == [N, guess]
    assert binary("/", N, constant(0)).name == "unknown"


LEAVES = st.one_of(st.integers(1, 99).map(constant), st.sampled_from([N, BLOCK, named("k", 3, "")]))
VALUES = st.recursive(
    LEAVES, lambda inner: st.builds(binary, st.sampled_from(["+", "-", "*", "/", "%"]), inner, inner), max_leaves=8
)


@given(VALUES)
def test_the_formula_has_the_value(value: HostScalar) -> None:
    """C++ and the expressions of a job agree where no operand is negative."""
    pending = [value]
    while pending:
        one = pending.pop()
        if one.number < 0 or not one.is_known:
            return
        pending += one.operands
    numbers = {leaf.name: leaf.number for leaf in scalars.leaves(value)}
    assert expressions.parse(shown(value)).evaluate(numbers) == pytest.approx(value.number)

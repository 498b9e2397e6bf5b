from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from gpuregress.virtual_gpu.parallel.affine import ZERO, Affine

NUMBERS = st.integers(-6, 6)


@st.composite
def expressions(draw: st.DrawFn) -> Affine:
    coefficients = draw(st.dictionaries(st.sampled_from("abc"), NUMBERS.filter(bool), max_size=3))
    return Affine(draw(NUMBERS), coefficients)


def at(item: Affine, values: dict[str, int]) -> int:
    return item.constant + sum(factor * values[name] for name, factor in item.coefficients.items())


VALUES = st.fixed_dictionaries(dict.fromkeys("abc", NUMBERS))


@given(first=expressions(), second=expressions(), number=NUMBERS, values=VALUES)
def test_arithmetic_is_that_of_the_values(first: Affine, second: Affine, number: int, values: dict[str, int]) -> None:
    assert at(first.plus(second, number), values) == at(first, values) + number * at(second, values)
    assert at(first.minus(second), values) == at(first, values) - at(second, values)
    assert at(first.times(number), values) == number * at(first, values)
    assert at(first.add(number), values) == at(first, values) + number
    assert at(first.substituted("a", second), values) == at(first, values | {"a": at(second, values)})
    assert 0 not in first.plus(second, number).coefficients.values()


@given(item=expressions(), values=VALUES)
@example(item=Affine(1, {"a": 2}), values={"a": 0, "b": 0, "c": 0})
def test_tightening_keeps_the_sign_at_all_integers(item: Affine, values: dict[str, int]) -> None:
    assert (at(item.tightened(), values) <= 0) is (at(item, values) <= 0)


def test_multiples_and_dependence() -> None:
    item = Affine(8, {"a": 4, "b": -12})
    assert item.is_multiple_of(4)
    assert not item.is_multiple_of(8)
    assert item.depends_on(["c", "b"])
    assert not item.depends_on(["c"])
    assert ZERO.is_multiple_of(7)

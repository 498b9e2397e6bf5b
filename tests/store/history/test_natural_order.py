from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.store.history import series


def test_numbers_are_ordered_by_value() -> None:
    names = ["b", "a/n=10", "a/n=2,m=3", "a", "a/n=2,m=20", "a/n=1e6", "a10", "a9"]
    ordered = ["a", "a/n=1e6", "a/n=2,m=3", "a/n=2,m=20", "a/n=10", "a9", "a10", "b"]
    assert sorted(names, key=series.natural_key) == ordered


@given(st.lists(st.text(alphabet="a0²19=/ \udcff"), unique=True))
def test_any_names_have_one_order(names: list[str]) -> None:
    again = names[::-1]
    again.sort(key=series.natural_key)
    assert sorted(names, key=series.natural_key) == again

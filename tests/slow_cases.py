"""Parametrized tests of which some cases are slow."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pytest
from _pytest.mark import ParameterSet


def some_slow(names: Iterable[str], slow: Collection[str]) -> list[ParameterSet]:
    """The cases of a test, by name; those of `slow` are marked."""
    cases = []
    for name in names:
        marks = [pytest.mark.slow] if name in slow else []
        cases.append(pytest.param(name, marks=marks, id=name))
    assert set(slow) <= {case.id for case in cases}, "a slow case that is not there"
    return cases

"""Names of baselines, and their owners among the processes of a session."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.pytest_plugin import regression


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("test_sum", "test_sum"),
        ("test_sum[100]", "test_sum_100_"),
        ("test_sum[1.5-b]", "test_sum_1.5-b_"),
        ("test_sum[1e-05]", "test_sum_1e-05_"),
        ("test_sum[a/b c%]", "test_sum_a%2fb%20c%25_"),
        ("test_sum[[]]", "test_sum_%5b%5d_"),
    ],
)
def test_a_name_is_readable(name: str, expected: str) -> None:
    assert regression.of_test(name) == expected


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)), st.text(st.characters(max_codepoint=126)))
def test_two_ids_have_two_names_that_a_file_may_have(one: str, other: str) -> None:
    names = [regression.of_test(f"test_it[{text}]") for text in (one, other)]
    assert (names[0] == names[1]) == (one == other)
    assert all(re.fullmatch(r"[\w.+=,@%-]{,140}", name, re.ASCII) for name in names)


def test_a_long_name_is_cut_and_stays_its_own() -> None:
    names = {regression.of_test(f"test_it[{'x' * 300}{end}]") for end in "ab"}
    assert len(names) == 2
    assert all(len(name) < 140 for name in names)


def session(folder: Path, worker: str) -> pytest.Config:
    """A process of pytest-xdist."""
    factory = SimpleNamespace(getbasetemp=lambda: folder / worker)
    config: Any = SimpleNamespace(stash=pytest.Stash(), _tmp_path_factory=factory, workerinput={})
    return cast("pytest.Config", config)


def test_the_first_test_of_all_processes_owns_baselines(tmp_path: Path) -> None:
    first, second = session(tmp_path, "gw0"), session(tmp_path, "gw1")
    path = Path("/project/test_it/test_sum")
    assert regression.owner(first, path, "a::test_sum") == "a::test_sum"
    assert regression.owner(second, path, "b::test_sum") == "a::test_sum"
    assert regression.owner(first, path, "b::test_sum") == "a::test_sum"
    assert regression.owner(second, path.with_name("other"), "b::test_sum") == "b::test_sum"
    assert len([*(tmp_path / "gpuregress-baselines").iterdir()]) == 2

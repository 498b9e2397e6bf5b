from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation.document.problems import Problems
from gpuregress.jobs.spec import load
from gpuregress.jobs.spec.resolve import parameter_combinations

NUMBERS = st.lists(
    st.one_of(st.integers(-(2**60), 2**60), st.floats(-1e9, 1e9)), min_size=1, max_size=4, unique_by=lambda item: item
)
PARAMETERS = st.dictionaries(st.sampled_from(["n", "tile", "m"]), NUMBERS, min_size=1, max_size=3)


def scopes(tmp_path: Path, parameters: dict[str, Any], where: list[str]) -> tuple[list[dict[str, Any]], list[str]]:
    path = tmp_path / "job.yaml"
    job = {
        "source": "x.cu",
        "parameters": parameters,
        "where": where,
        "buffers": {"x": {"dtype": "int8", "shape": [1]}},
        "launches": [{"kernel": "f", "grid": [1], "block": [1]}],
    }
    path.write_text(yaml.safe_dump(job, sort_keys=False))
    file = load.load_file(path)
    actual = parameter_combinations.scopes(file, Problems(file.document))
    return [dict(scope.names) for scope in actual], [scope.case for scope in actual]


@settings(max_examples=80)
@given(parameters=PARAMETERS)
def test_every_combination_once_in_order_with_a_name_of_its_own(parameters: dict[str, Any], tmp_path: Path) -> None:
    names, cases = scopes(tmp_path, parameters, [])
    assert names == [dict(zip(parameters, row, strict=True)) for row in itertools.product(*parameters.values())]
    assert len(set(cases)) == len(cases)
    assert all(set(case) <= set("abcdefghijklmnopqrstuvwxyz0123456789=,.+-") for case in cases)


@settings(max_examples=40)
@given(limit=st.integers(-5, 15))
def test_where_keeps_what_it_says(limit: int, tmp_path: Path) -> None:
    parameters = {"n": list(range(8)), "m": [1, 3]}
    names, _ = scopes(tmp_path, parameters, [f"n * m < {limit}", "n % 2 == 1"])
    rows = itertools.product(*parameters.values())
    assert names == [{"n": n, "m": m} for n, m in rows if n * m < limit and n % 2 == 1]

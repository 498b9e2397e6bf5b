"""Jobs with one or more places replaced by what does not belong there: an error or a job, never a crash of ours."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.foundation.document.writing import write
from tests.workshop import Workshop, make

CONFIGS = Path(__file__).parents[2] / "configs"
JOBS = {path: yaml.safe_load(path.read_text()) for path in sorted(CONFIGS.rglob("*.yaml"))}

HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 2**31, 2**63, 2**64, 2**127, -(2**127), 0.5, -0.0, 1e-320, 1e300, -1e308),
    *(math.inf, -math.inf, math.nan, "", " ", "x", "nan", "-inf", "true", "null", "~", "all", "auto", "step", "n"),
    *("n / 0", "n ** n", "9**9**9**9", "1<<10**9", "2**127", "-2**127", "1e308 * 10", "0.0 ** -1", "(-8) ** 0.5"),
    *("(" * 990, "-" * 990, "not " * 200, "n" * 999, "1 + " * 240 + "1", "0x" + "f" * 900, "1_0", "1e5", "n;n"),
    *("ceil(n", "ceil()", "min(n)", "log2(0)", "log2(-1)", "sizeof(n)", "sizeof(float4)", "n < n < n", "n % 0.1"),
    *("a\0b", "../x", "/etc/passwd", "a/b", "é", "\u202e", "\U0001f600", "a" * 5000, "a.py:f", "x.npy", "x:y", "*"),
    *("float32", "float4", "{a:int8}", "{a:{b:int8}}", "complex64", "bfloat16", "float3", "void", "int", "zeros"),
    *([], {}, [[]], [{}], {"": 1}, {"x": {}}, {"../x": "float32"}, {"a.b": "int8"}, {"x": "int8", "X": "int8"}),
    *([1] * 40, [[1, 2], [3]], ["x", "x"], [None], {"value": 1e300}, {"value": []}, {"choice": [1, "nan", True]}),
    *({"uniform": {"high": 1e-320}}, {"normal": {"std": 1e300}}, {"integers": {"low": -(2**100), "high": 2**99}}),
    *({"park_miller": {"seed": 0}}, {"arange": {"step": 1e300}}, {"python": "a.py:f"}, {"file": "x.npy"}),
    *({"text": "x"}, {"struct": []}, {"struct": [{"struct": [None]}]}, {"float32": "nan"}, {"int8": 300}),
    *({"float4": []}, {"problem": None}, {"problem": [1], "divide": None}, {"python": None, "compare": None}),
    *({"range": None}, {"finite": None}, {"value": None}, {"choice": None}, {"sum": None}, {"python": None}),
    *({"problem": [0]}, {"problem": [1e300], "divide": [[1]]}, {"problem": [2**100], "divide": [[3, 0.5]]}),
    *({"fault": "trap"}, {"fault": None}, {"rtol": 0.5, "order": "any"}, {"ulp": 2**62}, {"verify": "a.py:f"}),
    *({"statistics": {"ks": 0}}, {"metric": {}}, {"outliers": {"fraction": 1}}, {"key": ["x"]}, {"range": [1, 0]}),
    *("1e300GiB", "30s", "-1s", "1e9h", "4XB", "sm_90", "sm_1", "$(id)", "-lineinfo", "-I/", "-", "--"),
)  # fmt: skip
NAMES = ("", "x", "n", "step", "min", "../x", "a b", "é", "a\0b", "0", "<<", "shape", "value", "nan", "x" * 100)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    actual = []
    for key, item in items:
        actual += [(value, key), *places(item)]
    return actual


@st.composite
def mutated(draw: st.DrawFn) -> tuple[Path, Any]:
    """A job of this repository after one to three changes."""
    path = draw(st.sampled_from([*JOBS]))
    job = copy.deepcopy(JOBS[path])
    for _ in range(draw(st.integers(1, 3))):
        holder, key = draw(st.sampled_from(places(job) or [(job, "source")]))
        what = draw(st.sampled_from(("replace", "replace", "replace", "remove", "rename", "repeat", "swap")))
        if what == "replace":
            holder[key] = copy.deepcopy(draw(st.sampled_from(HOSTILE)))
        elif what == "swap":
            other, at = draw(st.sampled_from(places(job)))
            holder[key] = copy.deepcopy(other[at])
        elif isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif what == "rename":
            holder[draw(st.sampled_from(NAMES))] = holder.pop(key)
        else:
            del holder[key]
    return path, job


def check(shop: Workshop, path: Path, text: str) -> None:
    """Checks a job that stands in a folder of its own, its sources where they are."""
    for position in (shop.root / "configs").iterdir():
        position.unlink()
    shop.write("configs/job.yaml", text)
    result = shop.call("check", "--no-compile", "--json")
    assert result.exit_code in (0, 2), result.output
    assert "inside gpuregress" not in result.output
    assert len(result.output) < 100_000


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(change=mutated())
def test_a_mutated_job_is_an_error_or_a_job(change: tuple[Path, Any], tmp_path: Path) -> None:
    path, job = change
    shop = make(tmp_path)
    if isinstance(job.get("source"), str) and "\0" not in job["source"]:
        job["source"] = str(path.parent / job["source"])
    check(shop, path, write(job))

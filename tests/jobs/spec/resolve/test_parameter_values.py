from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.document.problems import Problems
from gpuregress.jobs.spec import load
from gpuregress.jobs.spec.resolve.parameter_combinations import parameter_values, spelling


def read(folder: Path, **parameters: Any) -> tuple[dict[str, tuple[Any, ...]] | None, list[str]]:
    path = folder / "job.yaml"
    job = {
        "source": "x.cu",
        "parameters": parameters,
        "buffers": {"x": {"dtype": "int8", "shape": [1]}},
        "launches": [{"kernel": "f", "grid": [1], "block": [1]}],
    }
    path.write_text(yaml.safe_dump(job, sort_keys=False))
    file = load.load_file(path)
    problems = Problems(file.document, file.errors)
    return parameter_values(file, problems), [error.message for error in problems.errors]


def test_numbers_text_types_and_booleans(tmp_path: Path) -> None:
    given = {
        "n": [1000, "2 ** 10", "sizeof(float32)", 0.5],
        "real": ["float", "unsigned long long", "vec<float, 4>", {"text": "8"}],
        "fast": [True, False],
        "op": ["max", "+", "a-b", ""],
    }
    assert read(tmp_path, **given) == (
        {
            "n": (1000, 1024, 4, 0.5),
            "real": ("float", "unsigned long long", "vec<float, 4>", "8"),
            "fast": (True, False),
            "op": ("max", "+", "a-b", ""),
        },
        [],
    )


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (["float", "float"], "duplicate value 'float'"),
        ([4, "2 + 2"], "duplicate value 4"),
        ([True, True], "duplicate value True"),
        (["n * 2"], "'n * 2' uses the parameter 'n': a value is a constant; as text it is {text: n * 2}"),
        (["1 / 0"], "cannot evaluate '1 / 0': division by zero"),
        (["a b", "a<b>"], "'a<b>' and 'a b' are both 'a_b' in the names of cases"),
        (["a\nb"], "holds a control character"),
        ([None], "expected a number, text, true, false or {text: …}, got empty"),
        ([float("nan")], "expected a finite number"),
    ],
)
def test_what_is_refused(tmp_path: Path, choices: list[Any], message: str) -> None:
    found, messages = read(tmp_path, n=[8], x=choices)
    assert found is None
    assert any(message in one for one in messages), messages


def test_true_and_one_are_two_values(tmp_path: Path) -> None:
    assert read(tmp_path, x=[True, 1]) == ({"x": (True, 1)}, [])


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        ("float", "float"),
        ("unsigned long long", "unsigned_long_long"),
        ("vec<float, 4>", "vec_float_4"),
        ("std::complex<float>", "std_complex_float"),
        ("__half", "__half"),
        ("float*", "float%2A"),
        ("-O3", "-O3"),
        ("<=", "%3C%3D"),
        ("a/b", "a%2Fb"),
        ("\u00e9", "%C3%A9"),
        (True, "true"),
        (8, "8"),
        (1e-7, "1e-07"),
    ],
)
def test_the_spelling_in_names_of_cases(value: Any, spelled: str) -> None:
    assert spelling(value) == spelled


@given(st.text(max_size=20))
def test_every_spelling_is_safe_in_a_file_name_and_a_shell(text: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_.+%-]*", spelling(text))

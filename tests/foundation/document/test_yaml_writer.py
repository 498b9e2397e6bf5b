"""Jobs as YAML: what is written reads back, in the form that a person would choose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.document import reader, yaml_writer

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["1e5", "on", "null", "0x10", "- a", "a: b", "#", "<<", "~", "'", '"', "1.10", "=", "%a", "@", "{a}", " ", "\n"]
)
NUMBERS = st.integers(-(2**100), 2**100) | st.floats(allow_nan=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)
CONFIGS = Path(__file__).parents[3] / "configs"


def read(text: str) -> Any:
    return reader.parse(text.encode(), Path("job.yaml")).data


@given(st.dictionaries(TEXT, VALUES, max_size=5))
def test_what_is_written_reads_back(value: dict[str, Any]) -> None:
    assert read(yaml_writer.write(value)) == value


def test_the_jobs_of_the_repository_read_back() -> None:
    for path in sorted(CONFIGS.rglob("*.yaml")):
        data = reader.read(path).data
        assert read(yaml_writer.write(data)) == data


def test_the_form_is_that_of_a_person() -> None:
    job = {
        "source": "k.cu",
        "parameters": {"n": [33]},
        "buffers": {"x": {"dtype": "float32", "shape": ["n"], "fill": "ones"}},
        "launches": [{"kernel": "k" * 70, "grid": [1], "block": [32], "args": ["x", {"int32": "n"}]}],
    }
    assert yaml_writer.write(job).splitlines() == [
        "source: k.cu",
        "parameters:",
        "  n: [33]",
        "buffers:",
        "  x: {dtype: float32, shape: [n], fill: ones}",
        "launches:",
        f"  - kernel: {'k' * 70}",
        "    grid: [1]",
        "    block: [32]",
        "    args: [x, {int32: n}]",
    ]


def test_an_empty_mapping() -> None:
    assert read(yaml_writer.write({})) == {}


@given(TEXT)
def test_a_scalar_is_read_back_within_braces_and_brackets(text: str) -> None:
    written = yaml_writer.scalar(text)
    assert "\n" not in written
    assert read(f"a: {{b: {written}}}\nc: [{written}]\n") == {"a": {"b": text}, "c": [text]}

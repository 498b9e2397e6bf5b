from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.execution.runner.poison import poison, survey
from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Buffer, Case, Observations, Outcome, WriteSurvey
from gpuregress.gpu.records import replace
from gpuregress.judge import write_coverage
from gpuregress.store.dumps import writer
from tests import fakes


def outcome(folder: Path, dtype: str, count: int, left: int) -> tuple[Case, Outcome]:
    """A run that left the last elements of its one output as they were, and wrote ones before."""
    element = dtypes.parse(dtype)
    array = poison(count * element.size).view(element.storage).copy()
    array[: count - left] = 1
    case = fakes.case("double", buffers={"out": Buffer("out", dtype, (count,))})
    dump = writer.write(folder / "out.1.4", array, element, (count,))
    writes = survey([array], element).added_to(WriteSurvey(), "out", is_unchanged=False)
    observed = Observations(writes=writes)
    return case, Outcome(case.name, "done", dumps=(dump,), observations=observed)


@pytest.mark.parametrize(
    ("dtype", "count", "left", "message"),
    [
        ("float32", 64, 56, "out: 56 of 64 elements were never written ([8] to [63]); 0 NaN"),
        ("int32", 64, 1, "out: 1 of 64 elements were never written ([63]); 0 NaN"),
        ("uint8", 64, 8, "out: 8 of 64 elements were never written ([56] to [63]); 0 NaN"),
        ("int32", 64, 0, None),
        ("uint8", 64, 4, "out: 4 of 64 elements were never written ([60] to [63]); 0 NaN"),
        ("int16", 64, 2, "out: 2 of 64 elements were never written ([62] to [63]); 0 NaN"),
        ("int16", 64, 1, None),
        ("float16", 64, 1, "out: 1 of 64 elements were never written ([63]); 0 NaN"),
        ("bool", 64, 1, "out: 1 of 64 elements were never written ([63]); 0 NaN"),
        ("uint8", 64, 2, None),  # two bytes hold the poison by chance in more than one image
    ],
)
def test_what_is_said_of_a_dump(tmp_path: Path, dtype: str, count: int, left: int, message: str | None) -> None:
    case, ended = outcome(tmp_path, dtype, count, left)
    assert write_coverage.remarks(case, ended) == ((message,) if message else ())
    assert write_coverage.empty(ended) == ()


@pytest.mark.parametrize("dtype", ["float32", "uint8", "float4"])
def test_a_buffer_without_any_written_element_is_empty(tmp_path: Path, dtype: str) -> None:
    case, ended = outcome(tmp_path, dtype, 16, 16)
    assert write_coverage.empty(ended) == ("out",)
    assert "16 of 16 elements were never written" in write_coverage.remarks(case, ended)[0]


def test_an_element_written_in_part_is_said(tmp_path: Path) -> None:
    case, ended = outcome(tmp_path, "float2", 8, 0)
    partly = replace(ended, observations=Observations(writes=WriteSurvey(nan={"out": 0}, partly={"out": 3})))
    assert write_coverage.remarks(case, partly) == ("out: 3 of 8 elements were written in part only",)

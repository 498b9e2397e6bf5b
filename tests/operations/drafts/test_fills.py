from __future__ import annotations

import pytest

from gpuregress.operations.drafts import fills
from gpuregress.toolchain.host_programs.objects import HostArray
from gpuregress.toolchain.host_programs.scalars import HostScalar, constant


@pytest.mark.parametrize(
    ("stored", "dtype", "fill"),
    [
        (constant(3), "int32", "{value: 3}"),
        (constant(0.0), "float32", "zeros"),
        (HostScalar("random", 0.0, high=1.0), "float32", "{uniform: {low: 0.0, high: 1.0}}"),
        (HostScalar("random", 0, high=9), "int32", "{integers: {low: 0, high: 10}}"),
        (HostScalar("loop", 0), "int32", "arange"),
        (constant(3), "{a:int32,b:float32}", "{integers: {low: 0, high: 100}}"),
        (None, "float32", "{normal: {std: 1.0}}"),
    ],
)
def test_the_fill_of_what_is_stored(stored: HostScalar | None, dtype: str, fill: str) -> None:
    assert fills.fill_of(HostArray("x", None, "", stored=stored, is_filled=True), dtype) == fill


def test_the_fill_is_that_of_the_array_it_was_copied_from() -> None:
    source = HostArray("h", None, "", stored=constant(2.5))
    assert fills.fill_of(HostArray("d", None, "", source=source), "float32") == "{value: 2.5}"
    assert fills.fill_of(HostArray("d", None, "", is_zeroed=True), "float32") == "zeros"

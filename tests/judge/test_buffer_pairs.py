"""A pair of large dumps is compared in pieces: memory must not grow with what differs."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Comparison, Dump, Outcome, Rule
from gpuregress.judge import diagnosis
from gpuregress.judge.buffer_pairs import BufferPair
from gpuregress.judge.compare import in_order
from gpuregress.judge.diagnose import evidence
from gpuregress.store.dumps import reader, writer
from tests import fakes

FEW, MANY = 120_000, 480_000
"""Elements, both many enough for all pieces of text that are read at once to be full."""


def pair(folder: Path, dtype: str, shape: tuple[int, ...], rule: Rule) -> BufferPair:
    """Two dumps that differ in every element."""
    element, dumps = dtypes.parse(dtype), []
    before = np.zeros(shape, element.storage)
    after = before.copy()
    values = np.random.default_rng(1).integers(1, 1000, shape)
    for part, e, a in zip(element.parts, element.columns(before), element.columns(after), strict=True):
        e[...], a[...] = values, values + (2 if part.scalar.kind == "int" else 0.5)
    for name, array in (("before.1", before), ("after.1", after)):
        writer.write(folder / name, array, element, shape)
        dumps.append(Dump("out", str(folder / name), element.name, shape, name, name))
    expected, actual = dumps
    return BufferPair(fakes.case("twice"), "baseline", expected, actual, rule)


def traced(compare: Callable[[], Comparison]) -> tuple[Comparison, int]:
    """A comparison, and the bytes that it takes at most."""
    tracemalloc.start()
    try:
        return compare(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def peak(folder: Path, dtype: str, count: int, rule: Rule) -> int:
    compared = pair(folder, dtype, (count // 100, 100), rule)
    result, highest = traced(lambda: diagnosis.compare(compared, Outcome("x", "done")))
    assert (result.changed, result.same) == (count, False)
    maps = result.figures.error_maps
    assert maps is not None
    assert maps.heat_map is not None
    assert sum(maps.heat_map.differing) == count
    assert result.findings
    return highest


@pytest.mark.parametrize(
    ("dtype", "rule"),
    [
        ("float32", Rule()),
        pytest.param("float32", Rule(rtol=1e-6), marks=pytest.mark.slow),
        pytest.param("float64", Rule(ulp=4), marks=pytest.mark.slow),
        pytest.param("float64", Rule(nan="never"), marks=pytest.mark.slow),
        ("float32", Rule(metric={"rms": 1e-3})),
        pytest.param("int32", Rule(), marks=pytest.mark.slow),
        pytest.param("float4", Rule(), marks=pytest.mark.slow),
        pytest.param("complex64", Rule(), marks=pytest.mark.slow),
        ("{id:int32,score:float64}", Rule(atol=1e-3)),
    ],
)
def test_memory_does_not_grow_with_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: str, rule: Rule
) -> None:
    monkeypatch.setattr(reader, "PIECE_BYTES", 1 << 16)
    monkeypatch.setattr(in_order, "MOST_CHANGED_KEPT", 1000)
    monkeypatch.setattr(diagnosis, "WHOLE", 1000)
    monkeypatch.setattr(diagnosis, "MOST_VALUES", 1000)
    monkeypatch.setattr(evidence, "MOST", 2000)
    monkeypatch.setattr(evidence, "SIZE", 1000)
    few = peak(tmp_path, dtype, FEW, rule)
    # Two threads read pieces, which meet in some of the tries. What is kept of all elements would double each of them.
    assert any(peak(tmp_path, dtype, MANY, rule) < 1.6 * few + (100 << 10) for _ in range(3))


def wide_peak(folder: Path, count: int) -> int:
    """Of a float32 buffer against a gold standard in float64, of which one value is between two float32s."""
    then = np.arange(count, dtype="<f8")
    now, then[7] = (then + 0.5).astype("<f4"), 7 + 1e-12
    dumps = []
    for name, array in (("gold.1", then), ("now.1", now)):
        kind = dtypes.parse(array.dtype.name)
        writer.write(folder / name, array, kind, (count,))
        dumps.append(Dump("out", str(folder / name), kind.name, (count,), name, name))
    gold, actual = dumps
    compared = BufferPair(fakes.case("twice"), "reference", gold, actual, Rule())
    result, highest = traced(compared.compare)
    assert (result.differing, result.same) == (count, False)
    assert f"{count} of {count} differ; [7] of the reference, 7.000000000001, is not exact in float32" in result.message
    return highest


def test_memory_does_not_grow_with_a_reference_in_float64(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "PIECE_BYTES", 1 << 16)
    monkeypatch.setattr(in_order, "MOST_CHANGED_KEPT", 1000)
    few, many = (wide_peak(tmp_path, count) for count in (FEW, MANY))
    # Two threads read pieces, which may meet or not. What is kept of all elements would double it.
    assert many < 1.6 * few + (100 << 10)


def test_counts_and_the_worst_are_of_all_where_the_findings_are_of_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = compared(tmp_path)
    monkeypatch.setattr(reader, "PIECE_BYTES", 1 << 12)
    monkeypatch.setattr(evidence, "MOST", 2000)
    monkeypatch.setattr(evidence, "SIZE", 1000)
    pieces = compared(tmp_path)
    assert pieces.findings[0].message.endswith(", seen on a sample of 1,000 of 5,000 differing elements")
    assert pieces.findings[0].pattern == whole.findings[0].pattern == "offset"
    for field in ("differing", "changed", "worst", "first", "message", "figures", "multiset_same", "only_actual"):
        assert getattr(pieces, field) == getattr(whole, field), field


def compared(folder: Path) -> Comparison:
    return diagnosis.compare(pair(folder, "float32", (50, 100), Rule(rtol=1e-6)), Outcome("x", "done"))

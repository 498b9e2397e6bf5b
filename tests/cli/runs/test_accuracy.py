"""Command `gpuregress accuracy`: its lines, its JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from gpuregress.cli.measure import buffer_lines
from gpuregress.foundation.records import BufferAccuracy, ResultAccuracy
from gpuregress.gpu.instruments import Cancellation, InaccurateElement, LineError, Restart
from gpuregress.gpu.records import replace
from gpuregress.lab import accuracy
from gpuregress.lab.accuracy import AccuracyResults, CaseAccuracy
from tests.workshop import Workshop

ELEMENT = InaccurateElement((0, 3), "1.5", "1.25", 12.0, "y")
OUT = BufferAccuracy("out", "float32", "float64", 9, 8, 1, 0.5, 2.0, 11.0, 12.0, ((0.0, 3), (16.0, 5)), (ELEMENT,))
VECTOR = BufferAccuracy("v", "float4", "float64", 8, 8, histogram=((0.0, 8),))
UNTOUCHED = BufferAccuracy("x", "float32", "float64", 4, 0)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, shop: Workshop) -> list[Sequence[str]]:
    found: list[Sequence[str]] = []
    path = str(shop.root / "kernels/scale.cu")
    lines = (LineError(path, 5, 0.75, 9.0), LineError("", 0, 0.25, 3.0))
    cancelled, restarted = (Cancellation(path, 5, 2, 20),), (Restart(path, 5, "mma.sync", 64),)
    results = ResultAccuracy((OUT, UNTOUCHED, VECTOR), lines, cancelled, restarted, 7)

    def answer(_project: Any, selectors: Sequence[str], _parameters: object) -> AccuracyResults:
        found.append(selectors)
        return AccuracyResults(1, (CaseAccuracy("scale", results),))

    monkeypatch.setattr(accuracy, "accuracy", answer)
    return found


def test_errors_then_the_lines_where_they_arise(
    shop: Workshop, asked: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop.root)
    result = shop.call("accuracy", "scale")
    text = "kernels/scale.cu:5  if (i < n) out[i] = a * x[i];"
    assert (result.exit_code, asked) == (0, [("scale",)])
    assert result.stdout.splitlines() == [
        "scale",
        "  out: float32 against float64, 8 elements; 1 without a value in higher precision are left out",
        "    error in ulp: median 0.5, 90% 2, 99% 11, largest 12",
        "    1 elements are finite on one side only",
        "    elements by error: exact or not followed: 3, ≤ 16: 5",
        "    worst [0, 3].y: 1.5, exact 1.25, 12 ulp",
        "  x: float32 against float64, 0 elements; 4 without a value in higher precision are left out",
        "  v: float4 against float64, 8 parts of elements",
        "    not followed: 8 parts of elements without a known error; see the instructions below",
        "  the error arises at",
        f"      75%  {text}  (up to 9 ulp)",
        "      25%  an unknown line  (up to 3 ulp)",
        f"  looks like catastrophic cancellation at {text}: up to 20 bits lost, 2 times",
        f"  not followed: mma.sync at {text} (64 times); its results count as exact, or are left out",
        "  7 elements in memory were not followed, because there was no room; they count as exact",
    ]


def test_results_as_json(shop: Workshop, asked: list[Sequence[str]]) -> None:
    result = shop.call("accuracy", "scale", "--json", "-")
    document = json.loads(result.stdout)
    assert (document["version"], len(asked)) == (1, 1)
    (case,) = document["cases"]
    assert case["accuracy"]["buffers"][0]["largest"] == 12.0
    assert case["accuracy"]["lines"][0]["share"] == 0.75
    assert "the error arises at" in result.stderr


def test_cases_without_an_accuracy_hide_no_other(
    shop: Workshop, asked: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = AccuracyResults(1, (CaseAccuracy("scale", ResultAccuracy((VECTOR,))),), {"whole": "has no float"})
    monkeypatch.setattr(accuracy, "accuracy", lambda *_arguments: done)
    result = shop.call("accuracy", "scale", "whole")
    assert (result.exit_code, result.stdout.splitlines()[0], result.stderr) == (2, "scale", "whole has no float\n")


def test_results_that_are_never_finite_have_no_error() -> None:
    one = replace(VECTOR, never_finite=8, histogram=())
    assert [*buffer_lines(one, is_followed=True)][1:] == [
        "    8 parts of elements are NaN or infinite on both sides, and left out"
    ]


def test_a_case_that_is_not_there(shop: Workshop) -> None:
    assert "nothing" in shop.fails(2, "accuracy", "nothing")


def test_an_element_without_an_error_is_exact_where_all_was_followed() -> None:
    assert [*buffer_lines(VECTOR, is_followed=True)][-1] == "    parts of elements by error: exact: 8"

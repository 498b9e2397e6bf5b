"""Shares of source lines, from runs with the rounding errors of some lines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import cast

import numpy as np

from gpuregress.execution.runner import accuracy as line_errors
from gpuregress.execution.runner.accuracy import Line, _Lines, _split
from gpuregress.execution.runner.buffer_reader import BufferReader
from gpuregress.execution.runner.element_errors import FloatParts, float_parts, measure
from gpuregress.foundation import dtypes
from gpuregress.gpu.base import Device, Shadow
from gpuregress.gpu.instruments import LineError, Place
from tests.execution.runner.buffers import reader


class FakeDevice:
    """A device on which each line adds its number of units to the result."""

    def __init__(self) -> None:
        self.asked: list[frozenset[Place]] = []

    def round_at(self, places: Collection[Place]) -> None:
        self.asked.append(frozenset(places))


def _measured(ulps: dict[int, float]) -> tuple[list[LineError], FakeDevice]:
    device = FakeDevice()
    exact = Shadow(np.ones(1), np.zeros(1), np.ones(1, np.bool_))
    (parts,) = float_parts(dtypes.parse("float32"))
    errors = {("out", parts): measure(np.ones(1), exact, parts.scalar)}
    places: dict[Line, set[Place]] = {("k.cu", line): {(("k.cu", line, 0),)} for line in ulps}

    def shadows(_result: BufferReader) -> Iterator[tuple[FloatParts, Shadow]]:
        total = sum(ulps[place[0][1]] for place in device.asked[-1])
        yield parts, Shadow(np.array([1.0 + total * 2.0**-23]), np.zeros(1), np.ones(1, np.bool_))

    def again(take: Callable[[BufferReader], None]) -> None:
        take(reader("out"))

    found = _Lines(cast(Device, device), errors, places, again, shadows).measured()
    return sorted(found, key=lambda one: -one.share), device


def test_each_line_has_its_share() -> None:
    found, device = _measured({3: 3.0, 4: 1.0, 5: 0.0})
    assert found == [LineError("k.cu", 3, 0.75, 3.0), LineError("k.cu", 4, 0.25, 1.0)]
    assert device.asked[-1] == frozenset()


def test_groups_without_errors_are_not_taken_apart() -> None:
    found, device = _measured({line: float(line == 70) for line in range(1, 201)})
    assert found == [LineError("k.cu", 70, 1.0, 1.0)]
    assert len(device.asked) < 40


def test_groups_hold_every_line_once() -> None:
    for count in (0, 1, line_errors.FEW, 33):
        groups = _split([("k.cu", line) for line in range(count)])
        assert [line for group in groups for _, line in group] == list(range(count))
        assert len(groups) <= line_errors.FEW

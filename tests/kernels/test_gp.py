"""Each program on all fitness cases at once, as one long Python integer; the multiplexer case by case."""

from __future__ import annotations

import itertools

import numpy as np

from tests.kernels.recorded import Recorded, assert_sees_changes, each_case, load

FUNCTIONS = {
    0xF0: lambda a, b: a & b,
    0xF1: lambda a, b: a | b,
    0xF2: lambda a, b: ~(a & b),
    0xF3: lambda a, b: ~(a | b),
}


def check(run: Recorded) -> None:
    address_bits = run.number("address_bits")
    inputs = address_bits + 2**address_bits
    cases = 2**inputs
    columns = [sum(1 << k for k in range(cases) if k >> bit & 1) for bit in range(inputs)]
    target = sum(1 << k for k in range(cases) if k >> (address_bits + k % 2**address_bits) & 1)
    right = [_count_right(row, columns, target, cases) for row in run.inputs["programs"].tolist()]
    assert run.outputs["hits"].tolist() == right
    # 100 * hits is exact in float32, and the division is rounded once.
    expected = np.float32(100) * np.array(right, np.float32) / np.float32(cases)
    assert np.array_equal(run.outputs["fitness"], expected)
    assert not np.any(run.outputs.get("status", np.zeros(1)))
    if address_bits == 2:
        assert right[0] == cases  # program 0 solves the small multiplexer


def _count_right(program: list[int], columns: list[int], target: int, cases: int) -> int:
    stack: list[int] = []
    for opcode in itertools.takewhile(lambda code: code != 0xFF, program):
        if opcode < len(columns):
            stack.append(columns[opcode])
        else:
            stack.append(FUNCTIONS[opcode](stack.pop(), stack.pop()))
    (answer,) = stack
    wrong = (answer ^ target) & ((1 << cases) - 1)
    return cases - wrong.bit_count()


@each_case("gp")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("gp")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))

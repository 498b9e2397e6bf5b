"""The same scheme in extended precision: a step adds a few roundings, and the scheme does not amplify them."""

from __future__ import annotations

import numpy as np

from tests.kernels.recorded import HALF_ULP_64, Recorded, assert_sees_changes, each_case, load


def check(run: Recorded) -> None:
    first = run.inputs["now"]
    now = first.astype(np.longdouble)
    for _ in range(run.number("steps")):
        around = now[1:-1, :-2] + now[1:-1, 2:] + now[:-2, 1:-1] + now[2:, 1:-1]
        # 0.2 as float64 has it: the kernel's number, not one fifth.
        now[1:-1, 1:-1] += np.longdouble(0.2) * (around - 4 * now[1:-1, 1:-1])
    # Three sums below 400 and one below 800 are scaled by 0.2, the last below 100 is not: 0.2 * 2000 + 100 <= 500.
    bound = run.number("steps") * 500 * HALF_ULP_64
    result = run.outputs["now"]
    assert np.all(np.abs(result - now) <= bound)
    edge = np.ones(first.shape, bool)
    edge[1:-1, 1:-1] = False
    assert np.array_equal(result[edge], first[edge])


@each_case("heat")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("heat")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))

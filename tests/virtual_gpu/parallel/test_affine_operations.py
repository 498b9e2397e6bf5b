"""Integer instructions on affine expressions: the bounds of their results, and the cases that are refused."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.parallel.affine import NotAffineError
from gpuregress.virtual_gpu.parallel.footprint_evaluation import LaunchValues, instances
from gpuregress.virtual_gpu.runtime.footprint_ir import Constant, Coordinate, Footprint, Node, Operation

X, Y = 0, 1


def bounds(operator: str, constant: int, low: int, high: int, *, signed: bool = False) -> list[tuple[int, int]]:
    """The bounds of `x operator constant` in each case, x between two numbers."""
    nodes: tuple[Node, ...] = (
        Coordinate("tid.x"),
        Constant(constant),
        Operation(operator, (X, Y), 32, signed),
    )
    launch = LaunchValues(Footprint(nodes, {}, {}, (), has_loops=False), {"tid.x": (low, high)}, b"", {})
    return [
        (case.system.lower_bound(case.values[0]), case.system.upper_bound(case.values[0]))
        for case in instances(launch, [2], ())
    ]


@pytest.mark.parametrize(
    ("operator", "constant", "result"),
    [
        ("+", 5, [(7, 28)]),
        ("-", 5, [(-3, 18)]),
        ("*", 3, [(6, 69)]),
        ("<<", 2, [(8, 92)]),
        ("<<", 32, [(0, 0)]),
        ("&", 7, [(0, 7)]),
        ("&", 0xFFFF_FFF8, [(0, 16)]),
        ("|", 0, [(2, 23)]),
        ("^", 5, [(0, 23)]),
        ("^", 0xFFFF_FFFF, [(-24, -3)]),
        (">>", 2, [(0, 5)]),
        ("/", 4, [(0, 5)]),
        ("%", 4, [(0, 3)]),
        ("min", 100, [(2, 23)]),
        ("max", 100, [(100, 100)]),
    ],
)
def test_bounds_of_results(operator: str, constant: int, result: list[tuple[int, int]]) -> None:
    assert bounds(operator, constant, 2, 23) == result


def test_a_minimum_that_is_open_becomes_two_cases() -> None:
    assert sorted(bounds("min", 10, 2, 23)) == [(2, 10), (10, 10)]


@pytest.mark.parametrize(("operator", "constant"), [("/", 0), ("/", -1), ("&", 0x8000_0001)])
def test_what_is_not_affine_is_refused(operator: str, constant: int) -> None:
    with pytest.raises(NotAffineError):
        bounds(operator, constant, 2, 23, signed=True)


def test_a_product_of_two_variables_is_refused() -> None:
    nodes: tuple[Node, ...] = (Coordinate("tid.x"), Coordinate("ctaid.x"), Operation("*", (X, Y)))
    ranges = {"tid.x": (0, 7), "ctaid.x": (0, 7)}
    with pytest.raises(NotAffineError):
        instances(LaunchValues(Footprint(nodes, {}, {}, (), has_loops=False), ranges, b"", {}), [2], ())


def test_a_value_that_may_wrap_is_not_widened() -> None:
    nodes: tuple[Node, ...] = (
        Coordinate("tid.x"), Constant(1 << 30), Operation("*", (X, Y)), Operation("widen", (2,), signed=True),
    )  # fmt: skip
    footprint = Footprint(nodes, {}, {}, (), has_loops=False)
    assert instances(LaunchValues(footprint, {"tid.x": (0, 1)}, b"", {}), [3], ())
    with pytest.raises(NotAffineError):
        instances(LaunchValues(footprint, {"tid.x": (0, 2)}, b"", {}), [3], ())

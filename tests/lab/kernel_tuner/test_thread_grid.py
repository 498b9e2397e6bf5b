"""Grid and block by Kernel Tuner's rules (`get_grid_dimensions`, `get_thread_block_dimensions` of its util.py)."""

from __future__ import annotations

from typing import Any

import pytest

from gpuregress.foundation.errors import UsageError
from gpuregress.lab.kernel_tuner.search_space import SearchSpace, ThreadGrid

SPACE = SearchSpace({"block_size_x": [32, 64], "tile": [1, 4]}, None)


def made(size: Any, *divisors: Any, space: SearchSpace = SPACE, names: Any = None) -> ThreadGrid:
    return ThreadGrid(space, size, (*divisors, None, None, None)[:3], names)


def test_the_block_divides_the_problem_unless_divisors_do() -> None:
    assert (made(1000).grid, made(1000).block) == (["ceil(1000 / block_size_x)", 1, 1], ["block_size_x", 1, 1])
    assert made((1000, 3), ["block_size_x", "tile"]).grid == ["ceil(1000 / (block_size_x * tile))", 3, 1]
    assert made("100 * tile", 50).grid[0] == "ceil(100 * tile / 50)"
    assert made(lambda p: 100 * p["tile"], lambda p: p["tile"]).grid == [100, 1, 1]


def test_a_kernel_without_a_block_size_has_256_threads() -> None:
    space = SearchSpace({"tile": [1, 4]}, None)
    assert made(1000, "tile", space=space).block == [256, 1, 1]
    assert made(1000, space=space).grid == [1000, 1, 1]


def test_an_expression_of_a_divisor_is_cut_to_a_whole_number() -> None:
    space = SearchSpace({"block_size_x": [32], "tile": [5]}, None)
    assert made(100, "tile / 2", space=space).grid == [50, 1, 1]


def test_blocks_may_have_other_names() -> None:
    space = SearchSpace({"BLOCK_SIZE_X": [32], "bx": [8]}, None)
    assert made(64, space=space).grid == [2, 1, 1]
    assert made(64, space=space, names=["bx", "block_size_y"]).block == [8, 1, 1]


def test_macros_are_those_that_the_source_names() -> None:
    macros = made(1000).macros(SPACE.parameters, "grid_size_x * block_size_y * block_size_x")
    assert macros == {"grid_size_x": "ceil(1000 / block_size_x)", "block_size_y": 1}


@pytest.mark.parametrize(
    ("size", "divisor", "names", "words"),
    [
        (1000.5, None, None, "problem_size: 1000.5 is not a whole number"),
        (None, None, None, "problem_size: None is not a whole number"),
        ((1, 2, 3, 4), None, None, "problem_size has 4 axes; a grid has three"),
        ("m", None, None, "problem_size: cannot evaluate 'm'"),
        (1000, 0, None, "grid_div_x: the divisor of the problem size is 0"),
        (1000, ["blok"], None, "grid_div_x: cannot evaluate 'blok'"),
        (1000, lambda _p: "2", None, "grid_div_x: '2' is not a number"),
        (1000, None, "bx", "block_size_names is 'bx': pass a list of names"),
        (1000, None, ["bx"], "block_size_names: 'bx' is none of tune_params: block_size_x, tile"),
    ],
)
def test_what_gives_no_grid_is_refused(size: Any, divisor: Any, names: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        made(size, divisor, names=names)

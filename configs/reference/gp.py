"""The population of configs/gp.yaml and its gold standard: an interpreter on columns of Booleans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from gpuregress import Case

    Array = npt.NDArray[Any]

AND, OR, NAND, NOR, END = 0xF0, 0xF1, 0xF2, 0xF3, 0xFF
STACK = 32
# The 6-multiplexer, address inputs 0 and 1: OR of AND(address is k, data k), with NAND(a, a) for "not a".
SOLUTION = (
    *(0, 0, NAND, 1, 1, NAND, AND, 2, AND),
    *(0, 1, 1, NAND, AND, 3, AND, OR),
    *(0, 0, NAND, 1, AND, 4, AND, OR),
    *(0, 1, AND, 5, AND, OR),
)


def postfix_programs(shape: tuple[int, ...], dtype: np.dtype[Any], seed: int) -> Array:
    """Random valid postfix programs, [population, length], each ended by END where it is shorter than the row.

    They use inputs 0 to 5 only, so that they run on both multiplexers. Program 0 solves the small one; program 1 is the
    single input 2.

    Args:
        shape: population and the longest program's length.
        dtype: uint8.
        seed: the buffer's.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    programs = np.full(shape, END, dtype)
    programs[0, : len(SOLUTION)] = SOLUTION
    programs[1, 0] = 2
    for row in programs[2:]:
        _grow(row, random)
    return programs


def _grow(row: Array, random: np.random.Generator) -> None:
    """Writes one random program: pushes and functions in any order that never underflows and leaves one result."""
    pushes = int(random.integers(2, 1 + min(STACK, (row.size + 1) // 2)))
    depth, pushed = 0, 0
    for at in range(2 * pushes - 1):
        push = depth < 2 or (pushed < pushes and random.integers(2) == 0)
        row[at] = random.integers(6) if push else AND + random.integers(4)
        pushed += push
        depth += 1 if push else -1


def hits(inputs: Mapping[str, Array], case: Case) -> Array:
    """How many fitness cases each program answers as the multiplexer does, [population], by plain bit arithmetic."""
    address_bits = int(case.parameters["address_bits"])
    bits = address_bits + (1 << address_bits)
    cases = np.arange(1 << bits)
    columns = [(cases >> bit) & 1 == 1 for bit in range(bits)]
    address = cases & ((1 << address_bits) - 1)
    target = (cases >> (address_bits + address)) & 1 == 1
    return np.array([np.count_nonzero(_evaluate(row, columns) == target) for row in inputs["programs"]], np.int32)


def _evaluate(program: Array, columns: list[Array]) -> Array:
    """One program on all cases at once, as Boolean columns."""
    functions: dict[int, Callable[[Array, Array], Array]] = {AND: _and, OR: _or, NAND: _nand, NOR: _nor}
    stack: list[Array] = []
    for opcode in program.tolist():
        if opcode == END:
            break
        if opcode < len(columns):
            stack.append(columns[opcode])
        else:  # every function here is symmetric, so the order of the two does not matter
            stack.append(functions[opcode](stack.pop(), stack.pop()))
    (result,) = stack
    return result


def _and(a: Array, b: Array) -> Array:
    return np.logical_and(a, b)


def _or(a: Array, b: Array) -> Array:
    return np.logical_or(a, b)


def _nand(a: Array, b: Array) -> Array:
    return np.logical_not(np.logical_and(a, b))


def _nor(a: Array, b: Array) -> Array:
    return np.logical_not(np.logical_or(a, b))

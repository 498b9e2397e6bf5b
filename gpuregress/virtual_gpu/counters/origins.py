"""Origins of values: thread and block numbers, and parameters, that a register is computed from.

A data-flow analysis that ignores the order of statements: a register has the origins of all its definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction, Statement, Symbol

Origins = frozenset[str]
NONE: Origins = frozenset()
_NUMBERS = {
    "tid": "threadIdx",
    "ctaid": "blockIdx",
    "laneid": "lane",
    "warpid": "warp",
    "clusterid": "cluster",
    "cluster_ctaid": "block of the cluster",
}


def number_of(register: str) -> Origins:
    """The name of a special register that numbers threads or blocks; none for another register."""
    special, _, axis = register.lstrip("%").partition(".")
    return frozenset([f"{_NUMBERS[special]}{axis and f'.{axis}'}"]) if special in _NUMBERS else NONE


def parameter_of(statement: Statement) -> str:
    """The kernel's parameter that a statement loads, as `args[2]`; "" for another statement.

    A member of a structure has its distance from the structure's beginning: `(args[2] at byte 8)`.
    """
    if not isinstance(statement, Instruction) or statement.opcode != "ld" or "param" not in statement.modifiers:
        return ""
    found = next((one for one in statement.operands if isinstance(one, Address)), None)
    if found is None or not isinstance(found.base, Symbol):
        return ""
    number, distance = found.base.name.rpartition("_param_")[2], found.base.offset + found.offset
    if not number.isdigit():
        return ""
    return f"(args[{number}] at byte {distance})" if distance else f"args[{number}]"


def find_origins(
    statements: Iterable[Statement], own: Callable[[Statement], Origins] = lambda _: NONE
) -> Mapping[str, Origins]:
    """Find the origins of all registers.

    Args:
        statements: through which values pass.
        own: further origins of the results of a statement.

    Returns:
        register → origins; without special registers.
    """
    parts = [(effects.reads(item), effects.sets(item), own(item)) for item in statements]
    found: dict[str, Origins] = {}
    changed = True
    while changed:
        changed = False
        for read, set_, more in parts:
            sources = more.union(*(number_of(name) | found.get(name, NONE) for name in read))
            for name in set_ if sources else ():
                if not sources <= found.get(name, NONE):
                    found[name], changed = found.get(name, NONE) | sources, True
    return found

"""Names of the mutation operators, with what each stands for in GPU code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Operator = TypeVar("Operator", bound=Callable[..., Any])

OPERATORS: Mapping[str, tuple[str, str, str]] = {
    "boundary": ("`<` ↔ `<=`, `>` ↔ `>=`", "`setp.lt` ↔ `setp.le`, …", "the last element too many, or too few"),
    "barrier-removed": (
        "`__syncthreads()`, `__syncwarp()`, `group.sync()`, a fence or a wait removed",
        "`bar`, `barrier`, `membar`, `fence`, a wait removed",
        "a forgotten barrier",
    ),
    "index-off-by-one": ("`a[i]` → `a[i + 1]`", "`[%rd1]` → `[%rd1+4]`", "an index off by one"),
    "thread-block-swapped": (
        "`threadIdx` ↔ `blockIdx`",
        "`%tid` ↔ `%ctaid`",
        "the block's index in the place of the thread's",
    ),
    "plus-minus": ("`+` ↔ `-`, `+=` ↔ `-=`", "`add` ↔ `sub`", "a sign"),
    "constant": ("`2` → `3`, `0.5` → `1.5`", "`2` → `3`, a float with the next exponent", "a constant"),
    "atomic-plain": (
        "`atomicAdd(p, v)` → a load, an addition, a store",
        "`atom.add`, `red.add` → `ld`, `add`, `st`",
        "an update that is not atomic",
    ),
    "guard-dropped": (
        (
            "`if (i < n)` → `if (true)`, `if (i >= n) return;` → `if (false) return;`, `c ? a : b` → `a`, "
            "each part of `i < n && j < m` alone"
        ),
        "`@%p st` → `st`, a branch forward removed",
        "a missing bounds check",
    ),
    "shared-array-small": (
        "`__shared__ T a[N]` → `a[N - 1]`",
        "`.shared .b8 a[N]` → one element less",
        "a shared array too small",
    ),
    "double-float": ("`double` → `float`", "the result of an `.f64` operation rounded to `.f32`", "lost precision"),
    "transposed": (
        "`a[y * w + x]` → `a[x * w + y]`, `a[i][j]` → `a[j][i]`",
        "`mad a, b, c` → `mad c, b, a`",
        "rows taken for columns",
    ),
    "mask-narrowed": (
        "the mask of `__shfl_sync`, `__ballot_sync`, `__syncwarp`, … without the upper half of the warp",
        "the mask of `shfl.sync`, `vote.sync`, … as `65535`",
        "a mask that leaves lanes out",
    ),
    "unsigned-signed": (
        "`unsigned` → `int`, in the definition of a type's name, too",
        "`.u32` → `.s32` where the sign matters",
        "a sign bit that counts",
    ),
}
"""Name → its forms in CUDA C++ and in PTX, and the mistake that it stands for."""


def by_name(*operators: Operator) -> Mapping[str, Operator]:
    """Return a table of functions by the names of their operators: `plus_minus` has `plus-minus`."""
    return {operator.__name__.replace("_", "-"): operator for operator in operators}

"""Names of accesses: each kind has a subroutine of its own."""

from __future__ import annotations

from itertools import product

from gpuregress.virtual_gpu.checks.shadow_cells import READ, WRITE, CellAccess


def test_different_accesses_have_different_names() -> None:
    kinds = product((READ, WRITE), (False, True), (False, True), (1, 4), (False, True))
    accesses = [CellAccess(*one) for one in kinds]
    names = {access.name(space) for access in accesses for space in ("", "shared", "global")}
    assert len(names) == 3 * len(accesses)

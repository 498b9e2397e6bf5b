"""Mutants of PTX: every operator at every instruction of the launched kernels."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gpuregress.mutation import mutants
from gpuregress.mutation.mutants import Edit, Mutant
from gpuregress.mutation.ptx.operators import TABLE
from gpuregress.mutation.ptx.text import PtxText, trap_before


def find(text: str, name: str, entries: Collection[str]) -> list[Mutant]:
    """List the mutants of a PTX module, in the order of its lines.

    Args:
        text: of the module.
        name: that stands for it.
        entries: the mangled names of the launched kernels.
    """
    ptx = PtxText(text)
    found = [*_of_instructions(ptx, name, entries), *small_arrays(ptx, name, entries)]
    return sorted(found, key=lambda one: (one.edits[0].start, one.operator))


def _of_instructions(ptx: PtxText, name: str, entries: Collection[str]) -> Iterator[Mutant]:
    for one in ptx.instructions(entries):
        for operator, changes in TABLE.items():
            for edits in changes(ptx, one):
                yield mutants.of_edits(operator, name, ptx.text, edits, ((trap_before(one),),), (one.start, one.end))


def small_arrays(ptx: PtxText, name: str, entries: Collection[str]) -> Iterator[Mutant]:
    """Yield mutants whose shared array has one element less; of an array of bytes, four."""
    for match in ptx.shared_arrays(entries):
        size, less = int(match["size"]), 4 if match["type"] in ("b8", "u8", "s8") else 1
        if size > less:
            start, end = match.span("size")
            yield mutants.of_edits(
                "shared-array-small", name, ptx.text, (Edit(start, end, str(size - less)),), (), match.span()
            )

"""Mutants of PTX: every operator at every instruction of the launched kernels."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gpuregress.gpu.records import replace
from gpuregress.lab.mutation import mutants
from gpuregress.lab.mutation.mutants import Edit, Mutant
from gpuregress.lab.mutation.ptx.operators import TABLE
from gpuregress.lab.mutation.ptx.text import PtxInstruction, PtxText, trap_before
from gpuregress.lab.mutation.ptx.value_probes import trap_where_different


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
    """Change the copies of an instruction together: those that an unrolled loop or a tile makes of one expression.

    One mistake in the source would be in all of them. Barriers are the compiler's own, and each has its purpose.
    """
    copies: dict[object, list[Mutant]] = {}
    for one in ptx.instructions(entries):
        for operator, changes in TABLE.items():
            place = one.expression if operator not in mutants.RACING else ""
            for number, edits in enumerate(changes(ptx, one)):
                alike = copies.setdefault((operator, number, place or one.start, one.shape), [])
                alike.append(_mutant(ptx, name, one, operator, edits))
    for each in copies.values():
        yield mutants.together(each)


def _mutant(ptx: PtxText, name: str, one: PtxInstruction, operator: str, edits: tuple[Edit, ...]) -> Mutant:
    is_guard_dropped = operator == "guard-dropped"
    is_always_run = is_guard_dropped and one.words[0] != "bra"
    reached = Edit(one.start, one.start, "trap;\n\t") if is_always_run else trap_before(one)
    made = mutants.of_edits(operator, name, ptx.text, edits, ((reached,),), (one.start, one.end))
    infection = trap_where_different(ptx, one, edits, is_guard_dropped=is_guard_dropped)
    return replace(made, infection=infection)


def small_arrays(ptx: PtxText, name: str, entries: Collection[str]) -> Iterator[Mutant]:
    """Yield mutants whose shared array has one element less; of an array of bytes, four."""
    for match in ptx.shared_arrays(entries):
        size, less = int(match["size"]), 4 if match["type"] in ("b8", "u8", "s8") else 1
        if size > less:
            start, end = match.span("size")
            yield mutants.of_edits(
                "shared-array-small", name, ptx.text, (Edit(start, end, str(size - less)),), (), match.span()
            )

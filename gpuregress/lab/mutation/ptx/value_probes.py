"""PTX that traps where a mutated instruction has another effect than the original one.

The RIP model of mutation testing: a test kills a mutant only if it reaches the change, if the change infects the state,
and if the infection propagates to a result. A trap before the instruction tells the first, this one the second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpuregress.lab.mutation import mutants
from gpuregress.lab.mutation.mutants import Edit
from gpuregress.lab.mutation.ptx.text import PtxInstruction, PtxText, trap_before

_PURE = frozenset(
    re.findall(
        r"\w+",
        """
        abs add and bfe bfi bfind brev clz copysign cos cvt cvta div dp2a dp4a ex2 fma ld ldu lg2 lop3 mad mad24 match
        max min mov mul mul24 neg not or popc prmt rcp redux rem rsqrt sad selp set setp shf shfl shl shr sin slct
        sqrt sub szext tanh vote xor
        """,
    )
)
"""Opcodes that do nothing but compute their first operand, so that they can be executed twice."""
_REGISTER = re.compile(r"%[\w$]+")
_SIZED = re.compile(r"[bsuf](?:16|32|64)")


def trap_where_different(
    ptx: PtxText, one: PtxInstruction, edits: Sequence[Edit], *, is_guard_dropped: bool
) -> tuple[Edit, ...]:
    """Return the edits that trap where a changed instruction has another effect than the original one.

    Args:
        ptx: the module.
        one: the instruction.
        edits: the change.
        is_guard_dropped: whether it is executed without its guard, or, for a branch, never taken.

    Returns:
        () where the effects cannot be compared: what is written to memory, a barrier.
    """
    if is_guard_dropped and one.words[0] == "bra":
        return (trap_before(one),)  # it is not taken any more, and so differs where it was
    compared = _compared(ptx, one, edits)
    if compared or not is_guard_dropped:
        return compared
    negated = one.guard.removeprefix("!") if one.guard.startswith("!") else f"!{one.guard}"
    return (Edit(one.start, one.start, f"@{negated} trap;\n\t"),)


def _compared(ptx: PtxText, one: PtxInstruction, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Compute the result with the change and without, and trap where any bit differs."""
    if one.words[0] not in _PURE or "cc" in one.words or not one.operands:
        return ()
    registers = dict.fromkeys(_REGISTER.findall(one.operands[0].text))
    types = [ptx.register_types.get(_family(name), "") for name in registers]
    if not registers or not all(kind == "pred" or _SIZED.fullmatch(kind) for kind in types):
        return ()
    end = max(one.end, *(edit.end for edit in edits))
    original = ptx.text[one.start : end]
    changed = mutants.apply(original, [Edit(e.start - one.start, e.end - one.start, e.text) for e in edits])
    saved, restored, checked = [], [], []
    for number, (name, kind) in enumerate(zip(registers, types, strict=True)):
        before, was = f"%before{number}", f"%was{number}"
        saved.append(f".reg .{kind} {before}, {was}; mov.{kind} {before}, {name};")
        restored.append(f"mov.{kind} {was}, {name}; mov.{kind} {name}, {before};")
        compare = "xor.pred" if kind == "pred" else f"setp.ne.b{kind[1:]}"
        checked.append(f"{compare} %other, {was}, {name}; @%other trap;")
    parts = ("{ .reg .pred %other;", *saved, original, *restored, changed, *checked, "}")
    return (Edit(one.start, end, " ".join(parts)),)


def _family(register: str) -> str:
    """The name of a register without its number, as `%r<9>` declares it."""
    return register.rstrip("0123456789")

"""Mutants: one change of one text each, their diffs and operators, and a sample of many."""

from __future__ import annotations

import difflib
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from operator import itemgetter
from typing import Any, TypeVar

from gpuregress.gpu.records import Record, replace

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


RACING = ("barrier-removed", "atomic-plain")
"""Operators whose mutants are data races, which results seldom show: threads would have to meet in another order."""
OF_VALUES = (
    "boundary",
    "index-off-by-one",
    "thread-block-swapped",
    "plus-minus",
    "constant",
    "guard-dropped",
    "double-float",
    "transposed",
    "unsigned-signed",
)
"""Operators that change what is computed: with equal optimised code their mutants are equivalent. Of barriers, atomic
operations and masks it may say only that the CPU device does the same."""
_MOST_SHOWN = 72
"""Characters of a change in one line."""


class Edit(Record, order=True):
    """A stretch of a text, by offsets, and the text that takes its place."""

    start: int
    end: int
    text: str


class Mutant(Record):
    """A change of one file.

    Attributes:
        operator: its name in the tables of operators.
        file: the file that is changed, absolute; of a program without CUDA C++, the name that stands for its PTX.
        line: of the change, from 1.
        before: the text that goes.
        after: the text that takes its place.
        edits: of the file.
        probes: edits that make a trap of the place, the most exact first; one that does not compile says nothing.
        infection: edits that trap where the change has another effect than the original; none: that is not known.
        copies: places that are changed together, because a compiler made all of them of one expression.
    """

    operator: str
    file: str
    line: int
    before: str
    after: str
    edits: tuple[Edit, ...]
    probes: tuple[tuple[Edit, ...], ...] = ()
    infection: tuple[Edit, ...] = ()
    copies: int = 1

    @property
    def what(self) -> str:
        """The change in one line, as `i < n` → `i <= n`."""
        shown = (" ".join(text.split()) or "nothing" for text in (self.before, self.after))
        change = " → ".join(f"`{text}`" if text != "nothing" else text for text in shown)
        return change if self.copies == 1 else f"{change} ({self.copies} copies)"


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Apply edits that do not overlap."""
    pieces, at = [], 0
    for edit in sorted(edits):
        pieces += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join((*pieces, text[at:]))


def diff(text: str, mutant: Mutant, name: str, context: int = 2) -> str:
    """Return the change as a unified diff.

    Args:
        text: of the file.
        mutant: of that text.
        name: of the file, in the diff.
        context: unchanged lines around the change.
    """
    old, new = (_shown(version).split("\n") for version in (text, apply(text, mutant.edits)))
    lines = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", n=context, lineterm="")
    return "".join(f"{line.rstrip(chr(13))}\n" for line in lines)


def _shown(text: str) -> str:
    """A text with other characters for bytes that are not UTF-8."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


def sample(mutants: Sequence[Mutant], limit: int | None, seed: int) -> list[Mutant]:
    """Choose at most `limit` mutants, in the order in which they stand; equal for an equal seed."""
    if limit is None or limit >= len(mutants):
        return list(mutants)
    chosen = sorted(random.Random(seed).sample(range(len(mutants)), limit))  # noqa: S311 - no secret
    return [mutants[at] for at in chosen]


def spread(mutants: Sequence[Mutant], seed: int) -> list[Mutant]:
    """Order mutants so that the first ones tell most: the operators take turns, each at another line where it can.

    Args:
        mutants: all.
        seed: of the order of the lines of an operator; an equal seed gives an equal order.
    """
    shuffled = random.Random(seed).sample(mutants, len(mutants))  # noqa: S311 - no secret
    at_line: Counter[tuple[str, str, int]] = Counter()
    by_operator: dict[str, list[tuple[int, Mutant]]] = {}
    for mutant in shuffled:
        place = (mutant.operator, mutant.file, mutant.line)
        by_operator.setdefault(mutant.operator, []).append((at_line[place], mutant))
        at_line[place] += 1
    names = sorted(by_operator, key=lambda name: (name in RACING, list(OPERATORS).index(name)))
    turns = [[mutant for _, mutant in sorted(by_operator[name], key=itemgetter(0))] for name in names]
    return [mutant for turn in zip_longest(*turns) for mutant in turn if mutant is not None]


def together(copies: Sequence[Mutant]) -> Mutant:
    """Return the mutant that makes the changes of several ones of a file at once; it is shown as the first one."""
    first, probes = copies[0], tuple(zip(*(instance.probes for instance in copies), strict=True))
    return replace(
        first,
        edits=tuple(edit for instance in copies for edit in instance.edits),
        probes=tuple(tuple(edit for part in parts for edit in part) for parts in probes),
        infection=tuple(e for instance in copies for e in instance.infection)
        if all(instance.infection for instance in copies)
        else (),
        copies=len(copies),
    )


def of_edits(
    operator: str,
    file: str,
    text: str,
    edits: Sequence[Edit],
    probes: Sequence[Sequence[Edit]] = (),
    shown: tuple[int, int] | None = None,
) -> Mutant:
    """Make the mutant of some edits of a text, with its line and what changes.

    Args:
        operator: its name.
        file: of the text.
        text: that is changed.
        edits: the change.
        probes: edits that make a trap of the place.
        shown: a span around the edits that shows more of the change; it is taken where it is short.
    """
    first, last = min(edit.start for edit in edits), max(edit.end for edit in edits)
    start, end = (first, last) if shown is None else (min(first, shown[0]), max(last, shown[1]))
    if len(" ".join(text[start:end].split())) > _MOST_SHOWN or re.search(r"//|/\*|#", text[start:end]):
        start, end = first, last
    moved = [Edit(edit.start - start, edit.end - start, edit.text) for edit in edits]
    line = text.count("\n", 0, first) + 1
    before, after = text[start:end], apply(text[start:end], moved)
    return Mutant(operator, file, line, before, after, tuple(edits), tuple(tuple(probe) for probe in probes))

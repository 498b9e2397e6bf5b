"""Mutants: one change of one text each, their diffs and operators, and a sample of many."""

from __future__ import annotations

import difflib
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
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
        change = f"{_quoted(self.before)} → {_quoted(self.after)}"
        if self.copies == 1:
            return change
        return f"{change} ({self.copies} copies)"


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    if line in ("", "nothing"):
        return "nothing"
    return f"`{line}`"


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Apply edits that do not overlap."""
    pieces = []
    start = 0
    for edit in sorted(edits):
        pieces += [text[start : edit.start], edit.text]
        start = edit.end
    return "".join((*pieces, text[start:]))


def diff(text: str, mutant: Mutant, name: str, context: int = 2) -> str:
    """Return the change as a unified diff.

    Args:
        text: of the file.
        mutant: of that text.
        name: of the file, in the diff.
        context: unchanged lines around the change.
    """
    old = _shown(text).split("\n")
    new = _shown(apply(text, mutant.edits)).split("\n")
    lines = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", n=context, lineterm="")
    return "".join(f"{line.rstrip(chr(13))}\n" for line in lines)


def _shown(text: str) -> str:
    """Return a text with other characters for bytes that are not UTF-8."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


def sample(mutants: Sequence[Mutant], limit: int | None, seed: int) -> list[Mutant]:
    """Choose at most `limit` mutants, in the order in which they stand; equal for an equal seed."""
    if limit is None or limit >= len(mutants):
        return list(mutants)
    chosen = sorted(random.Random(seed).sample(range(len(mutants)), limit))  # noqa: S311 - no secret
    return [mutants[number] for number in chosen]


def spread(mutants: Sequence[Mutant], seed: int) -> list[Mutant]:
    """Order mutants so that the first ones tell most: the operators take turns, each at another line where it can.

    Args:
        mutants: all.
        seed: of the order of the lines of an operator; an equal seed gives an equal order.
    """
    shuffled = random.Random(seed).sample(mutants, len(mutants))  # noqa: S311 - no secret
    at_line: Counter[tuple[str, str, int]] = Counter()
    earlier: dict[int, int] = {}  # identity of a mutant → mutants of its operator and line that come before it
    by_operator: dict[str, list[Mutant]] = {}
    for mutant in shuffled:
        line = (mutant.operator, mutant.file, mutant.line)
        earlier[id(mutant)] = at_line[line]
        at_line[line] += 1
        by_operator.setdefault(mutant.operator, []).append(mutant)
    names = sorted(by_operator, key=lambda name: (name in RACING, list(OPERATORS).index(name)))
    turns = [sorted(by_operator[name], key=lambda mutant: earlier[id(mutant)]) for name in names]
    ordered: list[Mutant] = []
    for turn in zip_longest(*turns):
        ordered += [mutant for mutant in turn if mutant is not None]
    return ordered


def together(copies: Sequence[Mutant]) -> Mutant:
    """Return the mutant that makes the changes of several ones of a file at once; it is shown as the first one."""
    edits: list[Edit] = []
    infection: list[Edit] = []
    probes: list[list[Edit]] = [[] for _ in copies[0].probes]
    for copy in copies:
        edits += copy.edits
        infection += copy.infection
        for merged, probe in zip(probes, copy.probes, strict=True):
            merged.extend(probe)
    if not all(copy.infection for copy in copies):
        infection = []
    return replace(
        copies[0],
        edits=tuple(edits),
        probes=tuple(tuple(probe) for probe in probes),
        infection=tuple(infection),
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
    first = start = min(edit.start for edit in edits)
    last = end = max(edit.end for edit in edits)
    if shown is not None:
        start = min(first, shown[0])
        end = max(last, shown[1])
    if len(" ".join(text[start:end].split())) > _MOST_SHOWN or re.search(r"//|/\*|#", text[start:end]):
        start = first
        end = last
    moved = [Edit(edit.start - start, edit.end - start, edit.text) for edit in edits]
    return Mutant(
        operator=operator,
        file=file,
        line=text.count("\n", 0, first) + 1,
        before=text[start:end],
        after=apply(text[start:end], moved),
        edits=tuple(edits),
        probes=tuple(tuple(probe) for probe in probes),
    )

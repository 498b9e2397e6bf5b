"""What a run's findings are worth, pair by pair, and the totals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from tests.checks.planted.detection import Said
from tests.checks.planted.pairs import Pair

Verdict = Literal["found", "partly", "other", "missed", "clean", "false", "hung", "error"]
"""Of a planted twin: `found`; `partly`, where the kind is right but variable or lines are not named; `other`, where all
findings are of other kinds; `missed`. Of a clean twin: `clean` or `false`. Of both: `hung`, `error`.
"""

MISUSE = ("barrier", "deadlock", "illegal-instruction")
"""Kinds that say the same of a misused barrier: which one it is depends on whether any thread can go on."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A twin with its verdict.

    Attributes:
        pair: the pair.
        planted: which twin.
        verdict: see `Verdict`.
        lacks: what a finding that is partly right does not name.
        said: all findings.
    """

    pair: Pair
    planted: bool
    verdict: Verdict
    lacks: str = ""
    said: tuple[Said, ...] = ()


def judge(pair: Pair, said: tuple[Said, ...], *, planted: bool) -> Judged:
    """Judge what was said of one twin."""
    if any(item.kind in ("error", "hung") for item in said):
        kind = next(item.kind for item in said if item.kind in ("error", "hung"))
        return Judged(pair, planted, "hung" if kind == "hung" else "error", said=said)
    if not planted:
        return Judged(pair, planted, "false" if said else "clean", said=said)
    if not said:
        return Judged(pair, planted, "missed")
    right = [item for item in said if is_right_kind(pair, item)]
    if not right:
        return Judged(pair, planted, "other", said=said)
    lacks = min((lacking(pair, item) for item in right), key=len)
    return Judged(pair, planted, "partly" if lacks else "found", ", ".join(lacks), said)


def is_right_kind(pair: Pair, said: Said) -> bool:
    """Tell whether a finding's kind is one that the pair expects."""
    return said.kind in pair.kinds or (said.kind in MISUSE and any(kind in MISUSE for kind in pair.kinds))


def lacking(pair: Pair, said: Said) -> list[str]:
    """List what a finding of the right kind does not name: the variable, a line of each access."""
    missing = []
    names_both = said.kind == "race"
    if pair.variable and said.kind not in MISUSE and not re.search(rf"\b{pair.variable}\b", said.text):
        missing.append(f"variable {pair.variable}")
    wanted = (pair.first, pair.second) if names_both else (pair.first | pair.second,)
    unnamed = (lines for lines in wanted if lines and not any(said.names(line, pair.program) for line in lines))
    return [*missing, *("line " + " or ".join(map(str, sorted(lines))) for lines in unnamed)]


def totals(judged: Iterable[Judged]) -> list[str]:
    """Return a line for each kind of error, one for each class whose verdict is a choice, and one for all."""
    listed = list(judged)
    usual = [item for item in listed if not item.pair.variant]
    kinds = dict.fromkeys(item.pair.kinds[0] for item in usual)
    rows = [(kind, [item for item in usual if item.pair.kinds[0] == kind]) for kind in kinds]
    variants = dict.fromkeys(item.pair.variant for item in listed if item.pair.variant)
    rows += [(f"class {name}", [item for item in listed if item.pair.variant == name]) for name in variants]
    rows.append(("all", listed))
    return [_row(name, items) for name, items in rows if items]


def _row(name: str, items: list[Judged]) -> str:
    planted = Counter(item.verdict for item in items if item.planted)
    clean = Counter(item.verdict for item in items if not item.planted)
    return (
        f"{name:24} planted {planted.total():3}: "
        + ", ".join(f"{planted[verdict]} {verdict}" for verdict in ("found", "partly", "other", "missed"))
        + f"; clean {clean.total():3}: {clean['false']} false"
        + "".join(
            f", {both[verdict]} {verdict}"
            for both in (planted + clean,)
            for verdict in ("hung", "error")
            if both[verdict]
        )
    )

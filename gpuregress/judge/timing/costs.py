"""Comparison of exact costs with the accepted ones, and the line that became worse."""

from __future__ import annotations

import difflib
import itertools
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from gpuregress.foundation.records import Baseline, Case, CostComparison, InstructionCost, LineCost, Outcome
from gpuregress.gpu.costs import total
from gpuregress.gpu.schedules import FORWARD
from gpuregress.store.baselines import accepted_timings

_ALIKE = 0.6
"""The similarity from which a line counts as an edited one; `difflib.get_close_matches` has the same."""
_MOST_PAIRS = 10_000
"""Pairs of changed lines that are compared."""

Pair = tuple[LineCost, LineCost]


def pairs(before: Sequence[LineCost], now: Sequence[LineCost]) -> list[Pair]:
    """Pair each line now with the one that it was; a new line has one without text and costs.

    A line is found in its file in the old order, else by an equal text anywhere, as after a move or in a renamed file,
    else by a similar text. What is left of an exchanged block is paired in order where it has as many lines as before.
    """
    found: dict[int, int] = {}
    blocks: list[tuple[list[int], list[int]]] = []
    for file in dict.fromkeys(line.file for line in now):
        old = [at for at, line in enumerate(before) if line.file == file]
        new = [at for at, line in enumerate(now) if line.file == file]
        texts = [before[at].text for at in old], [now[at].text for at in new]
        for tag, first, end, start, stop in difflib.SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
            if tag == "equal":
                found.update(zip(new[start:stop], old[first:end], strict=True))
            else:
                blocks.append((old[first:end], new[start:stop]))
    for find in (_equal, _similar):
        _join(found, find(before, now, found))
    exchanged = [zip(new, old, strict=True) for old, new in blocks if len(old) == len(new)]
    _join(found, itertools.chain.from_iterable(exchanged))
    return [(before[found[at]] if at in found else LineCost("", 0, ""), line) for at, line in enumerate(now)]


def _join(found: dict[int, int], more: Iterable[tuple[int, int]]) -> None:
    """Add pairs of lines that are in none yet."""
    taken = set(found.values())
    for at, was in more:
        if at not in found and was not in taken:
            found[at] = was
            taken.add(was)


def _left(before: Sequence[LineCost], now: Sequence[LineCost], found: dict[int, int]) -> tuple[list[int], list[int]]:
    taken = set(found.values())
    return [at for at in range(len(before)) if at not in taken], [at for at in range(len(now)) if at not in found]


def _equal(before: Sequence[LineCost], now: Sequence[LineCost], found: dict[int, int]) -> list[tuple[int, int]]:
    """Lines with the text of a line that is not there any more."""
    old, new = _left(before, now, found)
    places: dict[str, list[int]] = {}
    for was in old:
        places.setdefault(before[was].text, []).append(was)
    return [(at, places[text].pop(0)) for at in new if places.get(text := now[at].text)]


def _similar(before: Sequence[LineCost], now: Sequence[LineCost], found: dict[int, int]) -> list[tuple[int, int]]:
    """Edited lines with what they were, the most similar ones first."""
    old, new = _left(before, now, found)
    if len(old) * len(new) > _MOST_PAIRS:
        return []
    scored: list[tuple[float, int, int]] = []
    for at in new:
        matcher = difflib.SequenceMatcher(None, "", now[at].text, autojunk=False)
        for was in old:
            matcher.set_seq1(before[was].text)
            if matcher.quick_ratio() >= _ALIKE and (score := matcher.ratio()) >= _ALIKE:
                scored.append((-score, at, was))
    return [(at, was) for _, at, was in sorted(scored)]


_HINTS = {
    "bank_conflicts": "lanes of a warp want different words of one bank",
    "divergent_branches": "lanes of a warp go both ways at a branch",
    "atomic_conflicts": "lanes of a warp update one address",
    "barriers": "warps wait more often for their block",
}
_FEWER_LANES, _PARTED = 0.9, 0.25
_DEVICE_ACTIONS = {"load": "read", "store": "write", "atomic": "update"}


def compare(case: Case, outcome: Outcome, accepted: Baseline | None) -> tuple[CostComparison, ...]:
    """Compare the costs that the job bounds; an entry without a measure says what was not compared, and why.

    Args:
        case: what was run.
        outcome: its result on the worker.
        accepted: its baseline; None without one.
    """
    limits = case.settings.cost
    if not limits or outcome.device is None or outcome.state != "done" or outcome.fault is not None:
        return ()
    if accepted_timings.key_of(outcome.device) != accepted_timings.CPU:
        return (CostComparison("", "cost: not compared, for a GPU counts none; the cpu device does"),)
    seen = outcome.observations.instruments.costs
    if seen is None and case.settings.main_schedule != FORWARD:
        return (CostComparison("", f"cost: not compared, for it is counted in the schedule {FORWARD} only"),)
    if seen is None:
        return (CostComparison("", "cost: not compared, for nothing was counted"),)
    if seen.uncounted:
        return (CostComparison("", f"cost: not compared, for not all is counted: {seen.uncounted}"),)
    before = accepted.timings.get(accepted_timings.CPU) if accepted is not None else None
    if before is None or not before.costs:
        advice = f"`{shlex.join(['gpuregress', 'accept', case.name])}` keeps this run's"
        return (CostComparison("", f"cost: not compared, for no costs were accepted; {advice}"),)
    now = accepted_timings.line_costs(seen)
    found = [_of_measure(name, limit, before.costs, now, outcome) for name, limit in limits.items()]
    rest = [CostComparison("", f"cost: compared without {'; '.join(seen.left_out)}")] if seen.left_out else []
    return (*sorted(found, key=_growth, reverse=True), *rest)


def _growth(one: CostComparison) -> float:
    """How many times as great a cost is that fails; 0 for one that does not. The greatest one is told first."""
    return (one.actual or 0) / (one.expected or 0.5) if one.fails else 0


def _of_measure(
    measure: str, limit: float, before: Sequence[LineCost], now: Sequence[LineCost], outcome: Outcome
) -> CostComparison:
    expected, actual = (sum(line.counts.get(measure, 0) for line in lines) for lines in (before, now))
    words = measure.replace("_", " ")
    if actual <= expected * limit:
        text = f"cost: {words} {expected:,} → {actual:,}"
        return CostComparison(
            measure,
            text if actual != expected else f"cost: {actual:,} {words} as accepted",
            expected=expected,
            actual=actual,
            limit=limit,
        )
    old, line = _worse(measure, pairs(before, now))
    place = f"{line.file}:{line.line}" if line.file else "code without a source line"
    text = f"{place}: {_change(measure, old.counts, line, outcome)}"
    times = f", {actual / expected:.3g} times as many" if expected else ""
    text += f" (all {words}: {expected:,} → {actual:,}{times}; `cost:` allows {limit:g})"
    return CostComparison(measure, text, fails=True, expected=expected, actual=actual, limit=limit)


def _worse(measure: str, lines: Sequence[Pair]) -> Pair:
    """The line whose cost has grown most, before and now.

    Of lines that diverge, the one that diverged least before: a branch that parts a warp has all that follows it
    executed more often, and so more branches that diverge anyway.
    """
    most = max(_grown(measure, *pair) for pair in lines)
    if measure == "divergent_branches":
        parted = [pair for pair in lines if _grown(measure, *pair) >= _PARTED * most]
        return max(parted, key=lambda pair: pair[1].counts[measure] / (pair[0].counts.get(measure, 0) or 0.5))
    return next(pair for pair in lines if _grown(measure, *pair) == most)


def _grown(measure: str, old: LineCost, new: LineCost) -> int:
    return new.counts.get(measure, 0) - old.counts.get(measure, 0)


def _change(measure: str, old: Mapping[str, int], line: LineCost, outcome: Outcome) -> str:
    """The change of a line's cost with its reason, as far as the counts tell it."""
    new = line.counts
    each = [counts.get("sectors", 0) / counts["requests"] for counts in (old, new) if counts.get("requests")]
    if measure == "sectors" and len(each) == 2 and each[1] > each[0]:
        return f"{each[0]:.3g} → {each[1]:.3g} sectors for each request; {_sector_reason(line, each[1], outcome)}"
    text = f"{old.get(measure, 0):,} → {new.get(measure, 0):,} {measure.replace('_', ' ')}"
    if measure == "sectors" and len(each) == 2:
        text += f"; {new['requests']:,} requests instead of {old['requests']:,}, each of {each[1]:.3g} sectors"
    if not old and line.file:
        text += "; the line is new"
        if measure == "sectors" and each:
            text += f", with {new['requests']:,} requests, each of {each[0]:.3g} sectors"
    if measure == "instructions" and (lanes := _lost_lanes(old, new)):
        text += f"; {lanes}"
    return f"{text}; {_HINTS[measure]}" if measure in _HINTS else text


def _sector_reason(line: LineCost, each: float, outcome: Outcome) -> str:
    """Why the requests of a line need more sectors."""
    action, sums = _action(line, outcome), _sums(line, outcome)
    if 2 * sums.get("sectors.local", 0) > sums.get("sectors", 0):
        return "local memory: registers were spilt, or an array is indexed at run time"
    if each <= sums.get("bytes.memory", 0) / (32 * max(1, sums.get("requests", 0))) + 1:
        return f"the addresses that neighbouring threads {action} no longer begin at a multiple of 32 bytes"
    return f"neighbouring threads no longer {action} neighbouring addresses"


def _lost_lanes(old: Mapping[str, int], new: Mapping[str, int]) -> str:
    """The lanes that take part in an instruction before and now, where they are fewer; else ""."""
    counts = [one for one in (old, new) if one.get("instructions")]
    lanes = [one.get("thread_instructions", 0) / one["instructions"] for one in counts]
    if len(lanes) < 2 or lanes[1] > _FEWER_LANES * lanes[0]:
        return ""
    return f"{lanes[0]:.3g} → {lanes[1]:.3g} lanes take part in each, for lanes of a warp go different ways"


def _items(line: LineCost, outcome: Outcome) -> Iterator[InstructionCost]:
    costs = outcome.observations.instruments.costs
    for item in costs.instructions if costs is not None else ():
        if item.line == line.line and Path(item.path).name == line.file:
            yield item


def _sums(line: LineCost, outcome: Outcome) -> dict[str, int]:
    """The counts of a line; `bytes.memory` are those of instructions with requests for global or local memory."""
    items = list(_items(line, outcome))
    memory = sum(item.counts.get("bytes", 0) for item in items if item.counts.get("requests"))
    return {**total(items), "bytes.memory": memory}


def _action(line: LineCost, outcome: Outcome) -> str:
    """What most sectors of a line are for: read, write or update."""
    sums: dict[str, int] = {}
    for item in _items(line, outcome):
        kind = item.kind.partition(".")[0]
        sums[kind] = sums.get(kind, 0) + item.counts.get("sectors", 0)
    return _DEVICE_ACTIONS.get(max(sums, key=lambda kind: sums[kind], default=""), "access")

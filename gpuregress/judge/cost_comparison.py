"""Comparison of exact costs with the accepted ones, and the line that became worse."""

from __future__ import annotations

import difflib
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from gpuregress.foundation.records import Baseline, Case, CostComparison, InstructionCost, LineCost, Outcome
from gpuregress.foundation.wording import joined
from gpuregress.gpu.instruments import total
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
    partners: dict[int, int] = {}
    blocks: list[tuple[list[int], list[int]]] = []
    for file in dict.fromkeys(line.file for line in now):
        old = [index for index, line in enumerate(before) if line.file == file]
        new = [index for index, line in enumerate(now) if line.file == file]
        old_texts, new_texts = [before[index].text for index in old], [now[index].text for index in new]
        matcher = difflib.SequenceMatcher(None, old_texts, new_texts, autojunk=False)
        for tag, first, end, start, stop in matcher.get_opcodes():
            if tag == "equal":
                partners.update(zip(new[start:stop], old[first:end], strict=True))
            else:
                blocks.append((old[first:end], new[start:stop]))
    _join(partners, _equal(before, now, partners))
    _join(partners, _similar(before, now, partners))
    for old, new in blocks:
        if len(old) == len(new):
            _join(partners, zip(new, old, strict=True))
    paired = []
    for index, line in enumerate(now):
        partner = LineCost("", 0, "")
        if index in partners:
            partner = before[partners[index]]
        paired.append((partner, line))
    return paired


def _join(partners: dict[int, int], more: Iterable[tuple[int, int]]) -> None:
    """Add pairs of lines that are in none yet."""
    taken = set(partners.values())
    for new, old in more:
        if new not in partners and old not in taken:
            partners[new] = old
            taken.add(old)


def _alone(
    before: Sequence[LineCost], now: Sequence[LineCost], partners: dict[int, int]
) -> tuple[list[int], list[int]]:
    """The old and the new lines without a partner."""
    taken = set(partners.values())
    old = [index for index in range(len(before)) if index not in taken]
    return old, [index for index in range(len(now)) if index not in partners]


def _equal(before: Sequence[LineCost], now: Sequence[LineCost], partners: dict[int, int]) -> list[tuple[int, int]]:
    """Lines with the text of a line that is not there any more."""
    old, new = _alone(before, now, partners)
    lines: dict[str, list[int]] = {}
    for index in reversed(old):
        lines.setdefault(before[index].text, []).append(index)
    equal = []
    for index in new:
        same_text = lines.get(now[index].text)
        if same_text:
            equal.append((index, same_text.pop()))
    return equal


def _similar(before: Sequence[LineCost], now: Sequence[LineCost], partners: dict[int, int]) -> list[tuple[int, int]]:
    """Edited lines with what they were, the most similar ones first."""
    old, new = _alone(before, now, partners)
    if len(old) * len(new) > _MOST_PAIRS:
        return []
    scored: list[tuple[float, int, int]] = []
    for index in new:
        matcher = difflib.SequenceMatcher(None, "", now[index].text, autojunk=False)
        for candidate in old:
            matcher.set_seq1(before[candidate].text)
            if matcher.quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE:
                scored.append((-matcher.ratio(), index, candidate))
    return [(index, candidate) for _, index, candidate in sorted(scored)]


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
        return (CostComparison("", "cost: not compared, because a GPU counts none; the cpu device does"),)
    seen = outcome.observations.instruments.costs
    if seen is None and case.settings.main_schedule != FORWARD:
        return (CostComparison("", f"cost: not compared, because it is counted in the schedule {FORWARD} only"),)
    if seen is None:
        return (CostComparison("", "cost: not compared, because nothing was counted"),)
    if seen.uncounted:
        return (CostComparison("", f"cost: not compared, because not all is counted: {seen.uncounted}"),)
    before = accepted.timings.get(accepted_timings.CPU) if accepted is not None else None
    if before is None or not before.costs:
        advice = f"`{shlex.join(['gpuregress', 'accept', case.name])}` keeps this run's"
        return (CostComparison("", f"cost: not compared, because no costs were accepted; {advice}"),)
    now = accepted_timings.line_costs(seen)
    compared = [_of_measure(name, limit, before.costs, now, outcome) for name, limit in limits.items()]
    compared.sort(key=_growth, reverse=True)
    if seen.left_out:
        compared.append(CostComparison("", f"cost: compared without {'; '.join(seen.left_out)}"))
    return tuple(compared)


def _growth(cost: CostComparison) -> float:
    """How many times as great a cost is that fails; 0 for one that does not. The greatest one is reported first."""
    if not cost.fails:
        return 0
    return (cost.actual or 0) / (cost.expected or 0.5)


def _of_measure(
    measure: str, limit: float, before: Sequence[LineCost], now: Sequence[LineCost], outcome: Outcome
) -> CostComparison:
    expected = sum(line.counts.get(measure, 0) for line in before)
    actual = sum(line.counts.get(measure, 0) for line in now)
    words = measure.replace("_", " ")
    fails = actual > expected * limit
    if fails:
        old, line = _worse(measure, pairs(before, now))
        place = f"{line.file}:{line.line}" if line.file else "code without a source line"
        times = f", {actual / expected:.3g} times as many" if expected else ""
        text = f"{place}: {_change(measure, old.counts, line, outcome)}"
        text += f" (all {words}: {expected:,} → {actual:,}{times}; `cost:` allows {limit:g})"
    elif actual == expected:
        text = f"cost: {actual:,} {words} as accepted"
    else:
        text = f"cost: {words} {expected:,} → {actual:,}"
    return CostComparison(measure, text, fails=fails, expected=expected, actual=actual, limit=limit)


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
    lanes = _lost_lanes(old, new) if measure == "instructions" else ""
    return joined("; ", text, lanes, _HINTS.get(measure, ""))


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
    if not old.get("instructions") or not new.get("instructions"):
        return ""
    before = old.get("thread_instructions", 0) / old["instructions"]
    now = new.get("thread_instructions", 0) / new["instructions"]
    if now > _FEWER_LANES * before:
        return ""
    return f"{before:.3g} → {now:.3g} lanes take part in each, because lanes of a warp take different branches"


def _items(line: LineCost, outcome: Outcome) -> Iterator[InstructionCost]:
    costs = outcome.observations.instruments.costs
    if costs is None:
        return
    for instruction in costs.instructions:
        if instruction.line == line.line and Path(instruction.path).name == line.file:
            yield instruction


def _sums(line: LineCost, outcome: Outcome) -> dict[str, int]:
    """The counts of a line; `bytes.memory` are those of instructions with requests for global or local memory."""
    items = list(_items(line, outcome))
    memory = sum(item.counts.get("bytes", 0) for item in items if item.counts.get("requests"))
    return {**total(items), "bytes.memory": memory}


def _action(line: LineCost, outcome: Outcome) -> str:
    """What most sectors of a line are for: read, write or update."""
    sums: Counter[str] = Counter()
    for instruction in _items(line, outcome):
        sums[instruction.kind.partition(".")[0]] += instruction.counts.get("sectors", 0)
    for kind, _ in sums.most_common(1):
        return _DEVICE_ACTIONS.get(kind, "access")
    return "access"

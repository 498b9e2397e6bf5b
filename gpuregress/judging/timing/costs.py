"""Comparison of exact costs with the accepted ones, and the line that became worse."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterator, Mapping, Sequence

from gpuregress.baselines import accepted_timings
from gpuregress.records import Baseline, Case, CostComparison, LineCost, Outcome

_HINTS = {
    "bank_conflicts": "lanes of a warp want different words of one bank",
    "divergent_branches": "lanes of a warp go both ways at a branch",
    "atomic_conflicts": "lanes of a warp update one address",
}
_DEVICE_ACTIONS = {"load": "read", "store": "write", "atomic": "update"}


def compare(case: Case, outcome: Outcome, accepted: Baseline | None) -> tuple[CostComparison, ...]:
    """Compare the costs that the job bounds; one entry without a measure says why they were not compared.

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
    seen = outcome.observations.costs
    if seen is None:
        return (CostComparison("", "cost: not compared, for nothing was counted"),)
    if seen.uncounted:
        return (CostComparison("", f"cost: not compared, for not all is counted: {seen.uncounted}"),)
    before = accepted.timings.get(accepted_timings.CPU) if accepted is not None else None
    if before is None or not before.costs:
        advice = f"`{shlex.join(['gpuregress', 'accept', case.name])}` keeps this run's"
        return (CostComparison("", f"cost: not compared, for no costs were accepted; {advice}"),)
    now = accepted_timings.line_costs(seen)
    return tuple(_of_measure(name, limit, before.costs, now, outcome) for name, limit in limits.items())


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
    old, line = max(_pairs(before, now), key=lambda pair: _grown(measure, *pair))
    text = f"{line.file}:{line.line}: {_change(measure, old.counts, line, outcome)}"
    times = f", {actual / expected:.3g} times as many" if expected else ""
    text += f" (all {words}: {expected:,} → {actual:,}{times}; `cost:` allows {limit:g})"
    return CostComparison(measure, text, fails=True, expected=expected, actual=actual, limit=limit)


def _grown(measure: str, old: LineCost, new: LineCost) -> int:
    return new.counts.get(measure, 0) - old.counts.get(measure, 0)


def _pairs(before: Sequence[LineCost], now: Sequence[LineCost]) -> Iterator[tuple[LineCost, LineCost]]:
    """Each line now with the one that it was, by their texts; a new line with one without costs."""
    for file in dict.fromkeys(line.file for line in now):
        old = [line for line in before if line.file == file]
        new = [line for line in now if line.file == file]
        matcher = difflib.SequenceMatcher(None, [one.text for one in old], [one.text for one in new], autojunk=False)
        for _, first, end, start, stop in matcher.get_opcodes():
            for at in range(start, stop):
                was = first + at - start
                yield old[was] if was < end else LineCost(file, new[at].line, ""), new[at]


def _change(measure: str, old: Mapping[str, int], line: LineCost, outcome: Outcome) -> str:
    new = line.counts
    requests = old.get("requests", 0), new.get("requests", 0)
    if measure == "sectors" and all(requests):
        each = [counts.get("sectors", 0) / count for counts, count in zip((old, new), requests, strict=True)]
        if each[1] > each[0]:
            action = _action(line, outcome)
            hint = f"neighbouring threads no longer {action} neighbouring addresses"
            return f"{each[0]:.3g} → {each[1]:.3g} sectors for each request; {hint}"
    text = f"{old.get(measure, 0):,} → {new.get(measure, 0):,} {measure.replace('_', ' ')}"
    return f"{text}; {_HINTS[measure]}" if measure in _HINTS else text


def _action(line: LineCost, outcome: Outcome) -> str:
    """What most sectors of a line are for: read, write or update."""
    costs = outcome.observations.costs
    sums: dict[str, int] = {}
    for item in costs.instructions if costs is not None else ():
        if item.line == line.line and item.path.endswith(line.file):
            kind = item.kind.partition(".")[0]
            sums[kind] = sums.get(kind, 0) + item.counts.get("sectors", 0)
    return _DEVICE_ACTIONS.get(max(sums, key=lambda kind: sums[kind], default=""), "access")

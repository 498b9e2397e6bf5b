"""Steps in the times of cases over their runs, and the rate of false alarms, for the history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gpuregress.foundation.records import PastResult, TimingStep
from gpuregress.judge.timing import comparison, false_alarms
from gpuregress.report import morning
from gpuregress.store.history import series
from gpuregress.store.history.series import device_kind

_MOST_STEPS = 5


def lines(results: Iterable[PastResult], is_gone: Callable[[str], bool] = lambda _commit: False) -> Iterator[str]:
    """The last steps of each case on each kind of device, and one line on the false alarms of all runs.

    Args:
        results: of any cases, those of a case the newest first.
        is_gone: tells of the hash of a commit whether the repository has it no more.
    """
    by_case: dict[tuple[str, str], list[PastResult]] = {}
    for result in results:
        by_case.setdefault((result.case, device_kind(result.device)), []).append(result)
    for (case, kind), past in sorted(by_case.items()):
        for step in series.find_steps(past)[-_MOST_STEPS:]:
            yield f"{case} on {kind}: {_text(step, past[0].started, is_gone)}"
    gpu = (one for (_, kind), past in by_case.items() if kind != "cpu" for one in past)
    measured = false_alarms.of_samples((one.case, one.samples) for one in gpu if one.samples)
    if measured is not None:
        yield false_alarms.text(measured, "run")


def _text(step: TimingStep, newest: str, is_gone: Callable[[str], bool]) -> str:
    """`983 times as many instructions since 20 Nov, 8eb0c1f (29.7 k → 29.2 M)`."""
    since = f"since {morning.day(step.first.started, newest)}, {step.first.short_commit or step.first.run}"
    if step.first.commit and is_gone(step.first.commit):
        since += ", gone from git"
    if step.measure == "instructions":
        levels = f"{comparison.count_text(int(step.before))} → {comparison.count_text(int(step.after))}"
        return f"{_ratio(step.ratio)} times as many instructions {since} ({levels})"
    word, ratio = ("slower", step.ratio) if step.ratio > 1 else ("faster", 1 / step.ratio)
    return f"{_ratio(ratio)} times {word} {since} ({step.before:.4g} → {step.after:.4g} ms)"


def _ratio(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"

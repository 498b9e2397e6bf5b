"""Amendments of a verdict by what is known beside the case: the cases of its group, a known failure."""

from __future__ import annotations

from collections.abc import Mapping

from gpuregress.foundation.errors import ExitCode
from gpuregress.foundation.records import BufferVerdict, Case, Comparison, KnownFailing, Verdict
from gpuregress.foundation.wording import joined
from gpuregress.gpu.records import replace
from gpuregress.judge.verdict.decision import (
    EXIT_CODES,
    buffer_status,
    expected_sides,
    first_line,
    is_fault_kind,
    joint_status,
    over_limits,
    tolerance_share,
)


def with_agreement(decided: Verdict, comparisons: Mapping[str, Comparison], absent: int) -> Verdict:
    """The verdict on a case together with its comparisons with other cases, with which it must agree.

    Args:
        decided: the verdict on the case by itself: `pass` or `new`.
        comparisons: buffer → its comparison.
        absent: the number of cases of its group that could not be compared.
    """
    buffers = tuple(_with(buffer, comparisons.get(buffer.name)) for buffer in decided.buffers)
    has_baseline = bool(decided.baseline_revision)
    status, reason = joint_status(buffers, has_baseline=has_baseline, overridden=decided.overridden)
    if status == decided.status:
        reason = decided.reason
    notes = list(decided.notes)
    if absent:
        were = "case of its group was" if absent == 1 else "cases of its group were"
        notes.append(f"{absent} {were} not compared: skipped, failed or not run to the end")
    return replace(
        decided,
        status=status,
        reason=first_line(reason),
        buffers=buffers,
        notes=tuple(notes),
        exit_code=EXIT_CODES[status],
        against=expected_sides(buffers),
        tolerance_share=tolerance_share(buffers),
    )


def _with(buffer: BufferVerdict, comparison: Comparison | None) -> BufferVerdict:
    if comparison is None:
        return buffer
    comparisons = (*buffer.comparisons, comparison)
    return replace(buffer, status=buffer_status(comparisons), comparisons=comparisons)


def without_partners(decided: Verdict, others: int) -> Verdict:
    """The verdict on a case that must agree with others, where there is none to compare it with.

    Args:
        decided: the verdict on the case by itself: `pass` or `new`.
        others: the number of the other cases of its group in this run.
    """
    why = "it is alone in this run"
    if others == 1:
        why = "the other one of its group did not run to its end"
    elif others > 1:
        why = f"none of the {others} others of its group ran to its end"
    text = f"nothing to agree with: {why}"
    if decided.status == "new":
        return replace(decided, reason=joined("; ", decided.reason, text))
    return replace(decided, notes=(*decided.notes, text))


def with_known_failure(decided: Verdict, known: KnownFailing, today: str, case: Case) -> Verdict:
    """The verdict on a case whose failure is known: a skip if it fails so, a failure if it passes unexpectedly.

    Another failure than the known one counts. From the day `until` on, the case is judged as any other, and says so.
    Trouble of the harness or the device is never a known failure, and neither is a case without a baseline.

    Args:
        decided: the verdict on the case by itself.
        known: from its job.
        today: ISO 8601.
        case: that ran, or could not.
    """
    ended = f"known_failing ended on {known.until} ({known.why})"
    if decided.status == "pass":
        if today >= known.until:
            return replace(decided, notes=(*decided.notes, f"{ended}, and the case passes: remove the key"))
        reason = f"passes, but is known_failing until {known.until} ({known.why}): remove the key from the job"
        return replace(decided, status="differ", reason=reason, exit_code=EXIT_CODES["differ"])
    if decided.status in ("skip", "new") or decided.exit_code == EXIT_CODES["error"]:
        return decided
    if not _is_known(decided, known, case):
        if today >= known.until:
            return decided
        other = f"another failure than known_failing names, which is {known.failure} ({known.why})"
        return replace(decided, reason=f"{decided.reason} ({other})")
    if today >= known.until:
        return replace(decided, reason=f"{decided.reason} ({ended})", expired=known)
    reason = f"known failing until {known.until} ({known.why}): {decided.headline}"
    is_known = replace(known, status=decided.status)
    return replace(decided, status="skip", reason=reason, exit_code=ExitCode.PASSED, known=is_known)


def _is_undecided(decided: Verdict) -> bool:
    """Whether a function of the user did not run to its end, so that a buffer was compared with nothing."""
    if decided.outcome is not None and decided.outcome.observations.reference.facts.errors:
        return True
    return any(comparison.unanswered for comparison in decided.failing)


def _is_known(decided: Verdict, known: KnownFailing, case: Case) -> bool:
    """Whether a failure is the known one, with nothing else beside it that fails the case."""
    outcome = decided.outcome
    if known.fault and outcome is not None:  # a GPU calls a deadlock a timeout
        is_kind = decided.status in ("fault", "timeout") and is_fault_kind(outcome, known.fault)
    elif decided.status == "differ" and _is_undecided(decided):
        is_kind = known.status == "error"
    else:
        is_kind = decided.status == known.status and known.fault in ("", decided.status)
    if not is_kind:
        return False
    if known.kernel:
        fault = decided.fault
        if fault is None or fault.position is None:
            return False
        return case.launches[fault.position].kernel == known.kernel
    if known.buffer:
        is_over = outcome is not None and bool(over_limits(case, outcome))
        is_slower = decided.timing is not None and decided.timing.fails
        is_costly = any(cost.fails for cost in decided.costs)
        differing = [buffer.name for buffer in decided.buffers if buffer.status == "differ"]
        return differing == [known.buffer] and not (is_over or is_slower or is_costly)
    return True

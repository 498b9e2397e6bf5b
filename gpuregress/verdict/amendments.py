"""Amendments of a verdict by what is known beside the case: the cases of its group, a known failure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from gpuregress.records import BufferVerdict, Comparison, KnownFailing, Verdict
from gpuregress.verdict.buffer_verdicts import buffer_status, expected_sides, joint_status, tolerance_share
from gpuregress.verdict.exit_codes import EXIT_CODES
from gpuregress.verdict.reasons import first_line


def with_agreement(decided: Verdict, comparisons: Mapping[str, Comparison], absent: int) -> Verdict:
    """The verdict on a case together with its comparisons with other cases, with which it must agree.

    Args:
        decided: the verdict on the case by itself: `pass` or `new`.
        comparisons: buffer → its comparison.
        absent: the number of cases of its group that could not be compared.
    """
    buffers = tuple(_with(buffer, comparisons.get(buffer.name)) for buffer in decided.buffers)
    status, reason = joint_status(buffers, has_baseline=bool(decided.baseline_revision))
    if status == decided.status:
        reason = decided.reason
    were = "case of its group was" if absent == 1 else "cases of its group were"
    notes = (f"{absent} {were} not compared: skipped, failed or not run to the end",) if absent else ()
    return dataclasses.replace(
        decided,
        status=status,
        reason=first_line(reason),
        buffers=buffers,
        notes=(*decided.notes, *notes),
        exit_code=EXIT_CODES[status],
        against=expected_sides(buffers),
        tolerance_share=tolerance_share(buffers),
    )


def _with(buffer: BufferVerdict, comparison: Comparison | None) -> BufferVerdict:
    if comparison is None:
        return buffer
    comparisons = (*buffer.comparisons, comparison)
    return dataclasses.replace(buffer, status=buffer_status(comparisons), comparisons=comparisons)


def without_partners(decided: Verdict, others: int) -> Verdict:
    """The verdict on a case that must agree with others, where there is none to compare it with.

    Args:
        decided: the verdict on the case by itself: `pass` or `new`.
        others: the number of the other cases of its group in this run.
    """
    why = f"none of the {others} others of its group ran to its end" if others > 1 else "it is alone in this run"
    text = f"nothing to agree with: {why if others != 1 else 'the other one of its group did not run to its end'}"
    if decided.status == "new":
        return dataclasses.replace(decided, reason="; ".join(filter(None, (decided.reason, text))))
    return dataclasses.replace(decided, notes=(*decided.notes, text))


def with_known_failure(decided: Verdict, known: KnownFailing, today: str) -> Verdict:
    """The verdict on a case whose failure is known: a skip if it fails, a failure if it passes unexpectedly.

    From the day `until` on, the case is judged as any other, and says so. Trouble of the harness or the device is
    never a known failure, and neither is a case without a baseline.

    Args:
        decided: the verdict on the case by itself.
        known: from its job.
        today: ISO 8601.
    """
    ended = f"known_failing ended on {known.until} ({known.why})"
    if decided.status == "pass":
        if today >= known.until:
            return dataclasses.replace(decided, notes=(*decided.notes, f"{ended}, and the case passes: remove the key"))
        reason = f"passes, but is known_failing until {known.until} ({known.why}): remove the key from the job"
        return dataclasses.replace(decided, status="differ", reason=reason, exit_code=EXIT_CODES["differ"])
    if decided.status in ("skip", "new") or decided.exit_code == EXIT_CODES["error"]:
        return decided
    if today >= known.until:
        return dataclasses.replace(decided, reason=f"{decided.reason} ({ended})")
    reason = f"known failing until {known.until} ({known.why}): {decided.headline}"
    is_known = dataclasses.replace(known, status=decided.status)
    return dataclasses.replace(decided, status="skip", reason=reason, exit_code=0, known=is_known)

"""JSON report, results.json: version 1; fields may be added, none changes its meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuregress.foundation.escapes import json_text
from gpuregress.foundation.records import (
    BufferVerdict,
    Comparison,
    FurtherRun,
    Outcome,
    RunSummary,
    VariantVerdict,
    Verdict,
    to_json,
)
from gpuregress.report import terminal

VERSION = 1


def document(summary: RunSummary) -> dict[str, Any]:
    """The whole run as plain JSON values."""
    return {**_head(summary), "cases": [case_document(verdict) for verdict in summary.verdicts]}


def _head(summary: RunSummary) -> dict[str, Any]:
    """The document without its cases."""
    head = {
        "version": VERSION,
        "run": summary.run,
        "device": summary.device,
        "folder": summary.folder,
        "started": summary.started,
        "host": summary.host,
        "commit": summary.commit,
        "branch": summary.branch,
        "dirty": summary.dirty,
        "compiler": summary.compiler,
        "seconds": summary.seconds,
        "exit_code": summary.exit_code,
        "state": summary.state,
        "interrupted": summary.interrupted,
        "cut": summary.cut,
        "unfinished": list(summary.unfinished),
        "notes": [*terminal.missing_lines(summary), *summary.notes, *summary.remarks],
        "missing": to_json(summary.missing),
        "parameter_spaces": to_json(summary.spaces),
        **summary.options,
    }
    optional = {"changes": summary.changes, "false_alarms": summary.false_alarms, "shard": summary.shard}
    return head | _present(optional)


def render(summary: RunSummary) -> str:
    """The document as text; a NaN or infinity becomes a string, so that every JSON reader takes it.

    Cases are written one by one: an encoder of the whole takes ten times the memory of its text.
    """
    head = json_text(finite(_head(summary)), indent=1).removesuffix("\n}")
    texts = [json_text(finite(case_document(verdict)), indent=1) for verdict in summary.verdicts]
    if not texts:
        return f'{head},\n "cases": []\n}}\n'
    cases = ",\n".join(texts).replace("\n", "\n  ")
    return f'{head},\n "cases": [\n  {cases}\n ]\n}}\n'


def _present(optional: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON forms of the values that are there."""
    return {key: to_json(value) for key, value in optional.items() if value is not None}


def case_document(verdict: Verdict) -> dict[str, Any]:
    """One entry of `cases`."""
    outcome = verdict.outcome or Outcome(verdict.case, "done")
    entry = {
        "job": verdict.job,
        "case": verdict.case,
        "parameters": dict(verdict.parameters),
        "verdict": verdict.status,
        "reason": verdict.reason,
        "cause": verdict.cause,
        "seconds": verdict.seconds,
        "revision": verdict.revision,
        "baseline_revision": verdict.baseline_revision,
        "exit_code": verdict.exit_code,
        "against": list(verdict.against),
        "changes": list(verdict.changes),
        "notes": list(verdict.notes),
        "fault": to_json(outcome.fault),
        "buffers": list(map(_buffer, verdict.buffers)),
        "launches": to_json(outcome.launches),
        "resources": to_json(outcome.resources),
        "device": outcome.device.name if outcome.device is not None else "",
        "output": outcome.output,
        "tolerance_share": verdict.tolerance_share,
    }
    optional = {
        "infeasible": verdict.infeasible or None,
        "overridden": verdict.overridden or None,
        "location": verdict.location,
        "source": verdict.source or None,
        "accepted": verdict.accepted,
        "known_failing": verdict.known,
        "retried": verdict.retried or None,
        "cost_comparison": verdict.costs or None,
        "timing_comparison": verdict.timing,
        "variants": list(map(_variant, verdict.variants)) or None,
    }
    return entry | _present(optional) | _measured(outcome)


def _measured(outcome: Outcome) -> dict[str, Any]:
    """The measurements of a case: the GPU, timing samples, unwritten elements, the findings of a tool."""
    measured: dict[str, Any] = {}
    if outcome.device is not None:
        card = outcome.device.card
        facts = {"model": outcome.device.model, "arch": outcome.device.arch, "driver": outcome.device.driver}
        measured["device_facts"] = facts | _present({"uuid": card.uuid or None, "bus": card.bus or None})
    seen, writes, instruments = outcome.observations, outcome.observations.writes, outcome.observations.instruments
    published = {
        "timing": seen.timing,
        "instructions": instruments.instructions,
        "uncounted": instruments.uncounted,
        "exchanges": instruments.exchanges,
        "findings": instruments.findings,
        "poison_twice": seen.poisons,
        "sanitizer": seen.sanitizer,
        "unwritten": writes.unwritten,
        "partly": writes.partly,
        "nan": writes.nan,
        "unchanged": writes.unchanged,
        "overwritten": writes.overwritten,
        "orders": seen.orders,
        "coverage": instruments.coverage,
        "costs": instruments.costs,
        "schedule": seen.schedule,
        "schedules": list(map(_schedule, seen.along("schedule"))),
        "conflicts": instruments.conflicts,
    }
    return measured | _without_empty(published)


def _without_empty(published: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON forms of the values that say something."""
    return {key: to_json(value) for key, value in published.items() if value}


def _schedule(run: FurtherRun) -> dict[str, Any]:
    accesses = {}
    for buffer, findings in run.facts.findings.items():
        accesses[buffer] = [finding.message for finding in findings]
    published = {
        "digests": run.facts.digests,
        "dumps": to_json(run.dumps),
        "fault": run.fault,
        "switches": run.facts.switches,
        "replays": run.facts.replays,
        "accesses": accesses,
        "left_out": run.left_out,
    }
    return {"name": run.name} | _without_empty(published)


def _variant(variant: VariantVerdict) -> dict[str, Any]:
    buffers = []
    for comparison in variant.buffers:
        figures = to_json(comparison.figures)
        buffers.append(
            {
                "name": comparison.buffer,
                "changed": comparison.changed,
                "of": comparison.of,
                "same": comparison.same,
                "max_ulp": figures.get("max_ulp"),
                "max_abs": figures.get("max_abs"),
                "max_rel": figures.get("max_rel"),
                "worst": to_json(comparison.worst),
            }
        )
    return {
        "variant": variant.name,
        "first": variant.first,
        "same_as": variant.same_as,
        "message": variant.message,
        "buffers": buffers,
        "instructions": to_json(variant.instructions),
    }


def _buffer(buffer: BufferVerdict) -> dict[str, Any]:
    nothing = Comparison(buffer.name, "", "", same=True, identical=True, of=0)
    main = buffer.main_comparison or nothing
    return {
        "name": buffer.name,
        "verdict": buffer.status,
        "dump": buffer.dump,
        "baseline": buffer.baseline,
        "differing": main.differing,
        "of": main.of,
        "worst": to_json(main.worst),
        "message": main.message,
        "findings": [finding.message for finding in main.findings],
        "first_wrong": to_json(main.first_wrong),
        "comparisons": to_json(buffer.comparisons),
    }


def finite(value: Any) -> Any:
    """Plain JSON values with NaN and infinities as strings."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):  # noqa: PLR0124 - NaN
        return str(value)
    if isinstance(value, dict):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite(entry) for entry in value]
    return value

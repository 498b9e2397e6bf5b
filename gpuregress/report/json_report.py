"""JSON report, results.json: version 1; fields may be added, none changes its meaning."""

from __future__ import annotations

from typing import Any

from gpuregress.foundation.escapes import json_text
from gpuregress.foundation.records import (
    BufferVerdict,
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
    return {
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
        **({"changes": to_json(summary.changes)} if summary.changes is not None else {}),
        **({"false_alarms": to_json(summary.false_alarms)} if summary.false_alarms is not None else {}),
    }


def render(summary: RunSummary) -> str:
    """The document as text; a NaN or infinity becomes a string, so that every JSON reader takes it.

    Cases are written one by one: an encoder of the whole takes ten times the memory of its text.
    """
    head = json_text(finite(_head(summary)), indent=1).removesuffix("\n}")
    texts = [json_text(finite(case_document(one)), indent=1).replace("\n", "\n  ") for one in summary.verdicts]
    cases = ",\n  ".join(texts)
    cases = f"[\n  {cases}\n ]" if cases else "[]"
    return f'{head},\n "cases": {cases}\n}}\n'


def case_document(verdict: Verdict) -> dict[str, Any]:
    """One entry of `cases`."""
    outcome = verdict.outcome
    return {
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
        "fault": to_json(outcome.fault) if outcome is not None else None,
        "buffers": [_buffer(buffer) for buffer in verdict.buffers],
        "launches": to_json(outcome.launches) if outcome is not None else [],
        "resources": to_json(outcome.resources) if outcome is not None else {},
        "device": outcome.device.name if outcome is not None and outcome.device is not None else "",
        "output": outcome.output if outcome is not None else "",
        "tolerance_share": verdict.tolerance_share,
        **({"infeasible": True} if verdict.infeasible else {}),
        **({"location": to_json(verdict.location)} if verdict.location is not None else {}),
        **({"known_failing": to_json(verdict.known)} if verdict.known is not None else {}),
        **({"retried": list(verdict.retried)} if verdict.retried else {}),
        **({"cost_comparison": to_json(verdict.costs)} if verdict.costs else {}),
        **({"timing_comparison": to_json(verdict.timing)} if verdict.timing is not None else {}),
        **({"variants": [_variant(one) for one in verdict.variants]} if verdict.variants else {}),
        **_measured(outcome),
    }


def _measured(outcome: Outcome | None) -> dict[str, Any]:
    """The measurements of a case: the card, timing samples, unwritten elements, the findings of a tool."""
    if outcome is None:
        return {}
    measured: dict[str, Any] = {}
    if outcome.device is not None:
        card = outcome.device.card
        measured["device_facts"] = {
            "model": outcome.device.model,
            "arch": outcome.device.arch,
            "driver": outcome.device.driver,
            **{name: text for name, text in (("uuid", card.uuid), ("bus", card.bus)) if text},
        }
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
        "schedules": [_schedule(run) for run in seen.along("schedule")],
        "conflicts": instruments.conflicts,
    }
    return measured | {key: to_json(value) for key, value in published.items() if value}


def _schedule(run: FurtherRun) -> dict[str, Any]:
    accesses = {buffer: [one.message for one in found] for buffer, found in run.facts.findings.items()}
    published = {
        "digests": run.facts.digests,
        "dumps": to_json(run.dumps),
        "fault": run.fault,
        "switches": run.facts.switches,
        "replays": run.facts.replays,
        "accesses": accesses,
        "left_out": run.left_out,
    }
    return {"name": run.name, **{key: value for key, value in published.items() if value}}


def _variant(variant: VariantVerdict) -> dict[str, Any]:
    return {
        "variant": variant.name,
        "first": variant.first,
        "same_as": variant.same_as,
        "message": variant.message,
        "buffers": [
            {
                "name": one.buffer,
                "changed": one.changed,
                "of": one.of,
                "same": one.same,
                **{key: to_json(one.figures).get(key) for key in ("max_ulp", "max_abs", "max_rel")},
                "worst": to_json(one.worst),
            }
            for one in variant.buffers
        ],
        "instructions": to_json(variant.instructions),
    }


def _buffer(buffer: BufferVerdict) -> dict[str, Any]:
    main = terminal.telling(buffer)
    return {
        "name": buffer.name,
        "verdict": buffer.status,
        "dump": buffer.dump,
        "baseline": buffer.baseline,
        "differing": main.differing if main else 0,
        "of": main.of if main else 0,
        "worst": to_json(main.worst) if main else None,
        "message": main.message if main else "",
        "findings": [finding.message for finding in main.findings] if main else [],
        "first_wrong": to_json(main.first_wrong) if main else None,
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

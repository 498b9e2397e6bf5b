"""Reasons of verdicts, a line each, from messages and faults."""

from __future__ import annotations

from gpuregress.foundation.records import Fault, Outcome


def fault_line(outcome: Outcome) -> str:
    """Describe the fault that ended a case, with the number of its launch."""
    fault = outcome.fault or Fault(outcome.state, outcome.message or "no more is known")
    where = "" if fault.launch is None else f" (launch {fault.launch})"
    return f"{fault.kind}: {fault.message}{where}"


def headline(text: str) -> list[str]:
    """The lines of a message; a first one that ends with a colon is joined with the second one."""
    first, *more = text.splitlines() or [""]
    return [f"{first} {more[0].strip()}", *more[1:]] if more and first.endswith(":") else [first, *more]


def first_line(text: str) -> str:
    """Return the first line of a text, "" if it is empty."""
    return text.splitlines()[0] if text else ""

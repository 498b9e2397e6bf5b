"""Groups of failures that are alike: one job, one verdict, one cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuregress.gpu.records import Record


class Group(Record):
    """Cases of a job that failed with one verdict for one cause.

    Attributes:
        job: the job's name.
        status: their verdict.
        cause: in words, "" where none is known.
        cases: their entries of results.json, the most telling first.
        shared: what their parameters have in common, in words.
    """

    job: str
    status: str
    cause: str
    cases: tuple[Mapping[str, Any], ...]
    shared: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """`fault: out-of-bounds`, or the verdict alone."""
        if self.cause.startswith(self.status):
            return self.cause
        return f"{self.status}: {self.cause}" if self.cause else self.status


def grouped(failed: Sequence[Mapping[str, Any]], spaces: Sequence[Mapping[str, Any]]) -> tuple[Group, ...]:
    """The groups of failures; jobs and groups in the order of the run, the larger groups of a job first.

    Args:
        failed: entries of results.json.
        spaces: its parameter spaces.
    """
    members: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for entry in failed:
        members.setdefault((entry["job"], entry["verdict"], cause(entry)), []).append(entry)
    jobs = {entry["job"]: at for at, entry in reversed(list(enumerate(failed)))}
    ranks = _ranks(spaces)
    groups = [
        Group(job, status, why, tuple(_simplest_first(entries, ranks)), tuple(_shared(entries, spaces)))
        for (job, status, why), entries in members.items()
    ]
    return tuple(sorted(groups, key=lambda group: (jobs[group.job], -len(group.cases))))


def cause(entry: Mapping[str, Any]) -> str:
    """The cause of a failure in words that are the same for all cases that failed alike.

    It is the entry's own, or else, in results of an earlier version, made of the fault's kind or the buffers with their
    strongest patterns.
    """
    if entry.get("cause"):
        return str(entry["cause"])
    fault = entry.get("fault")
    if fault:
        return str(fault["kind"])
    parts = [_of_buffer(buffer) for buffer in entry["buffers"] if buffer["verdict"] == "differ"]
    return ", ".join(dict.fromkeys(parts))


def _of_buffer(buffer: Mapping[str, Any]) -> str:
    failed = [one for one in buffer["comparisons"] if not one["same"]]
    pattern = failed[0]["findings"][0]["pattern"] if failed and failed[0]["findings"] else ""
    return f"{buffer['name']} ({pattern})" if pattern else str(buffer["name"])


def _ranks(spaces: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Case → its place in the group of failures that its parameters decide, the simplest first."""
    return {case: at for space in spaces for group in space["failures"] for at, case in enumerate(group["cases"])}


def _simplest_first(entries: Sequence[Mapping[str, Any]], ranks: Mapping[str, int]) -> list[Mapping[str, Any]]:
    return sorted(entries, key=lambda entry: ranks.get(entry["case"], 0))


def _shared(entries: Sequence[Mapping[str, Any]], spaces: Sequence[Mapping[str, Any]]) -> list[str]:
    names = {entry["case"] for entry in entries}
    texts = (
        group["text"]
        for space in spaces
        if space["job"] == entries[0]["job"]
        for group in space["failures"]
        if group["alternatives"] and not names.isdisjoint(group["cases"])
    )
    return list(dict.fromkeys(texts))

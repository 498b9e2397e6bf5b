"""Groups of failures that are alike: one job, one verdict, one cause."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from gpuregress.foundation.wording import joined
from gpuregress.gpu.records import Record
from gpuregress.report.case_lines import cause_text


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
            return cause_text(self.cause)
        return joined(": ", self.status, self.cause)


def grouped(failed: Sequence[Mapping[str, Any]], spaces: Sequence[Mapping[str, Any]]) -> tuple[Group, ...]:
    """The groups of failures; jobs and groups in the order of the run, the larger groups of a job first.

    Args:
        failed: entries of results.json.
        spaces: its parameter spaces.
    """
    members: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for entry in failed:
        members.setdefault((entry["job"], entry["verdict"], cause(entry)), []).append(entry)
    ranks = _ranks(spaces)
    groups = []
    for (job, status, why), entries in members.items():
        simplest_first = sorted(entries, key=lambda entry: ranks.get(entry["case"], 0))
        groups.append(Group(job, status, why, tuple(simplest_first), tuple(_shared(entries, spaces))))
    jobs = dict(zip(dict.fromkeys(entry["job"] for entry in failed), itertools.count(), strict=False))
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
    for comparison in buffer["comparisons"]:
        if not comparison["same"]:
            if comparison["findings"]:
                return f"{buffer['name']} ({comparison['findings'][0]['pattern']})"
            break
    return str(buffer["name"])


def _ranks(spaces: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Case → its rank in the group of failures that its parameters decide, the simplest first."""
    ranks: dict[str, int] = {}
    for space in spaces:
        for group in space["failures"]:
            ranks.update(zip(group["cases"], itertools.count(), strict=False))
    return ranks


def _shared(entries: Sequence[Mapping[str, Any]], spaces: Sequence[Mapping[str, Any]]) -> list[str]:
    """The texts on the parameters of these cases, each once."""
    names = {entry["case"] for entry in entries}
    texts: dict[str, None] = {}
    for space in spaces:
        if space["job"] != entries[0]["job"]:
            continue
        for group in space["failures"]:
            if group["alternatives"] and not names.isdisjoint(group["cases"]):
                texts[group["text"]] = None
    return list(texts)

"""Merge of several runs into one result: the shards of a run, or runs of different jobs.

No case may be in two of them, and all must be of one commit. Where the runs are shards, the missing ones are reported,
and each planned case without a result is counted: the result of a part never passes for that of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from gpuregress.foundation.errors import Interrupted, NothingToDo, UsageError
from gpuregress.foundation.records import Missing, NightChanges, RunSummary, State, Verdict
from gpuregress.foundation.wording import first_names, plural
from gpuregress.gpu.records import Record, replace
from gpuregress.judge import parameter_spaces, timing_comparison, verdict
from gpuregress.session.runs import journal, results
from gpuregress.session.runs.journal import Journal
from gpuregress.store.history import series

_WORST_FIRST: tuple[State, ...] = ("running", "cut short", "interrupted", "finished")
_MOST_NAMED = 3


class _Part(Record):
    """One of the runs.

    Attributes:
        read: its journal.
        summary: the run.
    """

    read: Journal
    summary: RunSummary

    @property
    def name(self) -> str:
        """The run in messages; its host tells equal names apart."""
        shard = self.summary.shard
        return f"{self.summary.run} on {self.summary.host}" + (f" ({shard.name})" if shard is not None else "")

    @property
    def cases(self) -> frozenset[str]:
        """The cases that it planned, and those on which it has a verdict; a wrong job is none."""
        judged = (entry.verdict for entry in self.read.entries)
        return frozenset((*self.read.start.cases, *(reached.case for reached in judged if reached.case != reached.job)))


def merge(folders: Sequence[Path]) -> RunSummary:
    """Merge runs.

    Args:
        folders: of the runs.

    Returns:
        One summary: its exit code is the worst of theirs, and 4 where a shard or the result of a case is missing.

    Raises:
        UsageError: two of them have a case in common, or they are of different commits or splits.
        StorageError: the journal of one was edited or cut short.
    """
    parts = []
    for folder in folders:
        read = journal.read(folder)
        results.document(folder)  # refuses one that was edited
        parts.append(_Part(read, results.summary_of(read)))
    _refuse_different(parts)
    _refuse_overlap(parts)
    absent = _missing_shards(parts)
    _refuse_different_sources(parts)
    summaries = [part.summary for part in parts]
    joined = join(summaries)
    verdicts: dict[tuple[str, str], Verdict] = {}
    for reached in joined.verdicts:  # a wrong job is reported by each shard that has a case of it
        verdicts.setdefault((reached.case, reached.status), reached)
    ordered = tuple(verdicts[key] for key in sorted(verdicts, key=_order))
    return replace(
        joined,
        run=_shared(summaries, lambda summary: summary.run, " + "),
        folder="",
        started=min(summary.started for summary in summaries),
        seconds=_elapsed_s(summaries),
        verdicts=ordered,
        notes=_notes(parts),
        missing=(*absent.missing, *_unfinished(parts), *joined.missing),
        exit_code=_exit_code(joined, absent),
        is_kept=False,
        unfinished=(*joined.unfinished, *absent.cases),
        host=_shared(summaries, lambda summary: summary.host),
        branch=_shared(summaries, lambda summary: summary.branch),
        dirty=any(summary.dirty for summary in summaries),
        compiler=_shared(summaries, lambda summary: summary.compiler),
        changes=None,
        false_alarms=timing_comparison.false_alarms_of(ordered),
        options={"merged": [_document(part) for part in parts]},
        shard=None,
    )


def join(summaries: Sequence[RunSummary]) -> RunSummary:
    """Join the summaries of runs that have no case in common; what they cannot share is the first one's.

    The exit code is the worst; one that had nothing to run counts only where all had nothing.
    """
    codes = {summary.exit_code for summary in summaries}
    if len(codes) > 1:
        codes.discard(NothingToDo.exit_code)
    verdicts: tuple[Verdict, ...] = concatenated(summaries, "verdicts")
    return replace(
        summaries[0],
        device=_shared(summaries, lambda summary: summary.device),
        seconds=sum(summary.seconds for summary in summaries),
        verdicts=verdicts,
        notes=tuple(dict.fromkeys(concatenated(summaries, "notes"))),
        remarks=tuple(dict.fromkeys(concatenated(summaries, "remarks"))),
        missing=concatenated(summaries, "missing"),
        unfinished=concatenated(summaries, "unfinished"),
        spaces=parameter_spaces.summarize(verdicts),
        state=min((summary.state for summary in summaries), key=_WORST_FIRST.index),
        exit_code=min(codes, key=(Interrupted.exit_code, *verdict.EXIT_PRECEDENCE).index),
        is_kept=all(summary.is_kept for summary in summaries),
    )


def concatenated(records: Sequence[RunSummary] | Sequence[NightChanges], field: str) -> tuple[Any, ...]:
    """Concatenate a field of records that is a tuple."""
    entries: list[Any] = []
    for record in records:
        entries += getattr(record, field)
    return tuple(entries)


class _SourceKey(Record):
    """What decides from which files the kernels of a case are compiled."""

    job: str
    arch: str
    compiler: str
    options: tuple[str, ...]
    defines: tuple[str, ...]


class _Absent(Record):
    """What no run has.

    Attributes:
        missing: a failure for each shard, or for the cases that the shards left out and none has.
        cases: the planned cases without a run.
    """

    missing: tuple[Missing, ...] = ()
    cases: tuple[str, ...] = ()


def _refuse_different(parts: Sequence[_Part]) -> None:
    """Refuse runs whose results are of different code."""
    shards = [part for part in parts if part.summary.shard is not None]
    for what, values in (
        ("commits", {part.name: part.summary.commit[:12] for part in parts}),
        ("versions of gpuregress", {part.name: part.read.start.gpuregress for part in parts}),
        ("values of --set", {part.name: " ".join(part.read.start.overrides) for part in parts}),
        ("options", {part.name: " ".join(part.read.start.options) for part in shards}),
    ):
        if len(set(values.values())) > 1:
            named = "; ".join(f"{name}: {value or 'none'}" for name, value in values.items())
            raise UsageError(f"runs of different {what} cannot be merged: {named}")


def _refuse_overlap(parts: Sequence[_Part]) -> None:
    """Refuse runs that have a case in common: nobody could tell which result counts."""
    owner: dict[str, _Part] = {}
    for part in parts:
        common = sorted(name for name in part.cases if name in owner)
        if common:
            other = owner[common[0]]
            raise UsageError(
                f"{other.name} and {part.name} overlap: both have {first_names(common, _MOST_NAMED)}; "
                "merge one of them, and run shards of one split (the same commit, options and number of shards)"
            )
        owner |= dict.fromkeys(part.cases, part)


def _refuse_different_sources(parts: Sequence[_Part]) -> None:
    """Refuse runs of one job that was compiled from different sources, by the digests that the cases recorded."""
    known: dict[_SourceKey, tuple[str, _Part]] = {}
    for part in parts:
        for entry in part.read.entries:
            made_of = entry.made_of
            if entry.case is None or made_of is None:
                continue
            # With other macros, options or compilers a source may include other files.
            key = _SourceKey(
                job=entry.case.job,
                arch=made_of.arch,
                compiler=made_of.compiler,
                options=made_of.options,
                defines=tuple(repr(source.defines) for source in entry.case.sources),
            )
            digest, first = known.setdefault(key, (made_of.source, part))
            if digest != made_of.source and first is not part:
                raise UsageError(
                    f"{first.name} and {part.name} are of different code: the kernel of {entry.case.job}, or a file "
                    "that it includes, differs; run both anew, of the same files"
                )


def _missing_shards(parts: Sequence[_Part]) -> _Absent:
    """Find the shards that are not there, and the cases of which no run knows a result.

    Raises:
        UsageError: two shards are of different splits, or are the same one.
    """
    shards = {part.name: part.summary.shard for part in parts if part.summary.shard is not None}
    if not shards:
        return _Absent()
    splits = {shard.split for shard in shards.values()}
    if len(splits) > 1:
        raise UsageError(
            f"{' and '.join(shards)} are shards of different splits: their cases, the times beside the baselines "
            "or the numbers of shards differ, so cases may be missing; run all shards anew, of one commit"
        )
    (first_name, first), *others = shards.items()
    for name, shard in others:
        _refuse_other_files(first_name, first.files, name, shard.files)
    named: dict[int, str] = {}
    for name, shard in shards.items():
        if shard.number in named:  # of which both are empty: else they overlap
            raise UsageError(f"{named[shard.number]} and {name} are the same shard: merge one of them")
        named[shard.number] = name
    known = {name for part in parts for name in part.cases}
    cases = tuple(dict.fromkeys(name for shard in shards.values() for name in shard.left_out if name not in known))
    absent = [number for number in range(1, first.count + 1) if number not in named]
    if not absent and not cases:
        return _Absent()
    which = first_names([f"{number}" for number in absent], most=20) or "none"
    noun = "shard" if len(absent) == 1 else "shards"
    text = f"{noun} {which} of {first.count} missing"
    if cases:
        text += f": no result of {plural(len(cases), 'case')}, {first_names(cases, _MOST_NAMED)}"
    return _Absent((Missing(f"{noun} {which} of {first.count}", (text,)),), cases)


def _unfinished(parts: Sequence[_Part]) -> Iterator[Missing]:
    """A failure for each run that did not come to its end; it counts as those of a missing shard do."""
    for part in parts:
        state, names = part.summary.state, part.summary.unfinished
        if state == "finished":
            continue
        verb = "is" if state == "running" else "was"
        text = f"{part.name} {verb} {state}"
        if names:
            text += f": no result of {plural(len(names), 'case')}, {first_names(names, _MOST_NAMED)}"
        yield Missing(part.name, (text,))


def _refuse_other_files(name: str, files: Mapping[str, str], other_name: str, other_files: Mapping[str, str]) -> None:
    """Refuse two shards whose jobs are made of different files: one commit may have been changed in one place only."""
    different = [job for job in {**files, **other_files} if files.get(job) != other_files.get(job)]
    if different:
        raise UsageError(
            f"{name} and {other_name} are shards of different code: the files of {first_names(different, _MOST_NAMED)} "
            "differ (kernels with what they include, jobs, references, fills or baselines); run all shards anew, of "
            "the same files"
        )


def _exit_code(joined: RunSummary, absent: _Absent) -> int:
    if absent.missing:
        codes = (verdict.EXIT_CODES["error"], joined.exit_code)
        return min(codes, key=(Interrupted.exit_code, *verdict.EXIT_PRECEDENCE).index)
    # A shard without a case that can run here passes; together they may have none.
    # Where --changed found nothing, none was planned, and all is well.
    has_run_none = verdict.exit_code(joined.verdicts) == NothingToDo.exit_code
    if joined.exit_code == 0 and joined.verdicts and has_run_none:
        return NothingToDo.exit_code
    return joined.exit_code  # failures of known flaky cases do not count in it


def _order(key: tuple[str, str]) -> tuple[bool, series.NaturalKey]:
    """Wrong jobs first, then the cases in natural order."""
    case, _ = key
    return "/" in case, series.natural_key(case)


def _shared(summaries: Sequence[RunSummary], of: Callable[[RunSummary], str], separator: str = ", ") -> str:
    return separator.join(dict.fromkeys(filter(None, map(of, summaries))))


def _elapsed_s(summaries: Iterable[RunSummary]) -> float:
    """The time from the first start to the last end, by the clocks of the hosts."""
    ends, starts = [], []
    for summary in summaries:
        start = datetime.fromisoformat(summary.started).timestamp()
        starts.append(start)
        ends.append(start + summary.seconds)
    return max(ends) - min(starts)


def _notes(parts: Sequence[_Part]) -> tuple[str, ...]:
    """The notes of all runs, without the shards' own on what they leave out; and why their code may differ."""
    notes: dict[str, None] = {}
    unknown = [part.name for part in parts if part.summary.dirty or not part.summary.commit]
    if unknown and any(part.summary.shard is None for part in parts):
        names = first_names(unknown, _MOST_NAMED)
        notes[f"the code of {names} is no commit's: the other runs may be of different code"] = None
    options = {part.name: " ".join(part.read.start.options) or "none" for part in parts}
    if len(set(options.values())) > 1:
        named = "; ".join(f"{name}: {value}" for name, value in options.items())
        notes[f"the runs were judged with different options: {named}"] = None
    for part in parts:
        for note in part.summary.notes:
            if part.summary.shard is None or not note.startswith(f"{part.summary.shard.name} has "):
                notes[note] = None
    return tuple(notes)


def _document(part: _Part) -> dict[str, Any]:
    """What `results.json` says of one run."""
    shard = part.summary.shard
    return {
        "run": part.summary.run,
        "host": part.summary.host,
        "shard": None if shard is None else [shard.number, shard.count],
        "state": part.summary.state,
        "exit_code": part.summary.exit_code,
        "seconds": part.summary.seconds,
    }

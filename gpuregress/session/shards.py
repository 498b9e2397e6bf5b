"""Shards of a run: the planned cases in several parts, of which each host runs one.

The shards of a run do not talk to each other, so all must make the same split. It is therefore a function of the plan
and of files that are committed: the names of the cases, the groups that must agree, and `times.json` beside the
baselines. The history of a host decides nothing, for another host has another one; `history --times` writes the file
from it. Each run records the digest of its split, and `report --merge` finds a case that is missing or there twice. It
also records a digest of the files of each job, for two hosts may have one commit and different code.
"""

from __future__ import annotations

import contextlib
import heapq
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median

from gpuregress.foundation import storage
from gpuregress.foundation.errors import NothingToDo, StorageError
from gpuregress.foundation.records import Case, ShardPart
from gpuregress.foundation.wording import plural
from gpuregress.gpu.records import Record
from gpuregress.jobs.plan.case_files import CaseFiles
from gpuregress.session.runs import past_runs
from gpuregress.store.baselines import manifest
from gpuregress.store.history import History
from gpuregress.store.history.series import device_kind
from gpuregress.store.project import SETTINGS_FILE, Project

FILE = "times.json"
"""Beside the baselines, and committed with them: the seconds of each case, which balance the shards."""
_ADVICE = "take it from git again, or write it anew with `gpuregress history --times`"
_SETTINGS = "the project's settings"
"""In place of a job: the files of settings."""
_LONGEST_S = 1e9
"""A longer time is none, and sums of such times may be infinite."""
_FOLDERS = re.compile(r"(?<!\.)/(?:[^/\"']+/)*")
"""The folders of an absolute path, as in `-include=/home/ada/kernels/config.h`: another host has other ones."""
_LAST = 5
"""Results of a case whose median is its time."""


class ShardCases(Record):
    """The cases of a shard.

    Attributes:
        part: what is recorded of it.
        cases: its own, in the order of the plan.
        others: those of the other shards, likewise.
    """

    part: ShardPart
    cases: tuple[Case, ...]
    others: tuple[Case, ...]

    @property
    def note(self) -> str:
        """What the shard leaves out, for the user."""
        every = len(self.cases) + len(self.others)
        of = f"{self.part.name} has {len(self.cases)} of {plural(every, 'case')}"
        return f"{of}; the other {len(self.others)} were left out: `gpuregress report --merge` joins the shards"


def select(project: Project, cases: Sequence[Case], number: int, count: int) -> ShardCases:
    """Select the cases of one shard.

    Args:
        project: whose committed times balance the shards.
        cases: all that are planned.
        number: of the shard, from 1.
        count: of all shards.

    Raises:
        StorageError: the file of times was edited or cut short.
    """
    numbers = _split(cases, _committed_times(project), count)
    own = tuple(case for case in cases if numbers[case.name] == number)
    others = tuple(case for case in cases if numbers[case.name] != number)
    digest = storage.digest_text(json.dumps([count, *sorted(numbers.items())]).encode())
    part = ShardPart(
        number=number,
        count=count,
        split=digest,
        left_out=tuple(case.name for case in others),
        files=_digests_of_jobs(project, cases),
    )
    return ShardCases(part, own, others)


def _digests_of_jobs(project: Project, cases: Sequence[Case]) -> dict[str, str]:
    """Digest the files of each job, and the project's settings: its kernels, what fills and judges it, its baselines.

    The names are relative to the project, which may be in another folder on another host. Of a file elsewhere, and in
    an option, only the last part of a name counts.
    """
    collector = CaseFiles()
    files: dict[str, set[Path]] = {_SETTINGS: {project.root / SETTINGS_FILE, project.root / "pyproject.toml"}}
    options: dict[str, set[str]] = {}
    for case in cases:
        manifest_file = project.baselines / case.name / manifest.FILE
        files.setdefault(case.job, set()).update(collector.of(case).files, (manifest_file,))
        for source in case.sources:
            text = json.dumps([*source.options, *sorted(source.defines.items())], default=str)
            options.setdefault(case.job, set()).add(_FOLDERS.sub("", text))
    known: dict[Path, str] = {}  # jobs share their headers
    digests = {}
    for job, paths in files.items():
        lines = sorted(options.get(job, ()))
        for path in paths:
            if path not in known:
                known[path] = _digest_line(project, path)
        lines += sorted({known[path] for path in paths})
        digests[job] = storage.digest_text("\n".join(lines).encode())
    return digests


def _digest_line(project: Project, path: Path) -> str:
    name = Path(path.name)
    for root in (project.root.resolve(), project.root):  # the scanner of includes resolves symbolic links
        if path.is_relative_to(root):
            name = path.relative_to(root)
    try:
        return f"{name} {storage.digest_file(path)}"
    except StorageError:  # the run reports a file that it lacks
        return f"{name} is missing"


def _split(cases: Sequence[Case], times: Mapping[str, float], count: int) -> dict[str, int]:
    """Return the number of each case's shard: the longest group first, to the shard that has the least so far.

    Cases that must agree stay together, for they are compared with each other. R. L. Graham, Bounds on Multiprocessing
    Timing Anomalies, SIAM Journal on Applied Mathematics 17, 1969.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for case in cases:
        groups.setdefault(case.agreement_group or (case.path, case.name), []).append(case.name)
    seconds = _expected_seconds(cases, times)
    longest_first = sorted(groups.values(), key=lambda names: (-sum(seconds[name] for name in names), min(names)))
    loads = [(0.0, 0, number) for number in range(1, count + 1)]
    numbers: dict[str, int] = {}
    for names in longest_first:
        load, had, number = heapq.heappop(loads)
        numbers |= dict.fromkeys(names, number)
        heapq.heappush(loads, (load + sum(seconds[name] for name in names), had + len(names), number))
    return numbers


def _expected_seconds(cases: Sequence[Case], times: Mapping[str, float]) -> dict[str, float]:
    """The seconds of each case; one without a time has the mean of its job, else that of all, else any."""
    of_job: dict[str, list[float]] = {}
    for case in cases:
        if case.name in times:
            of_job.setdefault(case.job, []).append(times[case.name])
    known = [seconds for of in of_job.values() for seconds in of]
    usual = fmean(known) if known else 1.0
    means = {job: fmean(seconds) for job, seconds in of_job.items()}
    return {case.name: times.get(case.name, means.get(case.job, usual)) for case in cases}


def _committed_times(project: Project) -> dict[str, float]:
    path = project.baselines / FILE
    if not path.exists():
        return {}
    document = storage.read_json(path, _ADVICE)
    if not isinstance(document, dict) or not all(_is_time(value) for value in document.values()):
        raise storage.damaged(path, _ADVICE)
    return document


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LONGEST_S


class WrittenTimes(Record):
    """The written file of times.

    Attributes:
        cases: the number of its cases.
        kept: of these, the ones whose times it had before and this host does not know.
    """

    path: Path
    cases: int
    kept: int


def write_times(project: Project, history: History) -> WrittenTimes:
    """Write the times of the cases in the history to the file that shards are balanced by.

    A host of shards has only some of the cases, so the file keeps the times of all others that a job still has.

    Args:
        history: the project's. The kind of device of the newest run counts: times of several kinds are not comparable.

    Raises:
        NothingToDo: no run has ended yet.
        StorageError: no space, no permission.
    """
    runs = history.runs(1)
    if not runs:
        raise NothingToDo("no run has ended yet: there are no times")
    kind = device_kind(runs[0].device)
    times = {}
    for name in sorted(history.case_names()):
        results = [past for past in history.trend(name, _LAST, kind) if past.verdict != "skip"]
        if results:
            times[name] = float(f"{median(past.seconds for past in results):.3g}")
    known = {}
    with contextlib.suppress(StorageError):  # a damaged file is written anew
        known = _committed_times(project)
    names = sorted(past_runs.present_cases(project, {**known, **times}))
    kept = sum(name not in times for name in names)
    times = {name: times.get(name, known.get(name, 0.0)) for name in names}
    path = project.baselines / FILE
    storage.refuse_links(project.baselines, path)
    storage.write_atomic(path, (json.dumps(times, indent=1, ensure_ascii=False) + "\n").encode())
    return WrittenTimes(path, len(times), kept)

"""First wrong launch between two revisions, from digests or dumps that were kept of each launch.

Dumps of every launch decide by the buffers' rules. Without them, digests do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.records import BufferVerdict, Case, Dump, Outcome, Rule
from gpuregress.gpu.records import Record, replace
from gpuregress.judge import first_wrong
from gpuregress.judge.first_wrong import DescribedEvidence, DigestEvidence, RecordedSide
from gpuregress.judge.launch_slice import Origin, Timeline, UnknownState
from gpuregress.session.runs import results
from gpuregress.session.runs.results import FinishedCase
from gpuregress.store import launch_log
from gpuregress.store.baselines import BaselineStore
from gpuregress.store.dumps import files
from gpuregress.store.project import Project

LAUNCHES = "launches"
"""In a run's folder: the dumps after each launch."""

Differs = Callable[[Path, Path, str], bool]
"""Whether two dumps of a buffer differ under its rule."""


class CaseResults(Record):
    """The results of one side: buffer → dump, and the outcome where the case was run just now."""

    dumps: Mapping[str, Path]
    outcome: Outcome | None = None


def with_first_wrong(
    project: Project,
    case: Case,
    sides: tuple[CaseResults, CaseResults],
    buffers: Sequence[BufferVerdict],
    differs: Differs,
) -> tuple[BufferVerdict, ...]:
    """Add the first wrong launch to the buffers that differ, where it is known.

    Args:
        project: whose baselines and runs the dumps are from.
        case: with its launches.
        sides: expected and actual.
        buffers: their verdicts.
        differs: compares two dumps.
    """
    if len(case.launches) < 2 or all(buffer.status == "pass" for buffer in buffers):
        return tuple(buffers)
    evidence = _evidence(project, case, sides, differs)
    if evidence is None:
        return tuple(buffers)
    timeline = Timeline(case, ())
    explained = []
    for buffer in buffers:
        wrong = None
        if buffer.status == "differ":
            wrong = first_wrong.find(case, timeline, evidence, buffer.name)
        comparisons = [
            comparison if comparison.same else replace(comparison, first_wrong=wrong)
            for comparison in buffer.comparisons
        ]
        explained.append(replace(buffer, comparisons=tuple(comparisons)))
    return tuple(explained)


def _evidence(
    project: Project, case: Case, sides: tuple[CaseResults, CaseResults], differs: Differs
) -> DescribedEvidence | None:
    before, after = sides
    expected_calls = _calls(project, case, before.dumps)
    actual_calls = _calls(project, case, after.dumps)
    if actual_calls and actual_calls != launch_log.calls_of(case):
        return None  # the case, whose launches would be named, is another one now
    expected_texts = _texts(project, case, before.dumps)
    actual_texts = _texts(project, case, after.dumps)
    if expected_texts and actual_texts:
        return _TextEvidence(case, (expected_texts, actual_texts), differs, expected_calls)
    expected = _digests(project, case, before)
    actual = _digests(project, case, after)
    if expected is None or actual is None:
        return None
    return DigestEvidence(case, expected, actual)


# --- what was kept ----------------------------------------------------------------------------------------------------


def _run_of(case: Case, dumps: Mapping[str, Path]) -> Path | None:
    """The folder of the run that wrote all of the dumps; None where there is no such run."""
    depth = len(case.name.split("/")) + 1
    folders = {path.parents[depth] for path in dumps.values() if path.parents[depth - 1].name == "dumps"}
    if len(folders) != 1:
        return None
    return folders.pop()


def _calls(project: Project, case: Case, dumps: Mapping[str, Path]) -> tuple[str, ...]:
    """The launches that wrote the dumps, as the log writes them, repeats once; none where they are not known."""
    run = _run_of(case, dumps)
    try:
        if run is not None:
            finished = _finished(run).get(case.name)
            return tuple(finished.made_of.launches) if finished is not None else ()
        accepted = BaselineStore.of(project).load(case.name)
    except GpuregressError:
        return ()
    if accepted is None or not _holds(accepted.dumps.values(), dumps):
        return ()
    return tuple(accepted.made_of.launches)


def _digests(project: Project, case: Case, side: CaseResults) -> RecordedSide | None:
    """The digests that a run or the baseline kept of these dumps; None without any."""
    dumps = side.dumps
    if side.outcome is not None:
        return first_wrong.of_outcome(side.outcome, _calls(project, case, dumps))
    run = _run_of(case, dumps)
    try:
        if run is not None:
            finished = _finished(run).get(case.name)
            if finished is None or not _holds(finished.outcome.dumps, dumps):
                return None
            return first_wrong.of_outcome(finished.outcome, finished.made_of.launches)
        accepted = BaselineStore.of(project).load(case.name)
    except GpuregressError:  # a damaged journal or baseline is no reason to compare no dumps
        return None
    if accepted is None or not _holds(accepted.dumps.values(), dumps):
        return None
    return first_wrong.of_baseline(accepted)


def _holds(known: Iterable[Dump], dumps: Mapping[str, Path]) -> bool:
    """Tell whether the dumps are among those of a record."""
    files = {Path(dump.path) for dump in known}
    return set(dumps.values()) <= files


@lru_cache(maxsize=2)
def _finished(run: Path) -> Mapping[str, FinishedCase]:
    return results.read_cases(run)


def _accepted_run(project: Project, case: Case, dumps: Mapping[str, Path]) -> Path | None:
    """The folder of the run whose dumps were accepted; None where these dumps are not the accepted ones."""
    try:
        accepted = BaselineStore.of(project).load(case.name)
    except GpuregressError:
        return None
    if accepted is None or not _holds(accepted.dumps.values(), dumps) or not accepted.history[-1].run:
        return None
    return project.runs / accepted.history[-1].run


def _texts(project: Project, case: Case, dumps: Mapping[str, Path]) -> dict[int, dict[str, Path]]:
    """Number of a launch → buffer → its dump after it; empty where the run did not dump every launch."""
    run = _run_of(case, dumps) or _accepted_run(project, case, dumps)
    if run is None or not (run / LAUNCHES).is_dir():
        return {}
    dump_names = [files.split_name(path.name) for path in dumps.values()]
    revisions = {named[1] for named in dump_names if named}
    after: dict[int, dict[str, Path]] = {}
    for folder in (run / LAUNCHES).iterdir():
        own = folder.joinpath(*case.name.split("/"))
        if not folder.name.isdigit() or not own.is_dir():
            continue
        for path in own.iterdir():
            named = files.split_name(path.name)
            if named is not None and named[1] in revisions:
                after.setdefault(int(folder.name), {})[named[0]] = path
    return after


class _TextEvidence(DescribedEvidence):
    """Evidence from the dumps after every launch of two runs."""

    def __init__(
        self,
        case: Case,
        texts: tuple[Mapping[int, Mapping[str, Path]], Mapping[int, Mapping[str, Path]]],
        differs: Differs,
        expected_calls: tuple[str, ...] = (),
    ) -> None:
        self.expected_calls = expected_calls
        self._case = case
        self._compare = differs
        self._names = {buffer.name: name for name, buffer in case.initial_buffers.items()}
        self._latest = [self._by_memory(after) for after in texts]
        self._known: dict[tuple[Path, Path], bool] = {}
        self.sees_bits = all(rule.is_exact for rule in case.compare.values())

    def _by_memory(self, after: Mapping[int, Mapping[str, Path]]) -> dict[str, list[tuple[int, Path]]]:
        """Memory → the dumps of it, with the numbers of their launches."""
        timeline = Timeline(self._case, ())
        written: dict[str, list[tuple[int, Path]]] = {}
        for number in sorted(after):
            if number > len(self._case.launches):
                continue
            for memory in self._names:
                path = after[number].get(timeline.name_of(memory, number - 1))
                if path is not None:
                    written.setdefault(memory, []).append((number, path))
        return written

    @property
    def checkpoints(self) -> Sequence[int]:
        return (0, *range(1, len(self._case.launches) + 1))

    def differs(self, memory: str, number: int) -> bool:
        last: list[tuple[int, Path]] = []
        for written in self._latest:
            last += [entry for entry in written.get(memory, ()) if entry[0] <= number][-1:]
        if not last:
            return False  # it holds its fill, or the poison
        if len(last) != 2 or last[0][0] != last[1][0]:
            raise UnknownState
        pair = last[0][1], last[1][1]
        if pair not in self._known:
            self._known[pair] = self._compare(*pair, self._names[memory])
        return self._known[pair]

    def breaks_rule(self, buffer: str, origin: Origin) -> bool:
        name = self._names[origin.memory]
        return name in self._case.compare or self._case.compare.get(buffer, Rule()).is_exact

"""Campaign of mutation testing: the mutants of a job, further trials of survivors, and the report."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from gpuregress.foundation.errors import GpuregressError, Interrupted, UsageError
from gpuregress.foundation.records.audits import AuditEvidence
from gpuregress.gpu.records import Record, replace
from gpuregress.lab import calibrate
from gpuregress.lab.mutating import mutants, trials
from gpuregress.lab.mutating import subject as subjects
from gpuregress.lab.mutating.mutants import Mutant
from gpuregress.lab.mutating.programs import Variation
from gpuregress.lab.mutating.ptx_text import idle
from gpuregress.lab.mutating.results import ResultCache
from gpuregress.lab.mutating.subject import NothingNoticed, Subject
from gpuregress.lab.mutating.survivors import RACE, RaceChecks, SurvivorProbes
from gpuregress.lab.mutating.trials import EQUIVALENT, Listed, MutantTrials, Reason, TrialResult
from gpuregress.session.events import Listener
from gpuregress.store.project import Project
from gpuregress.toolchain import cache

_REPEATS = 3
"""Runs of the unchanged case in its usual order, beside those in other orders, for the tightest tolerance."""


class MutateRequest(Record):
    """A request for mutation testing.

    Attributes:
        limit: the most mutants; None: all.
        seed: of the sample.
        fresh: take no results from the cache.
        until: of an audit, when no further mutant begins, seconds of time.monotonic; None: when all are tried.
    """

    limit: int | None = None
    seed: int = 0
    fresh: bool = False
    until: float | None = None

    @property
    def is_late(self) -> bool:
        """Whether its time is over."""
        return self.until is not None and time.monotonic() >= self.until


class TriedMutant(Record):
    """A mutant with its result.

    Attributes:
        operator: by which it was made.
        file: relative to the project; for kernels without CUDA C++, the name that stands for the PTX.
        line: of the change.
        change: in one line.
        diff: unified.
        reason: why it lives; of a killed one, the verdict's reason; of one that is not valid, the refusal.
        case: that noticed it, "" where none did.
        status: of that case's verdict.
        hint: what would notice it, "" where nothing more is known.
    """

    operator: str
    file: str
    line: int
    change: str
    diff: str
    reason: str
    case: str = ""
    status: str = ""
    hint: str = ""


class MutationReport(Record):
    """The results of mutation testing.

    Attributes:
        version: of this record.
        job: the job.
        cases: the number of its cases that every survivor has passed.
        score: (killed + timed out) / (killed + timed out + survived with another program); None without any.
        mutants: that there are.
        tried: that were tried: a sample, or all.
        seed: of the sample.
        killed: noticed by a case.
        survived: noticed by none.
        timed_out: over the time limit, and so noticed.
        not_valid: refused by the compiler or the device; they never count.
        equivalent: survivors with equal PTX or equal optimised code: they do not count, either.
        cached: mutants whose result was known.
        seconds: for all of it.
        tolerance: what a tighter tolerance could be, a line each; none: it is no tolerance that lets mutants live.
        notes: for the user.
        interrupted: whether ^C ended it before all were tried.
        racing: those of the survivors that `--check races` notices.
        score_with_races: the score with them among the killed, as it is where the job has this check.
    """

    version: int
    job: str
    cases: int
    score: float | None
    mutants: int
    tried: int
    seed: int
    killed: tuple[TriedMutant, ...]
    survived: tuple[TriedMutant, ...]
    timed_out: tuple[TriedMutant, ...]
    not_valid: tuple[TriedMutant, ...]
    equivalent: int
    cached: int
    seconds: float
    tolerance: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    racing: int = 0
    score_with_races: float | None = None

    @property
    def noticed(self) -> int:
        """The number of mutants that a case noticed."""
        return len(self.killed) + len(self.timed_out)

    @property
    def alive(self) -> list[TriedMutant]:
        """The mutants that no case noticed, without those that are the same program."""
        return [mutant for mutant in self.survived if mutant.reason not in EQUIVALENT]


def evidence(report: MutationReport, interval: tuple[float, float] | None = None) -> Iterator[AuditEvidence]:
    """Yield what the mutants of a job prove.

    Args:
        report: of the job.
        interval: of a sample, the shares between which that of all mutants lies.
    """
    alive = report.alive
    share = f"{report.noticed} of {report.noticed + len(alive)}"
    text = f"{share} mutants are noticed"
    if interval is not None:
        low, high = interval
        text = (
            f"{share} sampled mutants are noticed; with 95 % confidence {low:.0%} to {high:.0%} of all {report.mutants}"
        )
    yield AuditEvidence("proven", text)
    for mutant in alive:
        text = f"{mutant.reason}: {mutant.operator} in {mutant.file}:{mutant.line}: {mutant.change}"
        details = mutant.diff.splitlines()[2:]
        if mutant.hint:
            details.append(mutant.hint)
        yield AuditEvidence("unnoticed", text, tuple(details))
    tolerated = sum(mutant.reason == "within the tolerance" for mutant in alive)
    if 2 * tolerated > len(alive):
        text = f"the tolerance lets {tolerated} of {len(alive)} survivors live; "
        yield AuditEvidence("unnoticed", f"{text}`gpuregress mutate {report.job}` names the tightest one that holds")


class Campaign:
    """The mutants of a subject and their results, while they are tried.

    Args:
        subject: unchanged.
        chosen: the mutants that are tried, in that order.
        texts: of the files that they change.

    Attributes:
        trials: the trials of the subject's variations; None before the first turn.
        spent_s: seconds of the workers.
        error: why it ended early.
        interrupted: whether ^C ended it.
        listen: receives what came of each mutant.
    """

    def __init__(self, subject: Subject, chosen: Sequence[Mutant], texts: dict[str, str]) -> None:
        self.subject = subject
        self.trials: MutantTrials | None = None
        self.spent_s = 0.0
        self.error: GpuregressError | None = None
        self.interrupted = False
        self.listen: Callable[[str], None] = lambda _text: None
        self._chosen = list(chosen)
        self._texts = texts
        self._results: dict[int, TrialResult] = {}
        self._probes = SurvivorProbes(self._run_probe)
        self._cached = 0
        self._user_cache = cache.folder()
        self._ptx = subjects.ptx_names(subject)
        self._races = RaceChecks(subject.cases, partial(self._try, is_needed=True))
        self._race_hints: dict[int, str] = {}
        self._racing: set[int] = set()

    @property
    def progress(self) -> tuple[int, int]:
        """The number of mutants that have a result, and of all that are tried."""
        return len(self._results), len(self._chosen)

    # --- trials -------------------------------------------------------------------------------------------------------

    def begin(self, trials: MutantTrials, results: ResultCache, request: MutateRequest) -> None:
        """Begin with kernels that do nothing; `_on_idle` goes on."""
        self.trials = trials
        self._known = results
        self._request = request
        idling = self._idle()
        if not request.is_late or self._find(idling) is not None:
            self._try(idling, self._on_idle, is_needed=True)

    def _idle(self) -> Variation:
        """Make the variation in which every launched kernel returns at once."""
        texts: dict[str, str] = {}
        for key, entries in subjects.launched_entries(self.subject).items():
            path = self.subject.programs[key].ptx
            if path:
                texts[key] = idle(Path(path).read_text(encoding="utf-8", errors="replace"), entries)
        return Variation("idle", ptx=texts)

    def _on_idle(self, result: TrialResult) -> None:
        """Begin with the mutants, once a kernel that does nothing has failed."""
        if result.state == "cut":
            return
        if result.state in trials.UNUSABLE or result.state == "timed out":
            raise UsageError(f"the kernels that do nothing cannot be run: {result.reason}")
        if result.state != "killed":
            raise NothingNoticed(
                f"kernels that do nothing pass every case of {self.subject.job}: nothing would notice a mutant; "
                "give the job a baseline, a reference or checks of what the kernels write"
            )
        assert self.trials is not None
        self.trials.follow(partial(self._try_next, iter(enumerate(self._chosen))))

    def _try_next(self, left: Iterator[tuple[int, Mutant]]) -> bool:
        """Try the next mutant, whose text is made now: those of all take much memory.

        When the time is over, only results that are known are taken.
        """
        number, mutant = next(left, (-1, None))
        if mutant is None:
            return False
        variation = self._variation(f"m{number}", mutant, mutant.edits)
        variation = replace(variation, is_compared=mutant.operator in mutants.OF_VALUES)
        if self._request.is_late and self._find(variation) is None:
            return False
        self._try(variation, partial(self._on_trial, number, variation))
        return True

    def _try(self, variation: Variation, listen: Callable[[TrialResult], None], *, is_needed: bool = False) -> None:
        """Try a variation, or find its result; `listen` is given it."""
        known = self._find(variation)
        if known is not None:
            if variation.name.startswith("m") and not variation.checks:
                self._cached += 1
            listen(known)
            return

        def settle(result: TrialResult) -> None:
            with cache.used_folder(self._user_cache):
                self._known.keep(variation, result)
            listen(result)

        assert self.trials is not None
        self.trials.add(variation, settle, is_needed=is_needed)

    def _find(self, variation: Variation) -> TrialResult | None:
        """Find the result of an earlier trial."""
        if self._request.fresh:
            return None
        with cache.used_folder(self._user_cache):
            return self._known.find(variation)

    def _on_trial(self, number: int, variation: Variation, result: TrialResult) -> None:
        """Take a result; a survivor that may be a data race is tried once more, with the check of races."""
        if result.state == "cut" and not result.seconds:
            return  # no case of it has run
        is_race = result.state == "survived" and self._chosen[number].operator in mutants.RACING
        if is_race and not self._request.is_late:
            self._races.check(variation, partial(self._on_checked, number, result))
        else:
            self._on_result(number, result)

    def _on_checked(self, number: int, plain: TrialResult, checked: TrialResult | None) -> None:
        """Take the result with the check of races; None where no unchanged case passes it."""
        if checked is None:
            self._race_hints[number] = _NOT_CHECKED
        elif checked.fault == RACE:
            self._racing.add(number)
            self._race_hints[number] = f"{checked.case}: {checked.reason}; {_ADVICE}"
        elif checked.state == "survived":
            self._race_hints[number] = _NO_RACE
        self._on_result(number, plain)

    def _on_result(self, number: int, result: TrialResult) -> None:
        self._results[number] = result
        mutant = self._chosen[number]
        if result.state == "survived" and not result.changed and number not in self._racing:
            self._probes.probe(number, mutant)
        self.listen(f"{result.state}: {mutant.what}")

    def _run_probe(
        self, name: str, mutant: Mutant, edits: Sequence[mutants.Edit], listen: Callable[[TrialResult], None]
    ) -> None:
        """Run a program that traps; a case that expects a trap would take it for its own."""
        cases = tuple(case.name for case in self.subject.cases if case.expect_fault != "trap")
        if cases:
            variation = replace(self._variation(name, mutant, edits), cases=cases)
            self._try(variation, listen, is_needed=True)

    def _variation(self, name: str, mutant: Mutant, edits: Sequence[mutants.Edit]) -> Variation:
        text = mutants.apply(self._texts[mutant.file], edits)
        if Path(mutant.file).is_absolute():
            return Variation(name, files={mutant.file: text})
        return Variation(name, ptx={self._ptx[mutant.file]: text})

    def tolerance(self, listen: Listener) -> tuple[str, ...]:
        """Find the tightest tolerances; neither ^C nor a failure of their runs loses the results of the mutants."""
        try:
            return tolerance_advice(self.subject, self._results.values(), listen)
        except Interrupted:
            self.interrupted = True
            return ()
        except GpuregressError as error:
            return (f"Most survivors live within the tolerance; the tightest one is not known: {error}",)

    # --- the report ---------------------------------------------------------------------------------------------------

    def report(self, total: int, seed: int, seconds: float, tolerance: tuple[str, ...] = ()) -> MutationReport:
        """Sum up."""
        lists: dict[Listed, list[TriedMutant]] = {}
        for number, result in sorted(self._results.items()):
            lists.setdefault(trials.LISTS[result.state], []).append(self._tried(number, result))
        counts = Counter(result.state for result in self._results.values())
        noticed = sum(counts[state] for state in trials.NOTICED)
        counted = noticed + sum(counts[state] for state in trials.ALIVE)
        score = score_with_races = None
        if counted:
            score = noticed / counted
            score_with_races = (noticed + len(self._racing)) / counted
        return MutationReport(
            version=1,
            job=self.subject.job,
            cases=len(self.subject.cases),
            score=score,
            mutants=total,
            tried=len(self._results),
            seed=seed,
            killed=tuple(lists.get("killed", ())),
            survived=tuple(lists.get("survived", ())),
            timed_out=tuple(lists.get("timed out", ())),
            not_valid=tuple(lists.get("not valid", ())),
            equivalent=sum(counts[state] for state in trials.SAME),
            cached=self._cached,
            seconds=seconds,
            tolerance=tolerance,
            notes=self.subject.notes,
            interrupted=self.interrupted,
            racing=len(self._racing),
            score_with_races=score_with_races,
        )

    def _tried(self, number: int, result: TrialResult) -> TriedMutant:
        mutant = self._chosen[number]
        name = _shown(self.subject.project, mutant.file)
        reason: str = result.reason
        if trials.LISTS[result.state] == "survived":
            reason = self._why(number, result)
        hint = ""
        if reason in ("no case noticed", trials.ONLY_CHECKED):
            hint = self._race_hints.get(number, "")
        return TriedMutant(
            operator=mutant.operator,
            file=name,
            line=mutant.line,
            change=mutant.what,
            diff=mutants.diff(self._texts[mutant.file], mutant, name),
            reason=reason,
            case=result.case,
            status=result.status,
            hint=hint,
        )

    def _why(self, number: int, result: TrialResult) -> Reason:
        """The reason why a mutant lives."""
        if result.state == "equal":
            return "equal PTX"
        if result.state == "equivalent":
            return "equal optimised code"
        if result.state == "cut":
            return "time was over"
        if number in self._racing:
            return trials.ONLY_CHECKED
        if result.changed:
            return "within the tolerance"
        return self._probes.reason(number)


def tolerance_advice(subject: Subject, results: Iterable[TrialResult], listen: Listener) -> tuple[str, ...]:
    """Find the tightest tolerances, where a tolerance lets most of the survivors live; else ().

    Args:
        subject: unchanged.
        results: of its mutants.
        listen: receives the events of the runs.

    Raises:
        Interrupted: ^C.
    """
    alive = [result for result in results if result.state == "survived"]
    tolerated = [result for result in alive if result.changed]
    if 2 * len(tolerated) <= len(alive):
        return ()
    lines = [f"{len(tolerated)} of {len(alive)} survivors change bits of the results within the tolerance."]
    all_shares = [verdict.tolerance_share for verdict in subject.verdicts.values()]
    shares = [share for share in all_shares if share is not None]
    if shares:
        used = f"at most {max(shares):.2g}" if max(shares) else "none"
        lines.append(f"The unchanged results use {used} of it.")
    selector = subject.job if len(subject.cases) > 1 else subject.cases[0].name
    calibration = calibrate.calibrate(subject.project, selector, repeat=_REPEATS, devices=("cpu",), listen=listen)
    lines.append("The tightest rules that repeats and other orders of the blocks allow:")
    rules = [proposal for proposal in calibration.proposals if proposal.holds]
    return (*lines, *[f"  {rule.buffer}: {rule.text or 'every bit equal'}" for rule in rules])


_ADVICE = "with `checks: {device: [races]}` the job notices it"
_NO_RACE = "with `--check races` no case notices it, either"
_NOT_CHECKED = "a data race shows only with `--check races`, which no unchanged case passes"


def _shown(project: Project, file: str) -> str:
    if not Path(file).is_absolute():
        return file
    return os.path.relpath(file, project.root)

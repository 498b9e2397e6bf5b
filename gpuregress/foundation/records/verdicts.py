"""Records of verdicts: on an element, a buffer, a case, a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import field

from gpuregress.foundation.json_form import OneOf
from gpuregress.foundation.records.baselines import AcceptedBy
from gpuregress.foundation.records.cases import KnownFailing
from gpuregress.foundation.records.dumps import FirstWrong
from gpuregress.foundation.records.figures import Element, ErrorFigures, Figures, UlpFigures
from gpuregress.foundation.records.further_runs import Finding, InstructionChange
from gpuregress.foundation.records.outcomes import Fault, Outcome
from gpuregress.foundation.records.parameter_spaces import ParameterSpace
from gpuregress.foundation.records.statuses import Status, headline
from gpuregress.foundation.records.trends.nights import Extent, NightChanges
from gpuregress.gpu.instruments import CostComparison
from gpuregress.gpu.records import Record, Sparse

State = Literal["running", "finished", "interrupted", "cut short"]
"""The state of a run: `cut short` ended without a record (kill -9, a power cut)."""


class Accuracy(Record):
    """The error of a result against its reference.

    Attributes:
        max_ulp: the largest error, in ulp of the result's dtype at the reference's value.
        rms_ulp: the root of the mean squared error, in the same unit.
        misplaced: elements that are NaN or infinite on one side only; they are not in the other two.
    """

    max_ulp: float
    rms_ulp: float
    misplaced: int = 0


class AccuracyReport(Record):
    """The accuracy of a result, beside the accepted one's.

    Attributes:
        dtype: of the result, whose ulp are counted.
        actual: this run's.
        baseline: the accepted result's; None without one, or where nobody asked.
        revision: of the accepted result, "" without one.
        trend: this run's compared with the accepted one's; "" without one.
    """

    dtype: str
    actual: Accuracy
    baseline: Accuracy | None = None
    revision: str = ""
    trend: Literal["", "more accurate", "less accurate", "as accurate", "mixed"] = ""


class Comparison(Record):
    """The comparison of one buffer with its expected contents.

    Attributes:
        buffer: its name.
        against: `baseline`, `reference`, `check`, `verify`, `repeat`, `schedule`, `variant`, `seeds`, `agree`
            (other cases of the run) or `first` (the first accepted baseline).
        rule: the rule in words, with its formula.
        same: the verdict under the rule.
        identical: every bit the same, in order.
        of: elements compared.
        differing: elements that break the rule.
        changed: elements whose bits differ at all, in order.
        multiset_same: whether the values are equal in another order; None if unknown.
        only_expected: under `order: any`, values only in the baseline.
        only_actual: values only in this run.
        worst: the worst element by the rule.
        first: the first few that break it.
        message: what is wrong in one line, "" if nothing is.
        findings: what it looks like, the strongest first.
        figures: further figures; `numbers` in JSON.
        accuracy: the error in ulp, of a comparison with a twin or a reference that asks for it.
        first_wrong: the launch after which it first differed, None where that is not known.
        tolerance_share: the largest part of its tolerance that an element used, over 1 where one broke it; None without
            a tolerance, and where an element broke it by no finite part (a NaN, an error where none is allowed).
        unanswered: whether the user's function that decides raised, died or returned no bool, so that nothing is known.
    """

    buffer: str
    against: str
    rule: str
    same: bool
    identical: bool
    of: int
    differing: int = 0
    changed: int = 0
    multiset_same: bool | None = None
    only_expected: int = 0
    only_actual: int = 0
    worst: Element | None = None
    first: tuple[Element, ...] = ()
    message: str = ""
    findings: tuple[Finding, ...] = ()
    figures: OneOf[UlpFigures | ErrorFigures | Figures] = field(default=Figures(), name="numbers")
    accuracy: AccuracyReport | None = None
    first_wrong: FirstWrong | None = None
    tolerance_share: float | None = None
    unanswered: bool = False

    @property
    def difference(self) -> str:
        """The message, or the number of differing elements."""
        if self.message:
            return self.message
        if self.differing:
            return f"{self.differing} of {self.of} differ"
        return "differs"  # the elements that fail are not known, as for a sum


class BufferVerdict(Record):
    """A buffer's verdict with its comparisons; the paths are for people, "" if there is no such file."""

    name: str
    status: Status = field(name="word")
    dump: str = ""
    baseline: str = ""
    comparisons: tuple[Comparison, ...] = ()

    @property
    def failing(self) -> tuple[Comparison, ...]:
        """The comparisons that are not the same."""
        return tuple(comparison for comparison in self.comparisons if not comparison.same)

    @property
    def main_comparison(self) -> Comparison | None:
        """The first comparison that is not the same, else the first; None without any."""
        for comparison in (*self.failing, *self.comparisons):
            return comparison
        return None


class VariantVerdict(Record):
    """The comparison of a case with itself, compiled with other settings.

    Attributes:
        name: the settings that differ from the first combination, `fast_math=on`.
        first: the first combination, `fmad=on,fast_math=off`.
        same_as: the combination that has the same program, "" for none.
        message: why it faulted or could not be run, "" if it did.
        buffers: the buffers whose bits changed, compared bit by bit; `same` tells whether they keep their rule.
        instructions: source lines whose floating-point instructions differ.
    """

    name: str
    first: str
    same_as: str = ""
    message: str = ""
    buffers: tuple[Comparison, ...] = ()
    instructions: tuple[InstructionChange, ...] = ()


class SourceLocation(Record):
    """The line of a job or of a kernel source that a report names for a failure.

    Attributes:
        file: absolute.
        line: counted from 1; 0 for the whole file.
        calls: the calls that the line is inlined into, innermost first, as far as they are in files of the project.
    """

    file: str
    line: int = 0
    calls: tuple[SourceLocation, ...] = ()


class Problem(Record):
    """An error for which a run ended before its cases.

    Attributes:
        message: for people.
        location: None where no file is to blame.
    """

    message: str
    location: SourceLocation | None = None


class TimingComparison(Sparse):
    """The comparison of a case's times, or instruction counts, with the accepted ones.

    Attributes:
        status: `same` includes a difference of less than 2 %; `unclear`: the samples cannot tell.
        measure: what is compared: samples of the time, or the executed instructions.
        message: the result in one line.
        fails: whether it is significantly slower than the job's `timing: {limit: …}` allows.
        expected: the median of the accepted samples in ms, or the accepted count.
        actual: this run's.
        ratio: actual / expected; None where nothing is compared.
        low: lower end of the 95 % interval of the ratio of the medians.
        high: upper end.
        p: of the Mann-Whitney test; None for counts, which are exact.
        effect: Cliff's delta, -1 to 1; positive where this run is slower.
        limit: the job's.
        revision: of the accepted samples.
        same_code: whether the machine code is the accepted one; None where that is not known.
    """

    status: Literal["faster", "slower", "same", "unclear"]
    measure: Literal["time", "instructions"]
    message: str
    fails: bool = False
    expected: float | None = None
    actual: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    effect: float | None = None
    limit: float | None = None
    revision: str = ""
    same_code: bool | None = None


class FalseAlarms(Record):
    """The A/A comparison of a run: the samples of each timed case, the first half against the second.

    Attributes:
        compared: the timed cases with samples enough.
        cases: those of them that the test calls faster or slower than themselves.
    """

    compared: int
    cases: tuple[str, ...] = ()

    @property
    def rate(self) -> float:
        """The share of false alarms."""
        return len(self.cases) / self.compared if self.compared else 0.0


class Verdict(Record):
    """A case's verdict.

    Attributes:
        job: the job's name.
        case: the case's name.
        status: the verdict.
        reason: one line, "" for a plain pass.
        revision: the dumps' label.
        baseline_revision: the accepted one's, "" if there is none.
        seconds: wall time.
        buffers: each buffer's verdict.
        changes: other changes since the baseline (compiler, options, inputs, device), a line each.
        notes: what the user should know besides.
        exit_code: what this verdict alone would make of the exit code.
        against: of `baseline`, `reference`, `verify`, `agree`: what it was compared with.
        outcome: the result on the worker, None if the case did not run.
        infeasible: whether it was skipped because the compiler or the device refuses it.
        parameters: the case's, name → value; none of a broken job.
        variants: how its other builds compare with it.
        cause: a key for failures of one cause, in words that are the same from night to night; "" without one.
        extent: of the difference; None without one.
        tolerance_share: the largest part of its tolerance that an element used, over 1 where one broke it; None where
            no rule with a tolerance compared anything.
        location: the line that a report names for a failure; None for a pass.
        known: the failure is a known one, and the case counts as skipped.
        expired: the failure was a known one until a day that is past; else None.
        rejected: the buffers whose bytes somebody rejected before.
        retried: why it was run again, once for each time.
        timing: how its times compare with the accepted ones; None where nothing was to be compared.
        costs: how its costs do, for each measure of `cost:`.
        error: the class of the error for which the case could not be planned, built or compared; "" without one.
        overridden: parameters with a value of `--set` that the job does not have: the case has no baseline.
        source: the first digits of the digest of the kernel's source, by which its text is kept; "" where unknown.
        accepted: who accepted its baseline; None where there is none.
    """

    job: str
    case: str
    status: Status = field(name="word")
    reason: str = ""
    revision: str = ""
    baseline_revision: str = ""
    seconds: float = 0.0
    buffers: tuple[BufferVerdict, ...] = ()
    changes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    exit_code: int = 0
    outcome: Outcome | None = None
    against: tuple[str, ...] = ()
    infeasible: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)
    variants: tuple[VariantVerdict, ...] = ()
    cause: str = ""
    extent: Extent | None = None
    tolerance_share: float | None = None
    location: SourceLocation | None = None
    known: KnownFailing | None = None
    expired: KnownFailing | None = None
    rejected: tuple[str, ...] = ()
    retried: tuple[str, ...] = ()
    timing: TimingComparison | None = None
    costs: tuple[CostComparison, ...] = ()
    error: str = ""
    overridden: tuple[str, ...] = ()
    source: str = ""
    accepted: AcceptedBy | None = None

    @property
    def headline(self) -> str:
        """The status and the reason, `fault: out-of-bounds: …`."""
        return headline(self.status, self.reason)

    @property
    def fault(self) -> Fault | None:
        """The fault that ended the case."""
        if self.outcome is None:
            return None
        return self.outcome.fault

    @property
    def failing(self) -> list[Comparison]:
        """The comparisons of all buffers that are not the same."""
        failing: list[Comparison] = []
        for buffer in self.buffers:
            failing += buffer.failing
        return failing


class Missing(Record):
    """An expected case that is missing: it vanished since the last nightly run, or only its baseline is left.

    Attributes:
        case: its name.
        lines: a message for the user, line by line.
    """

    case: str
    lines: tuple[str, ...]


class ShardPart(Record):
    """The part of the planned cases that a run with `--shard` has.

    Attributes:
        number: of the shard, from 1.
        count: of all shards.
        split: digest of the whole split: runs with one digest share every case exactly once.
        left_out: planned cases that belong to other shards, in the order of the plan.
        files: job → digest of its files and baselines, of all shards' jobs: equal digests are equal code.
    """

    number: int
    count: int
    split: str
    left_out: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`shard 2 of 5`."""
        return f"shard {self.number} of {self.count}"


class RunSummary(Record):
    """The results of a whole run.

    Attributes:
        run: its name, `20261120T020000Z-3f2a`.
        folder: where its log and dumps are, absolute.
        device: what was asked for and taken, as `cpu`.
        started: ISO 8601, UTC.
        seconds: wall time.
        verdicts: in the order of the plan.
        notes: what is reported of the run itself, whatever its verdicts are.
        remarks: what is worth knowing and stays true from run to run: timings and the like of cases that passed.
        missing: cases that are gone and count as failures.
        state: what became of it.
        exit_code: the run's.
        is_kept: its results are on the disk, where `accept` finds them.
        unfinished: planned cases without a verdict, in the order of the plan.
        cut: where it was cut short, in words: `in launch 17 on cpu, reduce/n=8: sum<<<…>>>(…)`.
        spaces: the verdicts over the parameters of each job.
        host: that ran it.
        commit: the full hash of the commit that was checked out when it began, "" outside of git.
        branch: its branch, "" for a detached head.
        dirty: whether tracked files of the work tree were other ones than the commit's.
        compiler: of the kernels, as `nvrtc 13.5.37`; "" where nothing ran.
        problems: the errors for which it ended before its cases.
        changes: of a nightly run, compared with the nights before it; None of another run.
        false_alarms: of the timed cases; None without any.
        options: what the request says that `results.json` also holds.
        shard: the part of the cases that the run had; None where it had all that were asked for.
    """

    run: str
    folder: str
    device: str
    started: str
    seconds: float
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()
    state: State = "finished"
    exit_code: int = 0
    is_kept: bool = True
    remarks: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    unfinished: tuple[str, ...] = ()
    cut: str = ""
    spaces: tuple[ParameterSpace, ...] = ()
    host: str = ""
    commit: str = ""
    branch: str = ""
    dirty: bool = False
    compiler: str = ""
    problems: tuple[Problem, ...] = ()
    changes: NightChanges | None = None
    false_alarms: FalseAlarms | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    shard: ShardPart | None = None

    @property
    def interrupted(self) -> bool:
        """Tell whether ^C stopped it."""
        return self.state == "interrupted"

    def count(self, status: Status) -> int:
        """Count the cases with this verdict."""
        return sum(verdict.status == status for verdict in self.verdicts)


def side_text(against: str) -> str:
    """Name what a buffer was compared with: `its reference`, `verify`, `its group` for `agree`."""
    return {"verify": "verify", "agree": "its group"}.get(against, f"its {against}")

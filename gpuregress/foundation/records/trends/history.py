"""Records of the history: a case in a past run, and a past run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from msgspec import field

from gpuregress.foundation.records.trends.nights import Extent
from gpuregress.gpu.records import Record

RunKind = Literal["run", "nightly", "experiment"]
"""What a run is for. A command that runs cases to learn something makes experiments, and keeps nothing of them."""


class PastResult(Record):
    """One case in one past run, on one device.

    Attributes:
        run: the run's name.
        kind: `run` or `nightly`.
        started: the run's start, ISO 8601, UTC.
        device: where the case ran, as `cuda:0`; the run's device where it did not run.
        case: the case's name.
        verdict: its status.
        reason: one line.
        revision: the kernel source's.
        seconds: wall time of the case.
        job: the job's name.
        host: of the run; "" in runs of versions that did not keep it, and so with all fields below.
        commit: the full hash of the checked out commit, "" outside of git.
        branch: its branch, "" for a detached head.
        dirty: whether tracked files of the work tree were other ones than the commit's.
        compiler: of the run, as `nvrtc 13.5.37`.
        model: the device's, as `NVIDIA H200`.
        cause: a key for failures of one cause, in words.
        launch_seconds: time of the case's launches on the device: the median sample of `timing:`, else their sum.
        samples: the samples of `timing:` in seconds, to float32 precision.
        instructions: that the CPU device executed in the first run, of all kernels.
        registers: of a thread of the kernel that takes most.
        tolerance_share: the largest part of its tolerance that an element used.
        max_abs: the largest absolute error of the buffer that used most of its tolerance; None: there is no such error.
        max_rel: likewise the relative one.
        max_ulp: likewise in ulp.
        buffer: the name of that buffer.
        differing: elements that broke the rule; None without a difference, and where it was not kept.
        compared: elements compared, likewise.
        place: the kind of pattern that their indices have, as `periodic`; "" without one.
        imported: whether another project folder or host ran it.
    """

    run: str
    kind: str
    started: str
    device: str
    case: str
    verdict: str
    reason: str
    revision: str
    seconds: float
    job: str = ""
    host: str = ""
    commit: str = ""
    branch: str = ""
    dirty: bool = False
    compiler: str = ""
    model: str = ""
    cause: str = ""
    launch_seconds: float | None = None
    samples: tuple[float, ...] = ()
    instructions: int | None = None
    registers: int | None = None
    tolerance_share: float | None = None
    max_abs: float | None = None
    max_rel: float | None = None
    max_ulp: float | None = None
    buffer: str = ""
    differing: int | None = None
    compared: int | None = None
    place: str = ""
    imported: bool = False

    @property
    def extent(self) -> Extent | None:
        """The extent of the difference, as far as it is known."""
        if self.compared is None:
            return None
        return Extent(self.differing or 0, self.compared, self.max_abs, self.place)

    @property
    def short_commit(self) -> str:
        """`8eb0c1f`; `8eb0c1f+` where the work tree had changes, which the commit is not to be blamed for."""
        return _short(self.commit, dirty=self.dirty)


def _short(commit: str, *, dirty: bool) -> str:
    if commit and dirty:
        return f"{commit[:7]}+"
    return commit[:7]


class ShortResult(NamedTuple):
    """One case in one past run, on one device, without what only few reports need; see `PastResult`."""

    case: str
    device: str
    verdict: str
    revision: str
    seconds: float


class TimingStep(Record):
    """A new level in the times, or instruction counts, of a case.

    Attributes:
        measure: what changed.
        before: the level before: the median of the runs' medians in ms, or instructions.
        after: the new level.
        ratio: the new level over the one before.
        first: the first result of the new level.
    """

    measure: Literal["time", "instructions"]
    before: float
    after: float
    ratio: float
    first: PastResult


class PastRun(Record):
    """One past run.

    Attributes:
        run: its name.
        kind: `run` or `nightly`.
        started: ISO 8601, UTC.
        device: where.
        seconds: wall time.
        exit_code: the run's.
        interrupted: whether ^C stopped it.
        counts: status → number of cases.
        host: see `PastResult`, and so with the next four.
        commit: the full hash.
        branch: of the commit.
        dirty: whether the work tree was changed.
        compiler: of the kernels.
        imported: whether another project folder or host ran it.
    """

    run: str
    kind: str
    started: str
    device: str
    seconds: float
    exit_code: int
    interrupted: bool
    counts: Mapping[str, int] = field(default_factory=dict)
    host: str = ""
    commit: str = ""
    branch: str = ""
    dirty: bool = False
    compiler: str = ""
    imported: bool = False

    @property
    def short_commit(self) -> str:
        """As `PastResult.short_commit`."""
        return _short(self.commit, dirty=self.dirty)


class NightPoint(Record):
    """A night in the trend of a project, on one kind of device.

    Attributes:
        night: the run, with the numbers of its verdicts.
        flaky: cases whose verdict changes from night to night, and whose code does not.
        quarantined: cases that failed and were known to be flaky: they fail no night.
        instructions: of the cases that passed, on the CPU device: the ratio to the first night of the trend, by those
            that the night before counted, too; None where none passed.
        missing: cases that were expected and not there, where the night's folder still tells.
        commits: since the night before, the newest first, as `8eb0c1f Sum in pairs (Ada)`.
    """

    night: PastRun
    flaky: int = 0
    quarantined: int = 0
    instructions: float | None = None
    missing: int = 0
    commits: tuple[str, ...] = ()

"""Records of the changes of a night: new failures, those that go on, and what is fixed."""

from __future__ import annotations

from gpuregress.gpu.records import Record, Sparse

NIGHT_STATUSES = ("differ", "fault", "timeout", "error", "missing")
"""What a night counts as a failure; `missing` is a case that is gone. A case without a baseline is counted apart."""


class Since(Record):
    """The first night of an unbroken series of failures.

    Attributes:
        run: its name.
        started: ISO 8601, UTC.
        commit: of the project, "" where it is unknown.
        nights: in which the case has failed, this one included.
        dirty: whether the work tree was changed, so that the commit is not to blame.
        gone: whether the repository has the commit no more.
        good: the commit of the last night before it, on which the case passed; "" where that is unknown.
    """

    run: str
    started: str
    commit: str = ""
    nights: int = 1
    dirty: bool = False
    gone: bool = False
    good: str = ""

    @property
    def commit_text(self) -> str:
        """`, 4f1c2d9..8eb0c1f`: the commits that may be to blame; without the last good one, `, at 8eb0c1f`.

        `8eb0c1f+` where the work tree was changed, `, gone from git` where the commit is gone.
        """
        if not self.commit:
            return ""
        first = "at "
        if self.good and self.good != self.commit:
            first = f"{self.good[:7]}.."
        text = f", {first}{self.commit[:7]}"
        if self.dirty:
            text += "+"
        if self.gone:
            text += ", gone from git"
        return text


class Suspect(Sparse):
    """A commit that may be to blame for a failure.

    Attributes:
        commit: its full hash.
        author: who wrote it.
        subject: the first line of its message.
    """

    commit: str
    author: str
    subject: str


class Suspects(Sparse):
    """The commits between the last night on which a case passed and the night on which it failed.

    Attributes:
        good: the commit of the night on which it passed.
        bad: the commit of the night on which it failed.
        commits: how many lead to `bad` and not to `good`.
        authors: how many people wrote them.
        touching: those that touch a file which the case is made of, the newest first, at most some.
        others: how many more touch one.
        dirty: whether the work tree of either night was changed, so that a change may be in no commit.
        gone: whether the repository has one of the two commits no more, so that nothing is known.
        unknown: why git cannot list the commits, "" where it can.
        lacking: how many commits lead to `good` and not to `bad`; 0 where `bad` comes after `good`.
        perhaps: why the case may be made of more files, so that other commits may touch one; "" where it is not.
        lost: the commit of a later passing night, which the repository has no more; "" where `good` is the last one.
        uncommitted: files of the case that were changed on the bad night and not committed, at most some.
    """

    good: str
    bad: str
    commits: int = 0
    authors: int = 0
    touching: tuple[Suspect, ...] = ()
    others: int = 0
    dirty: bool = False
    gone: bool = False
    unknown: str = ""
    lacking: int = 0
    perhaps: str = ""
    lost: str = ""
    uncommitted: tuple[str, ...] = ()


class Extent(Sparse):
    """The extent of a difference: what tells two failures of one case apart that have one cause.

    Attributes:
        differing: elements that break the rule.
        of: elements compared; 0 where none were.
        max_abs: the largest absolute error; None where there is none.
        place: the kind of pattern that the indices have, as `periodic`; "" without one.
    """

    differing: int = 0
    of: int = 0
    max_abs: float | None = None
    place: str = ""

    @property
    def counts(self) -> str:
        """`3 of 64`, or "" where nothing was counted."""
        return f"{self.differing} of {self.of}" if self.of else ""

    def is_like(self, other: Extent) -> bool:
        """Tell whether two extents may be of one mistake: share and error within a decade, and no other place.

        A factor and not a grid of decades, since the result of a kernel with atomics is another one each night.

        Args:
            other: of the same case; what one of the two does not know is no difference.
        """
        if self.place and other.place and self.place != other.place:
            return False
        shares = [extent.differing / extent.of for extent in (self, other) if extent.of and extent.differing]
        errors = [extent.max_abs for extent in (self, other) if extent.max_abs is not None and extent.max_abs > 0]
        return _is_within_decade(shares) and _is_within_decade(errors)


def _is_within_decade(values: list[float]) -> bool:
    """Whether the values of both sides are near each other; equal ones may be infinite."""
    return len(values) < 2 or max(values) < 10 * min(values) or max(values) == min(values)


class EarlierVerdict(Record):
    """The last verdict that a case had on an earlier night; nights that skipped it do not count.

    Attributes:
        run: that night's.
        started: ISO 8601, UTC.
        verdict: a status, or `missing`.
        cause: of the failure.
        tolerance_share: the share of the tolerance that was used; None where that is unknown.
        commit: of the project, "" where it is unknown.
        revision: of the kernel's source.
        dirty: whether the work tree was changed.
        extent: of the difference; None where that is unknown.
        number: of the night, in the order in which nights were written; 0 where that is unknown.
    """

    run: str
    started: str
    verdict: str
    cause: str = ""
    tolerance_share: float | None = None
    commit: str = ""
    revision: str = ""
    dirty: bool = False
    extent: Extent | None = None
    number: int = 0

    @property
    def has_failed(self) -> bool:
        """Tell whether the case failed then."""
        return self.verdict in NIGHT_STATUSES


class NightFailure(Sparse):
    """A case that fails tonight, or did.

    Attributes:
        case: its name.
        status: its verdict, `missing` for a case that is gone; of a fixed one that of the last failure.
        diagnosis: what is wrong, in one line; of a fixed one "".
        cause: equal for failures of one kind.
        since: the night of the first failure; None on that night.
        before: the cause of the last failure, where it was another one.
        counts_before: how many elements differed then, as `3 of 64`, where they are other numbers now.
        suspects: the commits that may be to blame; None where the last good commit is unknown.
    """

    case: str
    status: str
    diagnosis: str = ""
    cause: str = ""
    since: Since | None = None
    before: str = ""
    counts_before: str = ""
    suspects: Suspects | None = None


class NightRemark(Sparse):
    """A remark on a case that does not fail.

    Attributes:
        case: its name.
        text: the remark, in one line.
        is_new: whether it was not so on the last night.
        since: the first night on which it was so; None where that is tonight, or unknown.
        size: how large what is remarked is, for the choice of the worst of several.
    """

    case: str
    text: str
    is_new: bool = False
    since: Since | None = None
    size: float = 0.0


class LackingDevice(Sparse):
    """A device that jobs name and this host lacks.

    Attributes:
        device: `cpu` or `cuda`.
        cases: how many of its cases were skipped.
        why: why it is not there.
        is_new: whether it was not so on the last night.
    """

    device: str
    cases: int
    why: str = ""
    is_new: bool = False


class JobOwner(Sparse):
    """Somebody who gets a mail of their own if a job has news.

    Attributes:
        job: its name.
        address: theirs.
    """

    job: str
    address: str


class NightChanges(Sparse):
    """What a night found, compared with the nights before it.

    Attributes:
        against: the last finished night on this device; "" where none is known.
        unknown: why no earlier night is known; "" where one is.
        new: cases that fail and did not before.
        changed: cases that fail for another cause than before.
        still: cases that fail as before.
        unaccepted: cases without a baseline.
        fixed: cases that pass and failed before.
        slower: cases that are slower than accepted, and do not fail for it.
        near: cases that pass and have used most of their tolerance.
        known: cases that are known to fail, and do.
        flaky: cases whose verdict changes without a change of the code; they are in none of the lists before.
        lacking: devices that jobs name and this host lacks.
        no_turn: cases that were not run before the deadline.
        held_back: cases that were skipped after timeouts of their kernel.
        owners: of jobs.
    """

    against: str = ""
    unknown: str = ""
    new: tuple[NightFailure, ...] = ()
    changed: tuple[NightFailure, ...] = ()
    still: tuple[NightFailure, ...] = ()
    unaccepted: tuple[NightFailure, ...] = ()
    fixed: tuple[NightFailure, ...] = ()
    slower: tuple[NightRemark, ...] = ()
    near: tuple[NightRemark, ...] = ()
    known: tuple[NightRemark, ...] = ()
    flaky: tuple[NightRemark, ...] = ()
    lacking: tuple[LackingDevice, ...] = ()
    no_turn: tuple[str, ...] = ()
    held_back: tuple[str, ...] = ()
    owners: tuple[JobOwner, ...] = ()

    @property
    def quarantined(self) -> frozenset[str]:
        """Collect the cases that were flaky on the last night already: what they do tonight fails no night."""
        return frozenset(remark.case for remark in self.flaky if not remark.is_new)

    @property
    def is_news(self) -> bool:
        """Tell whether someone should read it though nothing fails."""
        remarks = any(one.is_new for one in (*self.near, *self.slower, *self.flaky))
        return bool(self.fixed or self.no_turn or remarks or any(one.is_new for one in self.lacking))

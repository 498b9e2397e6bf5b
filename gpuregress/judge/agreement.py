"""Agreement of cases that differ only in parameters on which results must not depend.

The results of a group are clustered under each buffer's rule. The result that more than half of the cases have is
taken for right, and the others differ from it. Without such a majority all differ, for it is not known who is wrong.

Cases that only the command line makes (`--set`) have no vote beside cases of the job: they are compared with the
result that those have.

An element that a case never wrote is no vote: it holds the poison in every case that leaves it out. Where another case
writes it, the one that does not differs. Elements that no case writes are not compared, only reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import field

from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.records import Case, Comparison, Dump, Outcome, Rule, Verdict
from gpuregress.foundation.wording import joined
from gpuregress.gpu.records import MutableRecord, Record, replace
from gpuregress.judge import diagnosis, verdict, write_coverage
from gpuregress.judge.buffer_pairs import BufferPair
from gpuregress.judge.user_code import UserCodeProcess

if TYPE_CHECKING:
    from gpuregress.foundation.numeric.ordinals import Mask


class GroupMember(Record):
    """A case of a group that ran to its end, with its own verdict: `pass` or `new`."""

    case: Case
    outcome: Outcome
    verdict: Verdict

    @property
    def label(self) -> str:
        """`block=64,tile=2`: the values on which the result must not depend, as the case's name has them."""
        names = self.case.settings.agree
        words = self.case.name.partition("/")[2].split(",")
        return ",".join(word for word in words if word.partition("=")[0] in names)

    @property
    def dumps(self) -> dict[str, Dump]:
        """Buffer → its dump."""
        return {dump.buffer: dump for dump in self.outcome.dumps}


class _Cluster(MutableRecord):
    """Cases whose results are the same under the rule as that of the first one, by their positions in the group."""

    members: list[int] = field(default_factory=list)

    @property
    def leader(self) -> int:
        """The case whose result stands for all of them."""
        return self.members[0]


def verdicts(members: Sequence[GroupMember], planned: int, user: UserCodeProcess | None = None) -> list[Verdict]:
    """Judge the cases of one group against each other.

    Args:
        members: those that can be compared.
        planned: the number of all cases of the group that this run was to run.
        user: the process for the user's functions; None: this one.

    Returns:
        A verdict for each member.
    """
    if len(members) < 2:
        return [verdict.without_partners(member.verdict, planned - 1) for member in members]
    group = _GroupComparison(members, user)
    return [
        _judged(member, group.comparisons_of(position), planned - len(members))
        for position, member in enumerate(members)
    ]


class _MemberComparisons(Record):
    """The comparisons of one case with its group, and what its reason says of elements that few cases wrote."""

    by_buffer: dict[str, Comparison]
    remarks: tuple[str, ...]


def _judged(member: GroupMember, compared: _MemberComparisons | GpuregressError, absent: int) -> Verdict:
    if isinstance(compared, GpuregressError):
        outcome = member.outcome
        return replace(verdict.failed(member.case, compared), outcome=outcome, seconds=outcome.seconds)
    judged = verdict.with_agreement(member.verdict, compared.by_buffer, absent)
    if judged.status == "pass" != member.verdict.status:  # the reason of a new case has been dropped
        judged = write_coverage.reported(judged, member.case, member.outcome)
    if compared.remarks and judged.status in ("pass", "new"):
        judged = replace(judged, reason=joined("; ", judged.reason, *compared.remarks))
    return judged


class _GroupComparison:
    """The comparisons of one group.

    Args:
        members: its cases, at least two.
        user: the process for the user's functions; None: this one.
    """

    def __init__(self, members: Sequence[GroupMember], user: UserCodeProcess | None) -> None:
        self._members = members
        self._results = {buffer: _BufferResults(members, buffer, user) for buffer in self._buffers()}

    def comparisons_of(self, position: int) -> _MemberComparisons | GpuregressError:
        """The comparisons of one case with the others; an error where a dump cannot be read."""
        by_buffer: dict[str, Comparison] = {}
        remarks: list[str] = []
        try:
            for buffer, results in self._results.items():
                compared = results.comparison(position)
                if compared is not None:
                    by_buffer[buffer] = compared
                remarks += results.remarks(position)
        except GpuregressError as error:
            return error
        return _MemberComparisons(by_buffer, tuple(remarks))

    def _buffers(self) -> Iterator[str]:
        """The buffers that all members dumped, with one dtype and shape."""
        for dump in self._members[0].outcome.dumps:
            others = [member.dumps.get(dump.buffer) for member in self._members]
            if all(other is not None and (other.dtype, other.shape) == (dump.dtype, dump.shape) for other in others):
                yield dump.buffer


class _BufferResults:
    """The results of a group in one buffer.

    Args:
        members: the cases of the group; they are known by their positions.
        buffer: its name.
        user: the process for the user's functions; None: this one.
    """

    def __init__(self, members: Sequence[GroupMember], buffer: str, user: UserCodeProcess | None) -> None:
        self._members, self._buffer, self._user = members, buffer, user
        self._dumps = [member.dumps[buffer] for member in members]
        self._rule = members[0].case.compare.get(buffer, Rule())
        self._unreadable: dict[int, GpuregressError] = {}
        self._silent = set(filter(self._is_silent, range(len(members))))
        self._voters = [position for position in range(len(members)) if position not in self._silent]
        self._unwritten: dict[int, Mask] = {}
        for position in self._voters:
            mask = self._mask(position)
            if mask is not None:
                self._unwritten[position] = mask
        self._overridden = {position for position in self._voters if members[position].case.settings.overridden}
        if len(self._overridden) == len(self._voters):
            self._overridden = set()
        self._left_out = dict(self._elements_left_out())
        self._clusters = self._clustered()
        self._votes = sum(map(self._votes_of, self._clusters))
        if not self._votes:  # each case of the job left elements out, and fits no result or several
            self._overridden = set()
            self._clusters = self._clustered()
            self._votes = sum(map(self._votes_of, self._clusters))
        self._is_doubtful = len(self._clusters) > 1 and self._may_be_poison()

    def comparison(self, position: int) -> Comparison | None:
        """Compare a case with the majority of its group; without one, with the largest cluster that is not its own.

        Returns:
            None where no other case has written anything to compare it with.

        Raises:
            DumpError: a dump does not hold what its header says.
            StorageError: one cannot be read.
        """
        if position in self._unreadable:
            raise self._unreadable[position]
        if position in self._silent:
            return self._of_silent(position)
        if position in self._left_out:
            return self._of_incomplete(position)
        if self._has_nothing_to_agree_with(position):
            return None
        return self._of_complete(position)

    def remarks(self, position: int) -> Iterator[str]:
        """Say which elements of a case had nothing to agree with."""
        if position in self._silent:
            if not self._is_empty(position):
                yield f"{self._buffer}: nothing to agree with: the case changed no buffer that it dumps"
        elif self._has_nothing_to_agree_with(position):
            others = "no other case wrote all that this one writes"
            if self._overridden:
                others = "the cases of --set differ"
            yield f"{self._buffer}: nothing to agree with: {others}"
        elif self._left_out and position not in self._left_out:
            alone, total = self._written_alone(position), self._dumps[position].count
            if alone:
                yield f"{self._buffer}: {alone} of {total} elements were written by this case alone"

    def _has_nothing_to_agree_with(self, position: int) -> bool:
        """Whether no other case has a result; overridden cases that differ do not count for the only one of the job."""
        if self._votes != 1 or position in self._overridden:
            return False
        return all(len(cluster.members) == 1 for cluster in self._clusters if position in cluster.members)

    def _votes_of(self, cluster: _Cluster) -> int:
        """Count the cases of a cluster that have a vote."""
        return len(set(cluster.members) - self._overridden)

    # --- what was written ---------------------------------------------------------------------------------------------

    def _is_empty(self, position: int) -> bool:
        return write_coverage.is_empty(self._members[position].outcome, self._dumps[position])

    def _is_silent(self, position: int) -> bool:
        """Whether a case has no result here: it wrote nothing of an output, or changed no dumped buffer at all."""
        return self._is_empty(position) or write_coverage.is_idle(self._members[position].outcome)

    def _mask(self, position: int) -> Mask | None:
        try:
            return write_coverage.unwritten_parts(self._members[position].outcome, self._dumps[position])
        except GpuregressError as error:
            self._unreadable[position] = error
            return None

    def _elements_left_out(self) -> Iterator[tuple[int, Mask]]:
        """Yield the cases that left out what another one wrote, each with a mask of these parts."""
        if not self._unwritten:
            return
        never = self._left_out_by(self._voters)
        never_by_job = self._left_out_by([position for position in self._voters if position not in self._overridden])
        for position, mask in self._unwritten.items():
            # An overridden case that writes more than those of the job is the one to look at.
            left_out = mask & ~(never if position in self._overridden else never_by_job)
            if left_out.any():
                yield position, left_out

    def _written_alone(self, position: int) -> int:
        """Count the elements of which this case alone wrote a part that others left out."""
        others = [other for other in self._voters if other != position]
        alone = self._left_out_by(others) & ~self._left_out_by([position])
        return int(alone.any(axis=1).sum())

    def _left_out_by(self, positions: Sequence[int]) -> Mask:
        """The parts that none of these cases wrote. Some case of the group has left parts out."""
        left_out, *_ = self._unwritten.values()
        left_out = left_out | True  # every part; numpy is loaded only where there is a mask
        for position in positions:
            left_out = left_out & self._unwritten.get(position, False)
        return left_out

    def _wrote(self, position: int, parts: Mask) -> int:
        """Count those of these parts that a case wrote."""
        return int((parts > self._unwritten.get(position, False)).sum())

    # --- votes --------------------------------------------------------------------------------------------------------

    def _clustered(self) -> list[_Cluster]:
        """Cluster the results, the largest cluster first; of equally large ones the first in the plan.

        A case that left elements out votes for the one result that it fits, and for none if it fits several. A function
        of the user is given whole buffers, so it cannot tell which result fits.
        """
        by_digest: dict[str, list[int]] = {}
        for position in self._voters:
            if position not in self._left_out:
                by_digest.setdefault(self._dumps[position].digest, []).append(position)
        clusters: list[_Cluster] = []

        def votes_and_size(alike: Sequence[int]) -> tuple[int, int]:
            return len(set(alike) - self._overridden), len(alike)

        for alike in sorted(by_digest.values(), key=votes_and_size, reverse=True):
            alike.sort(key=lambda position: position in self._overridden)  # a case of the job stands for its cluster
            for cluster in clusters:
                if self._is_same(cluster.leader, alike[0]):
                    cluster.members.extend(alike)
                    break
            else:
                clusters.append(_Cluster(alike))
        for position in self._left_out:
            if self._rule.verify:
                break
            homes = [cluster for cluster in clusters if self._is_same(cluster.leader, position)]
            if not homes:
                clusters.append(_Cluster([position]))
            elif len(homes) == 1:
                homes[0].members.append(position)
        return sorted(clusters, key=lambda cluster: (self._votes_of(cluster), len(cluster.members)), reverse=True)

    def _is_same(self, expected: int, actual: int) -> bool:
        try:
            return self._compare(expected, actual, is_diagnosed=False).same
        except GpuregressError:  # reported where the case itself is compared
            return False

    def _may_be_poison(self) -> bool:
        """Whether the largest cluster differs from another one only where it holds what may be the poison, or a result.

        A few narrow integers may be either. If they are the poison, it is the larger cluster that is wrong.
        """
        leader, *others = (cluster.leader for cluster in self._clusters)
        if self._rule.verify or leader in self._unwritten:
            return False
        outcome, dump = self._members[leader].outcome, self._dumps[leader]
        try:
            mask = write_coverage.unwritten_parts(outcome, dump, or_by_chance=True)
            if mask is None:
                return False
            for other in others:
                pair = BufferPair(self._members[other].case, "agree", dump, self._dumps[other])
                if pair.compare_without(mask).same:
                    return True
        except GpuregressError:  # as in `_is_same`
            return False
        return False

    # --- comparisons --------------------------------------------------------------------------------------------------

    def _compare(self, expected: int, actual: int, *, is_diagnosed: bool) -> Comparison:
        """Compare two cases; elements that either one left out are not compared."""
        member = self._members[actual]
        pair = BufferPair(member.case, "agree", self._dumps[expected], self._dumps[actual])
        if self._user is not None and pair.request.rule.verify:
            return self._user.compare(pair)
        if pair.is_identical:
            return pair.compare()
        left_out = [self._left_out[position] for position in (expected, actual) if position in self._left_out]
        if left_out and not pair.request.rule.verify:
            return pair.compare_without(left_out[0] | left_out[-1])
        if not is_diagnosed:
            return pair.compare()

        return diagnosis.compare(pair, member.outcome)

    def _of_silent(self, position: int) -> Comparison | None:
        """The comparison of a case that has no result here; None where nobody has one, and its fill was left."""
        dump = self._dumps[position]
        buffers = self._members[position].verdict.buffers
        has_passed = any(buffer.name == dump.buffer and buffer.status == "pass" for buffer in buffers)
        if not self._voters and (has_passed or not self._is_empty(position)):
            return None
        if self._is_empty(position):
            return write_coverage.nothing_written(dump, "agree")
        leader = self._clusters[0].leader
        compared = self._compare(leader, position, is_diagnosed=True)
        if compared.same:
            return compared
        message = f"{compared.difference} from {self._members[leader].label}: this case changed no buffer that it dumps"
        return replace(compared, message=message)

    def _of_incomplete(self, position: int) -> Comparison:
        """The failed comparison of a case that left out elements, with the case that wrote most of them."""
        left_out = self._left_out[position]
        writer = max(self._voters, key=lambda other: self._wrote(other, left_out))
        pair = BufferPair(self._members[position].case, "agree", self._dumps[writer], self._dumps[position])
        if writer in self._left_out:
            compared = pair.compare_without(self._left_out[writer] & ~left_out)
        else:
            compared = diagnosis.compare(pair, self._members[position].outcome)
        elements = left_out.any(axis=1)
        what = "never written" if left_out[elements].all() else "never written, or in part only"
        message = (
            f"{int(elements.sum())} of {compared.of} elements were {what}; "
            f"other cases write them, for example {self._members[writer].label}"
        )
        return replace(compared, same=False, identical=False, message=message)

    def _of_complete(self, position: int) -> Comparison:
        clusters, total = self._clusters, self._votes
        own = next(cluster for cluster in clusters if position in cluster.members)
        has_majority = 2 * self._votes_of(clusters[0]) > total and not self._is_doubtful
        other = clusters[0]
        if not has_majority and own is other:
            other = clusters[1]
        compared = self._compare(other.leader, position, is_diagnosed=other is not own)
        if has_majority and compared.same:
            return compared
        theirs, label = self._votes_of(other), self._members[other.leader].label
        if other is own:
            message = compared.difference  # a NaN under `nan: never` agrees with nothing
        elif has_majority and total == 1:
            message = f"{compared.difference} from {label}, a case of the job"
        elif has_majority:
            message = f"{compared.difference} from {label}, whose result {theirs} of {total} cases have"
        else:
            verb = "has" if theirs == 1 else "have"
            message = (
                f"{compared.difference} from {label}; of {total} cases {theirs} {verb} "
                f"that result and {self._votes_of(own)} this one, so it is not known which is wrong"
            )
            if self._is_doubtful:
                poisoned = self._members[clusters[0].leader].label
                message += f"; the elements of {poisoned} may never have been written: --poison twice shows it"
        return replace(compared, same=False, message=message)

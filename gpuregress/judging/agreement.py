"""Agreement of cases that differ only in parameters on which results must not depend.

The results of a group are clustered under each buffer's rule. The result that more than half of the cases have is
taken for right, and the others differ from it. Without such a majority all differ, for it cannot be told who is wrong.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from gpuregress import verdict
from gpuregress.errors import GpuregressError
from gpuregress.frozen import dataclass
from gpuregress.judging.buffer_pairs import BufferPair
from gpuregress.judging.user_code import UserCodeProcess
from gpuregress.records import Case, Comparison, Dump, Outcome, Verdict


@dataclass(frozen=True, slots=True)
class GroupMember:
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


@dataclass(slots=True)
class _Cluster:
    """Cases whose results are the same under the rule as that of the first one, by their positions in the group."""

    members: list[int]

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
    compared = [group.buffers_of(position) for position in range(len(members))]
    return [
        _failed(member, buffers)
        if isinstance(buffers, GpuregressError)
        else verdict.with_agreement(member.verdict, buffers, planned - len(members))
        for member, buffers in zip(members, compared, strict=True)
    ]


def _failed(member: GroupMember, error: GpuregressError) -> Verdict:
    outcome = member.outcome
    return dataclasses.replace(verdict.failed(member.case, error), outcome=outcome, seconds=outcome.seconds)


class _GroupComparison:
    """The comparisons of one group.

    Args:
        members: its cases, at least two.
        user: the process for the user's functions; None: this one.
    """

    def __init__(self, members: Sequence[GroupMember], user: UserCodeProcess | None) -> None:
        self._members, self._user = members, user
        self._clusters = {buffer: self._clustered(buffer) for buffer in self._buffers()}

    def buffers_of(self, position: int) -> dict[str, Comparison] | GpuregressError:
        """Buffer → the comparison of one case with the others; an error where a dump cannot be read."""
        try:
            return {buffer: self._comparison(position, buffer) for buffer in self._clusters}
        except GpuregressError as error:
            return error

    def _buffers(self) -> Iterator[str]:
        """The buffers that all members dumped, with one dtype and shape."""
        for dump in self._members[0].outcome.dumps:
            others = [member.dumps.get(dump.buffer) for member in self._members]
            if all(one is not None and (one.dtype, one.shape) == (dump.dtype, dump.shape) for one in others):
                yield dump.buffer

    def _clustered(self, buffer: str) -> list[_Cluster]:
        """Cluster the results of a buffer, the largest cluster first; of equally large ones the first in the plan."""
        by_digest: dict[str, list[int]] = {}
        for position, member in enumerate(self._members):
            by_digest.setdefault(member.dumps[buffer].digest, []).append(position)
        clusters: list[_Cluster] = []
        for alike in sorted(by_digest.values(), key=len, reverse=True):
            home = next((one for one in clusters if self._is_same(one.leader, alike[0], buffer)), None)
            if home is None:
                clusters.append(_Cluster(alike))
            else:
                home.members.extend(alike)
        return sorted(clusters, key=lambda cluster: len(cluster.members), reverse=True)

    def _is_same(self, expected: int, actual: int, buffer: str) -> bool:
        try:
            return self._compare(expected, actual, buffer, is_diagnosed=False).same
        except GpuregressError:  # reported where the case itself is compared
            return False

    def _compare(self, expected: int, actual: int, buffer: str, *, is_diagnosed: bool) -> Comparison:
        member = self._members[actual]
        pair = BufferPair(member.case, "agree", self._members[expected].dumps[buffer], member.dumps[buffer])
        if self._user is not None and pair.request.rule.verify:
            return self._user.compare(pair)
        if pair.is_identical or not is_diagnosed:
            return pair.compare()
        from gpuregress.judging import diagnosis  # noqa: PLC0415 - loads numpy, and only a difference needs it

        return diagnosis.compare(pair, member.outcome)

    def _comparison(self, position: int, buffer: str) -> Comparison:
        """Compare a case with the majority of its group; without one, with the largest cluster that is not its own."""
        clusters, total = self._clusters[buffer], len(self._members)
        own = next(cluster for cluster in clusters if position in cluster.members)
        has_majority = 2 * len(clusters[0].members) > total
        other = clusters[0] if has_majority else next(cluster for cluster in clusters if cluster is not own)
        compared = self._compare(other.leader, position, buffer, is_diagnosed=other is not own)
        if has_majority and compared.same:
            return compared
        theirs, label = len(other.members), self._members[other.leader].label
        if other is own:
            message = compared.difference  # a NaN under `nan: never` agrees with nothing
        elif has_majority:
            message = f"{compared.difference} from {label}, whose result {theirs} of {total} cases have"
        else:
            message = (
                f"{compared.difference} from {label}; of {total} cases {theirs} {'has' if theirs == 1 else 'have'} "
                f"that result and {len(own.members)} this one, so it cannot be told which is wrong"
            )
        return dataclasses.replace(compared, same=False, message=message)

"""The first wrong launch of a case, from digests of its buffers after each launch.

Nothing is claimed where the digests do not cover every write, or where the baseline had other launches.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from gpuregress.foundation.records import (
    Baseline,
    Case,
    Comparison,
    Dump,
    FirstWrong,
    Launch,
    LaunchDigests,
    Outcome,
    Program,
    Rule,
)
from gpuregress.foundation.records.dumps import DIGITS
from gpuregress.gpu.records import Record, replace
from gpuregress.judge import launch_slice
from gpuregress.judge.launch_slice import LaunchEvidence, Origin, Timeline, UnknownState
from gpuregress.store import launch_log


class RecordedSide(Record):
    """The expected or the actual side of a comparison.

    Attributes:
        digests: after its launches.
        inputs: filled buffer → digest of its bytes before the first launch.
        dumps: dumped buffer → its dump, whose digest is that of the raw bytes.
        calls: its launches as the log writes them, repeats of one line once; none where they are not known.
        varying: buffers that differ from run to run.
    """

    digests: LaunchDigests
    inputs: Mapping[str, str]
    dumps: Mapping[str, Dump]
    calls: tuple[str, ...] = ()
    varying: frozenset[str] = frozenset()


def of_baseline(accepted: Baseline | None) -> RecordedSide | None:
    """Take the digests of a baseline; None where it has none."""
    if accepted is None or accepted.launch_digests is None:
        return None
    facts = accepted.made_of
    return RecordedSide(
        accepted.launch_digests,
        facts.inputs,
        accepted.dumps,
        calls=tuple(facts.launches),
        varying=_varying(facts.determinism),
    )


def _varying(determinism: Mapping[str, str]) -> frozenset[str]:
    return frozenset(name for name, kind in determinism.items() if kind != "bitwise")


def of_outcome(outcome: Outcome, calls: Sequence[str] = ()) -> RecordedSide | None:
    """Take the digests of a run; None where it has none, or where an input was overwritten unnoticed.

    Args:
        outcome: of a case that ran to its end.
        calls: its launches as the log writes them.
    """
    observed = outcome.observations
    digests = observed.launch_digests
    if digests is None:
        return None
    recorded: set[str] = set()
    for number, after in digests.after.items():
        if number != "0":
            recorded.update(after)
    if not recorded.issuperset(observed.writes.overwritten):
        return None
    return RecordedSide(
        digests,
        outcome.inputs,
        dumps={dump.buffer: dump for dump in outcome.dumps},
        calls=tuple(calls),
        varying=_varying(observed.determinism),
    )


def added(
    case: Case,
    programs: Sequence[Program],
    outcome: Outcome,
    accepted: Baseline | None,
    comparisons: Mapping[str, Sequence[Comparison]],
) -> dict[str, list[Comparison]]:
    """Add the first wrong launch to each failed comparison with the baseline.

    Args:
        case: with its launches.
        programs: its compiled sources.
        outcome: of a case that ran to its end.
        accepted: its baseline.
        comparisons: buffer → its comparisons.
    """
    result = {name: list(compared) for name, compared in comparisons.items()}
    failed = [name for name, compared in result.items() if any(map(_is_failure, compared))]
    expected, actual = of_baseline(accepted), of_outcome(outcome)
    if not failed or expected is None or actual is None or not case.launches:
        return result
    evidence, timeline = DigestEvidence(case, expected, actual), Timeline(case, programs)
    for name in failed:
        wrong = find(case, timeline, evidence, name)
        for position, comparison in enumerate(result[name]):
            if _is_failure(comparison):
                result[name][position] = replace(comparison, first_wrong=wrong)
    return result


def _is_failure(comparison: Comparison) -> bool:
    return comparison.against == "baseline" and not comparison.same


class DescribedEvidence(LaunchEvidence):
    """Evidence that tells what a difference means.

    Attributes:
        sees_bits: every bit counts; else what a rule allows is no difference.
        expected_calls: the launches of the expected side, as the log writes them; none where they are not known.
    """

    sees_bits: bool = True
    expected_calls: tuple[str, ...] = ()

    def breaks_rule(self, buffer: str, origin: Origin) -> bool:
        """Tell whether the difference at an origin breaks a rule; else it is only known to be one of bits.

        Args:
            buffer: what differs at the end.
            origin: where that began.
        """
        raise NotImplementedError


def find(case: Case, timeline: Timeline, evidence: DescribedEvidence, buffer: str) -> FirstWrong | None:
    """Find the first wrong launch of a dumped buffer that differs; None where it is not known.

    Args:
        case: with its launches.
        timeline: of the case.
        evidence: of the two runs.
        buffer: what differs at the end.
    """
    initial = case.initial_buffers.get(buffer)
    if initial is None:
        return None
    try:
        origins = launch_slice.origins(timeline, evidence, initial.name)
    except UnknownState:
        return None
    for origin in origins:
        if evidence.breaks_rule(buffer, origin):
            return _described(case, timeline, evidence, buffer, origin, is_by_rule=True)
    for origin in origins:
        return _described(case, timeline, evidence, buffer, origin, is_by_rule=False)
    return None


def _described(
    case: Case, timeline: Timeline, evidence: DescribedEvidence, buffer: str, origin: Origin, *, is_by_rule: bool
) -> FirstWrong:
    launch, step = case.launches[origin.number - 1], timeline.step(origin.number - 1)
    source, name = case.source_names[launch.source], timeline.name_of(origin.memory, origin.number - 1)
    where = _place(case, timeline, origin.number)
    suspects = case.launches[origin.number - origin.among : origin.number]
    inputs = _common_inputs(timeline, suspects)
    if origin.among == 1:
        inputs = _inputs(case, timeline, evidence, launch)
    elif origin.among == 2:
        where += " or the one before"
    else:
        where += f" or one of the {origin.among - 1} launches before it"
    verb = "first wrong after" if is_by_rule else "first bit difference after"
    message = f"{verb} {where}; {inputs}"
    if name != buffer:
        message += f"; the difference is in {name}"
        if not timeline.knows_all():
            message += _possible_path(case, timeline, evidence, buffer)
    return FirstWrong(
        launch=launch.origin + 1,
        number=origin.number,
        step=step,
        kernel=launch.kernel,
        source=source,
        buffer=name,
        decided_by="rule" if is_by_rule else "bits",
        among=origin.among,
        inputs=inputs,
        message=message,
    )


def _place(case: Case, timeline: Timeline, number: int) -> str:
    """`launch 3 (smooth, grid.cu) at step 7`; of the launch with this number, counted from 1."""
    launch, step = case.launches[number - 1], timeline.step(number - 1)
    place = f"launch {launch.origin + 1} ({launch.kernel}, {case.source_names[launch.source]})"
    if step is not None:
        place += f" at step {step}"
    return place


def _possible_path(case: Case, timeline: Timeline, evidence: DescribedEvidence, buffer: str) -> str:
    """Where the buffer itself began to differ; it may not depend on what differed before."""
    number = launch_slice.onset(evidence, case.initial_buffers[buffer].name)
    return f", which {buffer} may not depend on; {buffer} differs since {_place(case, timeline, number)}"


def _common_inputs(timeline: Timeline, launches: Sequence[Launch]) -> str:
    """What is known of the inputs of the launches that one of is to blame, in words."""
    distinct = {(launch.source, launch.kernel): launch for launch in launches}.values()
    hidden: set[str] = set()
    for launch in distinct:
        hidden.update(timeline.hidden_variables(launch))
    if hidden:
        return f"the buffers that these read were the same before, but they also read {', '.join(sorted(hidden))}"
    if not all(map(timeline.knows, distinct)):
        return "the buffers that these were given were the same before"
    return "all that these read was the same before"


def _inputs(case: Case, timeline: Timeline, evidence: DescribedEvidence, launch: Launch) -> str:
    """What is known of the inputs of the launch to blame, in words."""
    is_known = timeline.knows(launch)
    if not evidence.sees_bits:
        given = "the buffers it was given kept their rules"
    elif is_known:
        given = "the buffers it reads were the same"
    else:
        given = "the buffers it was given were the same"
    calls = evidence.expected_calls
    hidden = timeline.hidden_variables(launch)
    if hidden:
        return f"{given}, but it also reads {', '.join(hidden)}, which is not a buffer"
    if calls and launch_log.call_of(case, launch) not in calls:
        return f"{given}, but its launch changed"
    if calls and launch_log.calls_of(case) != calls:
        return f"{given}, but the launches of the case changed"
    if not (is_known and evidence.sees_bits):
        return given
    return "its inputs were the same"


# --- digests ----------------------------------------------------------------------------------------------------------


class DigestEvidence(DescribedEvidence):
    """Evidence from the digests of two runs.

    Args:
        case: with its launches.
        expected: the side that decides.
        actual: the side that is judged.
    """

    def __init__(self, case: Case, expected: RecordedSide, actual: RecordedSide) -> None:
        self._case, self._sides = case, (expected, actual)
        self.expected_calls = expected.calls
        self._states = _States(expected), _States(actual)
        self._memories = {name: buffer.name for name, buffer in case.initial_buffers.items()}
        both = set(self._states[0].recorded) & set(self._states[1].recorded)
        self._checkpoints = (0, *sorted(both))
        self._is_covered = self._covers()

    @property
    def checkpoints(self) -> Sequence[int]:
        """The launches that both sides recorded."""
        return self._checkpoints

    def differs(self, memory: str, number: int) -> bool:
        """Tell whether the digests differ.

        Raises:
            UnknownState: they are of other launches, or do not end in the dumps.
        """
        if not self._is_covered:
            raise UnknownState
        expected, actual = (states.at(memory, number) for states in self._states)
        return expected != actual

    def breaks_rule(self, buffer: str, origin: Origin) -> bool:
        """Decide by bits where every bit counts, or where what the origin wrote is what was compared at the end."""
        names = {memory: name for name, memory in self._memories.items()}
        name, last = names[origin.memory], len(self._case.launches)
        is_exact = all(self._case.compare.get(compared, Rule()).is_exact for compared in (buffer, name))
        if is_exact and not any(name in side.varying for side in self._sides):
            return True
        if name != buffer:
            return False
        return all(states.at(origin.memory, origin.number) == states.at(origin.memory, last) for states in self._states)

    def _covers(self) -> bool:
        """Tell whether the digests are of the same launches, and end in the dumps: no write went unnoticed."""
        last = len(self._case.launches)
        if any(side.digests.launches != last for side in self._sides) or self._checkpoints[-1] != last:
            return False
        for side, states in zip(self._sides, self._states, strict=True):
            for name, dump in side.dumps.items():
                if name in self._memories and states.at(self._memories[name], last) not in ("", dump.digest[:DIGITS]):
                    return False
        return True


class _States:
    """The contents of each memory after each launch of one side, as digests."""

    def __init__(self, side: RecordedSide) -> None:
        initial = {name: digest[:DIGITS] for name, digest in side.inputs.items()}
        initial |= side.digests.after.get("0", {})
        self._numbers: dict[str, list[int]] = {name: [0] for name in initial}
        self._digests: dict[str, list[str]] = {name: [digest] for name, digest in initial.items()}
        self.recorded = sorted(int(number) for number in side.digests.after if number != "0")
        for number in self.recorded:
            for memory, digest in side.digests.after[str(number)].items():
                self._numbers.setdefault(memory, []).append(number)
                self._digests.setdefault(memory, []).append(digest)

    def at(self, memory: str, number: int) -> str:
        """The digest of a memory after a launch; "" for what was neither filled nor written."""
        index = bisect_right(self._numbers.get(memory, ()), number)
        if not index:
            return ""
        return self._digests[memory][index - 1]

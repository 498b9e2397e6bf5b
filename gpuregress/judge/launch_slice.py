"""Backward slice over the launches of a case, from a buffer that differs to the launch to blame.

A buffer is followed back to the launch after which it began to differ. If a buffer that this launch, or a later one
that writes the same buffer, reads had differed before it, that one is followed back in turn. A launch whose inputs were
all the same is to blame.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from gpuregress.foundation.records import Case, Launch, Program
from gpuregress.gpu.programs import Entry
from gpuregress.gpu.records import Record
from gpuregress.judge.overwritten_inputs import kernel_accesses

if TYPE_CHECKING:
    from gpuregress.virtual_gpu.buffer_accesses import Accesses


class UnknownState(Exception):
    """The contents of a buffer after a launch are not known."""


class LaunchEvidence(Protocol):
    """The differences between two runs of a case, launch by launch.

    A memory is called as the buffer was before the first launch: launches may exchange buffers.
    """

    @property
    def checkpoints(self) -> Sequence[int]:
        """The numbers of the launches after which contents are known, from 1, ascending; 0 comes first."""

    def differs(self, memory: str, number: int) -> bool:
        """Tell whether a memory differs after a launch, one of the checkpoints.

        Raises:
            UnknownState: it is not known.
        """


class Origin(Record):
    """A memory that differs after a launch, which had read nothing that differed.

    Attributes:
        number: of the launch, from 1.
        memory: what it wrote.
        among: launches of which the named one is the last; 1 where it is known.
    """

    number: int
    memory: str
    among: int


def origins(timeline: Timeline, evidence: LaunchEvidence, memory: str) -> list[Origin]:
    """Find the launches to blame for a memory that differs after the last launch.

    Args:
        timeline: the launches.
        evidence: of the two runs.
        memory: where the difference is.

    Returns:
        The earliest first; none where it does not differ, or something differed before the first launch.

    Raises:
        UnknownState: the evidence does not suffice.
    """
    points = evidence.checkpoints
    if not evidence.differs(memory, points[-1]):
        return []
    to_blame: set[Origin] = set()
    pending, seen = [(memory, len(points) - 1)], set[tuple[str, int]]()
    while pending:
        name, position = pending.pop()
        while (name, position) not in seen:
            seen.add((name, position))
            if position == 0:
                return []
            before, number = points[position - 1], points[position]
            is_onset = not evidence.differs(name, before)
            read = timeline.read_between(before, number, None if is_onset else name)
            causes = [cause for cause in read if cause != name and evidence.differs(cause, before)]
            pending += [(cause, position - 1) for cause in causes]
            if is_onset and not causes:
                to_blame.add(Origin(number, name, number - before))
            if is_onset:
                break
            position -= 1
    return sorted(to_blame, key=lambda origin: (origin.number, origin.memory))


def onset(evidence: LaunchEvidence, memory: str) -> int:
    """Find the launch since which a memory that differs after the last launch has differed, from 1.

    Args:
        evidence: of the two runs.
        memory: where the difference is.

    Raises:
        UnknownState: the evidence does not suffice.
    """
    points = evidence.checkpoints
    position = len(points) - 1
    while position > 1 and evidence.differs(memory, points[position - 1]):
        position -= 1
    return points[position]


class Timeline:
    """The launches of a case: the memory behind each name, what each launch reads, the steps of repeated entries.

    Args:
        case: with its launches.
        programs: its compiled sources; none where they are not known: then every argument counts as read.
    """

    def __init__(self, case: Case, programs: Sequence[Program]) -> None:
        self._case, self._programs = case, programs
        self._holds = _holds(case)
        self._first: dict[int, int] = {}
        self._repeated: set[int] = set()
        for position, launch in enumerate(case.launches):
            if self._first.setdefault(launch.origin, position) != position:
                self._repeated.add(launch.origin)
        self._known: dict[tuple[int, int], _Accessed] = {}

    def step(self, position: int) -> int | None:
        """The step of a launch of a repeated entry; None for other launches."""
        entry = self._case.launches[position].origin
        if entry not in self._repeated:
            return None
        return position - self._first[entry]

    def name_of(self, memory: str, position: int) -> str:
        """The buffer that a memory was during a launch."""
        return next(name for name, held in self._holds[position].items() if held == memory)

    def read_between(self, before: int, number: int, written: str | None = None) -> set[str]:
        """The memories that launches may read.

        Args:
            before: the number of the launch before the first of them.
            number: of the last of them.
            written: only launches that may write this memory; None: all.
        """
        read: set[str] = set()
        for position in range(before, number):
            accessed = self._accessed(position)
            if written is None or written in accessed.written:
                read |= accessed.read
        return read

    def knows(self, launch: Launch) -> bool:
        """Tell whether it is known what a launch reads; else every buffer that it is given counts as read."""
        return self._accesses(launch.source, launch.kernel) is not None

    def knows_all(self) -> bool:
        """Tell whether it is known of each launch which buffers it reads; else some only may be read."""
        for source, kernel in {(launch.source, launch.kernel) for launch in self._case.launches}:
            accesses = self._accesses(source, kernel)
            if accesses is None or accesses.reads_anywhere:
                return False
        return True

    def hidden_variables(self, launch: Launch) -> tuple[str, ...]:
        """The variables of the source that a launch reads, one of the case writes, and that are no buffers."""
        accesses = self._accesses(launch.source, launch.kernel)
        if accesses is None:
            return ()
        symbols = self._programs[launch.source].symbols
        read = set(accesses.read)
        if accesses.reads_anywhere:
            read.update(symbols.values())
        written: set[int | str] = set()
        for kernel in {other.kernel for other in self._case.launches if other.source == launch.source}:
            others = self._accesses(launch.source, kernel)
            if others is not None:
                written |= others.written
            if others is None or others.writes_anywhere:
                written |= read
        buffers = {mangled for mangled, _ in self._variables(launch.source)}
        names = {mangled: name for name, mangled in symbols.items()}
        hidden = [names.get(variable, variable) for variable in (read & written) - buffers if isinstance(variable, str)]
        return tuple(sorted(hidden))

    def _variables(self, source: int) -> Iterator[tuple[str, str]]:
        """The variables of a source that are buffers: mangled name and buffer."""
        symbols: Mapping[str, str] = {}
        if self._programs:
            symbols = self._programs[source].symbols
        for buffer in self._case.buffers.values():
            if buffer.symbol is not None and buffer.symbol_source == source:
                yield symbols.get(buffer.symbol, buffer.symbol), buffer.name

    def _accesses(self, source: int, kernel: str) -> Accesses | None:
        """What a kernel does to memory; None if unknown."""
        entry = self._entry(source, kernel)
        if entry is None:
            return None
        return kernel_accesses(self._programs[source].ptx, entry.mangled)

    def _entry(self, source: int, kernel: str) -> Entry | None:
        """A kernel of a compiled source; None if the programs are not known."""
        if not self._programs:
            return None
        return self._programs[source].entries.get(kernel)

    def _accessed(self, position: int) -> _Accessed:
        """The memories that a launch may read and write an element of."""
        launch, holds = self._case.launches[position], self._holds[position]
        key = id(launch), id(holds)
        if key not in self._known:
            read, written = self._names_accessed(launch)
            self._known[key] = _Accessed({holds[name] for name in read}, {holds[name] for name in written})
        return self._known[key]

    def _names_accessed(self, launch: Launch) -> tuple[set[str], set[str]]:
        """The buffers that a launch may read, and those that it may write."""
        entry, accesses = self._entry(launch.source, launch.kernel), self._accesses(launch.source, launch.kernel)
        variables = list(self._variables(launch.source))
        given = set(itertools.chain.from_iterable(argument.buffers for argument in launch.args))
        if accesses is None or entry is None:
            given.update(name for _, name in variables)
            return given, given
        read = {name for name in given if self._case.buffers[name].texture is not None}
        written = set(read)
        for base, names in ((accesses.read, read), (accesses.written, written)):
            names.update(name for mangled, name in variables if mangled in base)
            for position, argument in enumerate(launch.args):
                is_known = position < len(entry.parameters)
                if not is_known or accesses.of_parameter(position, entry.parameters[position].size, base):
                    names.update(argument.buffers)
        if accesses.reads_anywhere:
            read.update(self._case.buffers)
        if accesses.writes_anywhere:
            written.update(self._case.buffers)
        return read, written


class _Accessed(Record):
    """The memories that a launch may read, and those that it may write."""

    read: set[str]
    written: set[str]


def _holds(case: Case) -> list[dict[str, str]]:
    """The memory behind each name during each launch; equal states are one object."""
    holds = {name: name for name in case.buffers}
    known = {tuple(holds.values()): holds}
    states = []
    for launch in case.launches:
        states.append(holds)
        if launch.swap:
            holds = dict(holds)
            for first, second in launch.swap:
                holds[first], holds[second] = holds[second], holds[first]
            holds = known.setdefault(tuple(holds.values()), holds)
    return states

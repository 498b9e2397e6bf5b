"""Draft of one job for the kernels that a host function launches one after the other.

A launch that reads what an earlier one makes has no real inputs alone. So both are launches of one job, with the arrays
between them as buffers without fills. A chain has the launches of one host function that are connected by such arrays.
The launches of `main` are connected by whole numbers and records only: a program often tries kernels there one after
the other, and each can have random floats as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuregress.gpu.records import Record
from gpuregress.lab.drafts import fills
from gpuregress.lab.drafts.launch import JobState, LaunchDraft
from gpuregress.lab.drafts.launch_facts import HostProgram, LaunchFacts
from gpuregress.lab.host_programs.objects import SeenLaunch
from gpuregress.toolchain.cxx_declarations import Declaration

_MOST_LAUNCHES = 12
"""Of a chain; a longer one would not name the wrong kernel, and run for long."""


class ChainLink(Record):
    """A launch of a chain, with its kernel and the draft of a job for it alone."""

    declaration: Declaration
    facts: LaunchFacts
    draft: LaunchDraft


class ChainDraft:
    """A job's text.

    Args:
        links: in the order of the program.
        source: the kernels' file.
        target: the job's file.
    """

    def __init__(self, links: Sequence[ChainLink], source: Path, target: Path) -> None:
        self.links = tuple(links)
        state = JobState(is_chain=True)
        self.parts = [LaunchDraft(link.declaration, source, target, link.facts, state) for link in links]

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the kernels, each once."""
        return tuple(dict.fromkeys(str(link.declaration) for link in self.links))

    @property
    def function(self) -> str:
        """The host function that makes the launches."""
        return self.links[-1].facts.launch.function

    @property
    def needed(self) -> tuple[str, ...]:
        """What the host code does not tell, in words."""
        return tuple(dict.fromkeys(note for part in self.parts for note in part.needed))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the job does otherwise than the program, in words."""
        return tuple(dict.fromkeys(remark for part in self.parts for remark in part.remarks))

    @property
    def guessed_sizes(self) -> tuple[str, ...]:
        """The buffers whose size is a guess and no formula of the program."""
        return tuple(dict.fromkeys(buffer for part in self.parts for buffer in part.guessed_sizes))

    @property
    def buffer_bytes(self) -> int:
        """The bytes of the arrays whose size the host code tells, at most."""
        return sum(part.buffer_bytes for part in self.parts)

    def lines(self) -> Iterator[str]:
        """The job, line by line."""
        yield f"# A job for the launches of {self.function}, in the order of the program."
        yield "# Check every line against what the kernels expect."
        yield from self.parts[-1].head_lines()
        yield "buffers:"
        for part in self.parts:
            yield from part.buffer_lines
        yield "launches:"
        for link, part in zip(self.links, self.parts, strict=True):
            launch = link.facts.launch
            yield f"  # {launch.where}{_condition(launch)}"
            yield from part.launch_lines
        results = dict.fromkeys(buffer for part in self.parts for buffer in part.results)
        yield f"dump: [{', '.join(results)}]"
        yield "# compare:                          # without a rule, every bit of every output must be as accepted"
        yield "#   NAME: {rtol: 1.0e-6, atol: 0}"
        yield "limits: {timeout: 60}"


def _condition(launch: SeenLaunch) -> str:
    text = ""
    if launch.conditions:
        text += f", on a condition that is not known, at {', '.join(launch.conditions)}"
    if launch.loops:
        text += f", only the first iteration of the loop at {' and '.join(dict.fromkeys(launch.loops))}"
    return text


def later_launches(host: HostProgram, start: SeenLaunch, first: int = 0) -> Iterator[SeenLaunch]:
    """List the launches that may be in a chain with a launch, because its call makes them.

    Args:
        host: the host code.
        start: the launch.
        first: the number of the first one.
    """
    for launch in host.launches[first:]:
        if launch.call == start.call and start.may_follow(launch):
            yield launch


class ChainSearch:
    """Search for the chains of a program: launches of one call of a function, connected by what they write and read.

    Args:
        host: the host code.
        links: a launch of each kernel that gets a job.
        source: the kernels' file.
    """

    def __init__(self, host: HostProgram, links: Sequence[ChainLink], source: Path) -> None:
        self._host = host
        self._source = source
        self._starts = links
        self._links: dict[int, ChainLink | None] = {id(link.facts.launch): link for link in links}
        self._order = {id(launch): number for number, launch in enumerate(host.launches)}

    def chains(self) -> list[list[ChainLink]]:
        """Return chains of at least two launches, in the order of the program; no launch is in two of them."""
        groups: list[dict[int, ChainLink]] = []
        for start in self._starts:
            group = self._connected(start)
            for other in [other for other in groups if other.keys() & group.keys()]:
                group |= other
                groups.remove(other)
            if 2 <= len(group) <= _MOST_LAUNCHES:
                groups.append(group)
        return [[group[number] for number in sorted(group)] for group in groups]

    def _connected(self, start: ChainLink) -> dict[int, ChainLink]:
        """Collect the launches that make what a launch reads, and those that read what these make."""
        members: dict[int, ChainLink] = {}
        pending = [start]
        while pending and len(members) <= _MOST_LAUNCHES:
            member = pending.pop()
            number = self._order[id(member.facts.launch)]
            if number not in members:
                members[number] = member
                pending += self._makers(member)
        for launch in later_launches(self._host, start.facts.launch, min(members)):
            number = self._order[id(launch)]
            if number in members:
                continue
            link = self._link(launch)
            if link is None or len(members) > _MOST_LAUNCHES:
                continue
            makers = [self._order[id(maker.facts.launch)] for maker in self._makers(link)]
            if members.keys() & set(makers):
                members[number] = link
        return members

    def _makers(self, link: ChainLink) -> list[ChainLink]:
        """List the last earlier launches of the same call that may write what a launch reads."""
        call = link.facts.launch.call
        earlier = [launch for launch in link.facts.earlier if launch.call == call]
        makers: list[ChainLink] = []
        for memory in link.draft.read_arrays(with_floats=link.facts.launch.function != "main"):
            launch = fills.last_writer(memory, earlier, self._host.program, self._host.types)
            maker = self._link(launch) if launch is not None else None
            if maker is not None:
                makers.append(maker)
        return makers

    def _link(self, launch: SeenLaunch) -> ChainLink | None:
        """Draft a launch; None where there can be no job for it."""
        if id(launch) not in self._links:
            self._links[id(launch)] = None
            declaration = self._host.declaration(launch)
            if declaration is not None:
                facts = self._host.facts_of(launch)
                draft = LaunchDraft(declaration, self._source, self._source.with_suffix(".yaml"), facts)
                if not draft.refusal:
                    self._links[id(launch)] = ChainLink(declaration, facts, draft)
        return self._links[id(launch)]

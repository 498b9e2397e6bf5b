"""Record of the buffers after each launch of a case: their digests, and on request their dumps.

Only buffers that a launch may have written are read back. Where reading all of them would take long, only some launches
are recorded; every buffer that was written since the launch recorded before is then read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpuregress.execution.runner.dumps import BufferReader, DumpFolder, digest_of
from gpuregress.foundation.records import Case, Launch, LaunchDigests, Program
from gpuregress.foundation.records.dumps import DIGITS
from gpuregress.gpu.base import Memory

MOST_BYTES = 1 << 30
"""Bytes that are read back for digests in one case: some tenths of a second."""

MOST_RECORDED = 512
"""Launches of one case whose digests are kept."""

FOLDER = "launches"
"""Beside a run's dumps: LAUNCH/CASE/BUFFER.REVISION, with the launch's number in the case."""


class LaunchRecorder:
    """Recorder of the first run of a case's launches.

    Args:
        programs: its compiled sources, which show the pointers to const.
        dumps: the folder of its dumps.
    """

    def __init__(self, case: Case, programs: Sequence[Program], dumps: DumpFolder) -> None:
        self._case = case
        self._dumps = dumps if case.settings.dump_every_launch else None
        self._has_digests = len(case.launches) > 1 and case.settings.launch_digests != "off"
        self._written = _Written(case, programs)
        self._stride = self._choose_stride() if self._has_digests else 1
        self._holds = {name: name for name in case.buffers}
        self._pending: dict[str, str] = {}
        self._after: dict[str, Mapping[str, str]] = {}

    @property
    def dumps_every_launch(self) -> bool:
        """Tell whether `after` writes dumps."""
        return self._dumps is not None

    @property
    def digests(self) -> LaunchDigests | None:
        """The digests; None where none are taken."""
        return LaunchDigests(len(self._case.launches), self._after) if self._has_digests else None

    def before(self, initial: Mapping[str, str]) -> None:
        """Record the initial values of variables that the case does not fill: name → digest."""
        if self._has_digests and initial:
            self._after["0"] = {name: digest[:DIGITS] for name, digest in initial.items()}

    def after(self, position: int, launch: Launch, memory: Mapping[str, Memory]) -> None:
        """Record the buffers after a launch, before it exchanges any.

        Args:
            position: of the launch, from 0.
            launch: what ran.
            memory: buffer → its memory.
        """
        if not (self._has_digests or self._dumps):
            return
        number = position + 1
        for name in self._written.by(launch):
            self._pending[self._holds[name]] = name
            if self._dumps is not None:
                folder = self._dumps.beside(FOLDER).within(f"{number:04d}")
                folder.stream(BufferReader(memory[name], self._case.buffers[name]), {})
        if self._has_digests and (number % self._stride == 0 or number == len(self._case.launches)):
            self._after[str(number)] = self._take(memory)
        for first, second in launch.swap:
            self._holds[first], self._holds[second] = self._holds[second], self._holds[first]

    def _take(self, memory: Mapping[str, Memory]) -> dict[str, str]:
        names = {held: name for name, held in self._holds.items()}
        digests = {}
        for held in self._pending:
            name = names[held]
            digests[held] = digest_of(BufferReader(memory[name], self._case.buffers[name]))[:DIGITS]
        self._pending.clear()
        return digests

    def _choose_stride(self) -> int:
        """Choose how many launches lie between two that are recorded."""
        launches = self._case.launches
        sizes: dict[int, int] = {}
        total = 0
        for launch in launches:
            if id(launch) not in sizes:
                sizes[id(launch)] = sum(self._case.buffers[name].size for name in self._written.by(launch))
            total += sizes[id(launch)]
        return max(1, -(-total // MOST_BYTES), -(-len(launches) // MOST_RECORDED))


class _Written:
    """The buffers that a launch may write: all but pointers to const, and textures; and its source's variables."""

    def __init__(self, case: Case, programs: Sequence[Program]) -> None:
        self._case = case
        self._programs = programs
        self._known: dict[int, tuple[str, ...]] = {}
        self._variables: list[list[str]] = [[] for _ in programs]
        for buffer in case.buffers.values():
            if buffer.symbol is not None and buffer.symbol_source < len(programs):
                self._variables[buffer.symbol_source].append(buffer.name)

    def by(self, launch: Launch) -> tuple[str, ...]:
        if id(launch) not in self._known:
            names = (*self._arguments(launch), *self._variables[launch.source])
            self._known[id(launch)] = tuple(dict.fromkeys(names))
        return self._known[id(launch)]

    def _arguments(self, launch: Launch) -> Iterator[str]:
        parameters = self._programs[launch.source].entries[launch.kernel].parameters
        for position, argument in enumerate(launch.args):
            if argument.kind == "buffer" and position < len(parameters) and parameters[position].const:
                continue
            for name in argument.buffers:
                texture = self._case.buffers[name].texture
                if texture is None or texture.surface:
                    yield name

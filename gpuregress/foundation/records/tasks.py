"""Request to a worker: one case to run."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from gpuregress.foundation.records.cases import Case
from gpuregress.gpu.programs import Program
from gpuregress.gpu.records import Record, replace

COMPRESS_ABOVE = 64 << 20
"""Bytes of text above which dumps are compressed, by default."""


class DumpStorage(Record):
    """The storage of dumps.

    Attributes:
        contents: the folder of the contents that runs share, absolute; "": they share none.
        compress_above: bytes of text above which a dump is compressed.
    """

    contents: str = ""
    compress_above: int = COMPRESS_ABOVE


class Task(Record):
    """One case to run, and the files that it writes.

    Attributes:
        case: what to run.
        program: its compiled source; of several, the first.
        log: the launch log, absolute.
        first_launch: the log number of its first launch.
        dumps: the folder for dumps, absolute.
        known: buffer → digest of raw bytes → an existing dump file that holds them.
        device_label: the device as people call it, `cuda:3`.
        references: buffer → the compiled source of the kernels that are its reference.
        shared: the folder of what the workers of this run share while it goes on, absolute; "": they share nothing.
        variants: name of a variant → its compiled sources, in the order of the case's own.
        other_programs: the case's further sources, compiled.
        storage: of its dumps.
        launch_limit_s: limit of its own launches, seconds; 0: the case's. Where they had less than half of it as CPU
            time, they go on up to the case's. Functions of the user and the kernels of its references have the case's
            always.
    """

    case: Case
    program: Program
    log: str
    first_launch: int
    dumps: str
    known: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    device_label: str = field(default="", name="place")
    references: Mapping[str, Program] = field(default_factory=dict)
    shared: str = ""
    variants: Mapping[str, tuple[Program, ...]] = field(default_factory=dict)
    other_programs: tuple[Program, ...] = ()
    storage: DumpStorage = DumpStorage()
    launch_limit_s: float = 0.0

    @property
    def programs(self) -> tuple[Program, ...]:
        """The compiled sources of the case, in the order of `Case.sources`."""
        return (self.program, *self.other_programs)

    def alone(self, *, poison: bool = True) -> Task:
        """Return the task of the case's own launches, run once, for `execution.workers.alone`.

        Args:
            poison: fill outputs with the poison, as the run did.
        """
        case = self.case.alone()
        if not poison:
            case = case.with_settings(poison="none")
        return replace(self, case=case, known={}, references={}, shared="", variants={})

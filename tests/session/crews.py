"""Crews and cases for the tests of compilation."""

from __future__ import annotations

from collections.abc import Callable

from gpuregress.execution.workers.compiler_pool import Result
from gpuregress.foundation.errors import CompileError, GpuregressError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Argument, Case, Program, Source
from gpuregress.gpu.records import replace
from tests import fakes


def case_of(name: str, path: str) -> Case:
    case = fakes.case("double", name=name)
    return replace(case, source=replace(case.source, path=path))


def wrong(case: Case) -> Case:
    """The case with an argument too many."""
    launch = replace(case.launches[0], args=(*case.launches[0].args, Argument("null")))
    return replace(case, launches=(launch,))


def compiler(source: Source) -> Program:
    if "broken" in source.path:
        raise CompileError("broken.cu(3): error")
    return fakes.program()


class SlowCrew:
    """A crew that has compiled something when the test says so."""

    count = 1
    deadline = None

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.done: list[tuple[str, Result]] = []
        self.dismissed = 0

    @property
    def under_way(self) -> int:
        return len(self.asked)

    def fileno(self) -> int:
        return -1

    def submit(self, key: str, source: Source) -> None:
        self.asked.append(key)

    def dismiss(self) -> None:
        self.dismissed += 1

    def wait(self, until: float | None = None) -> None:
        self.finish()

    def finish(self, result: Program | GpuregressError | None = None) -> None:
        self.done.append((self.asked.pop(0), result or fakes.program()))

    def collect(self) -> list[tuple[str, Result]]:
        done, self.done = self.done, []
        return done


Compiler = Callable[[Source], Program]


class InProcessCrew:
    """A crew that compiles in this process, as soon as a source is submitted.

    Args:
        compiler: source → program.
        check: called before each compilation; raises to stop.
    """

    count = 1
    under_way = 0
    deadline = None

    def __init__(self, compiler: Compiler, check: Callable[[], None] = lambda: None) -> None:
        self._compiler, self._check = compiler, check
        self._done: list[tuple[str, Result]] = []

    def fileno(self) -> int:
        """There is nothing to wait for."""
        return -1

    def submit(self, key: str, source: Source) -> None:
        """Compile."""
        self._check()
        try:
            self._done.append((key, self._compiler(source)))
        except GpuregressError as error:
            self._done.append((key, error))

    def dismiss(self) -> None:
        """Do nothing."""

    def wait(self, until: float | None = None) -> None:
        """Do nothing."""

    def collect(self) -> list[tuple[str, Result]]:
        """The results since the last call."""
        done, self._done = self._done, []
        return done


def in_process(compiler: Compiler) -> Callable[[StopSignal], InProcessCrew]:
    """The crew of a run that compiles in this process."""
    return lambda stop: InProcessCrew(compiler, stop.check)

"""The user's own comparisons and checks, in a process apart: where one hangs or crashes, its case fails and no more."""

from __future__ import annotations

import contextlib
import math
import selectors
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from gpuregress import storage
from gpuregress.errors import HarnessError
from gpuregress.interrupts import StopSignal
from gpuregress.records import Case, Check, Comparison, Dump, from_json
from gpuregress.workers.process import DeviceSlot, Worker
from gpuregress.workers.watchdog import STARTING_S

if TYPE_CHECKING:
    from gpuregress.judging.buffer_pairs import Pair

COMMAND: tuple[str, ...] = (sys.executable, "-P", "-m", "gpuregress.judging.user_code_child")


class UserCode:
    """A process that runs the user's functions, as a context manager; started when the first of them is needed.

    Args:
        stop: set when the user asks to stop.
    """

    def __init__(self, stop: StopSignal) -> None:
        self._stop = stop
        self._process: Worker | None = None
        self._held = contextlib.ExitStack()
        self._scratch: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the process."""
        self._end()
        self._held.close()

    def compare(self, pair: Pair) -> Comparison:
        """What `pair.compare()` gives, for a rule that the user's `verify` decides.

        Raises:
            Interrupted: the user asked to stop.
        """
        failed = Comparison(pair.now.buffer, pair.against, "verify", same=False, identical=False, of=_count(pair.now))
        paths = {"now_path": str(pair.now_path), "then_path": str(pair.then_path)}
        request = {"do": "compare", "against": pair.against, "now": pair.now, "then": pair.then, **paths}
        rule = pair.request.rule
        return self._ask({**request, "rule": rule}, pair.case, str(rule.verify), failed)

    def check(self, check: Check, case: Case, now: Dump) -> Comparison:
        """What a check of a dump gives.

        Raises:
            Interrupted: the user asked to stop.
        """
        failed = Comparison(now.buffer, "check", check.name, same=False, identical=False, of=_count(now))
        return self._ask({"do": "check", "check": check, "now": now}, case, str(check.setting), failed)

    def _ask(self, request: dict[str, Any], case: Case, function: str, failed: Comparison) -> Comparison:
        process = self._begin()
        name = f"{Path(function.rpartition(':')[0]).name}:{function.rpartition(':')[2]}"
        try:
            process.channel.send({**request, "case": case})
            answer, alive = self._wait(process, case.limits.timeout)
        except OSError:
            answer, alive = None, False
        if answer is not None:
            if answer.get("last"):
                self._end()
            return _answered(answer)
        said = f"{name} did not come back within {case.limits.timeout:g} s"
        if not alive:
            process.end(grace_s=0.5)
            said = f"{name}: {process.death().replace('worker process', 'process it ran in')}"
        tail = process.tail()
        self._end()
        return Comparison(**{**_fields(failed), "message": said + (f"; it last said: {tail[-1]}" if tail else "")})

    def _begin(self) -> Worker:
        if self._process is None:
            self._scratch = self._scratch or self._held.enter_context(storage.scratch())
            self._process = Worker(DeviceSlot("cpu", "the user's code"), COMMAND, self._scratch / "printed.txt")
            self._wait(self._process, STARTING_S)  # until it is ready: its start is not the user's time
        return self._process

    def _wait(self, process: Worker, seconds: float) -> tuple[dict[str, Any] | None, bool]:
        """Its answer, None where there is none; and whether it is still alive."""
        until = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(process.channel, selectors.EVENT_READ)
            selector.register(self._stop, selectors.EVENT_READ)
            while True:
                ready = selector.select(max(0.0, until - time.monotonic()))
                self._stop.check()
                if not ready:
                    return None, True
                messages, alive = process.messages()
                if messages or not alive:  # neither: the first part of a long line, or what nobody asked for
                    return (messages[0] if messages else None), alive

    def _end(self) -> None:
        if self._process is not None:
            self._process.end(grace_s=0.1)
            self._process = None


def needs(case: Case, check: Check) -> bool:
    """Whether a check runs code of the user: its own function, or that of a fill it compares with."""
    fills = (buffer.fill for buffer in case.buffers.values())
    return check.name == "python" or any(fill is not None and fill.kind == "python" for fill in fills)


def _answered(answer: dict[str, Any]) -> Comparison:
    if "bug" in answer:
        raise HarnessError(answer["bug"])
    return from_json(Comparison, answer["comparison"])


def _fields(comparison: Comparison) -> dict[str, Any]:
    return {name: getattr(comparison, name) for name in ("buffer", "against", "rule", "same", "identical", "of")}


def _count(dump: Dump) -> int:
    return math.prod(dump.shape)

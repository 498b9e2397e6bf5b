"""Run of the selected cases of a pytest session, while pytest goes through its items.

The processes of pytest-xdist share it: the first that has collected runs all cases in a thread, with as many workers as
xdist has, and writes each verdict into a file. Every process, that one too, reads the verdicts of its items there.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock, Timeout

from gpuregress.foundation.errors import GpuregressError, HarnessError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Case, RunSummary, Verdict, from_json, to_json
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import plan
from gpuregress.pytest_plugin import session_folder
from gpuregress.report import terminal
from gpuregress.session import accepting
from gpuregress.session import session as sessions
from gpuregress.session.events import Event, Judged, Planned
from gpuregress.session.run_request import RunRequest

if TYPE_CHECKING:
    from gpuregress.store.project import Project

_POLL_S = 0.02
_MESSAGE = "accepted by pytest --gpuregress-accept"


class ReachedVerdict(Record):
    """The verdict on a case.

    Attributes:
        verdict: it.
        run: the name of the run.
        is_accepted: whether its results became the baseline.
        refusal: why they did not, although that was asked for.
    """

    verdict: Verdict
    run: str
    is_accepted: bool = False
    refusal: str = ""

    @property
    def is_passed(self) -> bool:
        """Whether the test passes."""
        return self.is_accepted or self.verdict.exit_code == 0

    def lines(self, root: Path) -> list[str]:
        """Return the details of the case, but for what its first line says."""
        return [line for line in terminal.details(self.verdict, root) if line != self.verdict.reason]


class Wanted(Record):
    """What the options ask for.

    Attributes:
        request: of the run, without its cases.
        accepts: make what is new or differs the baseline.
        message: kept with the baselines.
    """

    request: RunRequest = RunRequest()
    accepts: bool = False
    message: str = _MESSAGE


@dataclass
class SessionRun:
    """The cases of one pytest session.

    Attributes:
        board: the file of verdicts.
        cases: project → its selected cases.
        wanted: what the options ask for.
    """

    board: Path
    cases: dict[Path, tuple[Project, list[Case]]]
    wanted: Wanted
    _lock: FileLock = field(init=False)
    _stop: StopSignal | None = field(init=False, default=None)
    _thread: threading.Thread | None = field(init=False, default=None)
    _read: int = field(init=False, default=0)
    _verdicts: dict[str, ReachedVerdict] = field(init=False, default_factory=dict)
    _problems: dict[str, str] = field(init=False, default_factory=dict)
    _texts: list[str] = field(init=False, default_factory=list)
    _is_over: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._lock = FileLock(f"{self.board}.lock", thread_local=False)

    @property
    def is_host(self) -> bool:
        """Whether this process runs the cases."""
        return self._thread is not None

    def begin(self) -> None:
        """Run the cases in a thread, unless another process does or did."""
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            return
        self._take()
        if self._is_over:
            self._lock.release()
            return
        self.board.touch()
        self._stop = StopSignal(handles=False)
        self._thread = threading.Thread(target=self._run_all, name="gpuregress", daemon=True)
        self._thread.start()

    def verdict(self, case: Case, root: Path) -> ReachedVerdict:
        """Wait for the verdict on a case.

        Raises:
            GpuregressError: the case was not run.
        """
        key = f"{root}:{case.name}"
        while True:
            self._take()
            reached = self._verdicts.get(key) or self._verdicts.get(f"{root}:{case.job}")
            if reached is not None:
                return reached
            if str(root) in self._problems:
                raise HarnessError(self._problems[str(root)])
            if self._is_over or self._is_deserted():
                raise HarnessError(f"{case.name} was not run: the run ended before it")
            time.sleep(_POLL_S)

    def finish(self, *, is_stopped: bool) -> list[str]:
        """Wait for the end of the run, and return its report.

        Args:
            is_stopped: end it now.
        """
        if self._thread is None:
            return []
        if is_stopped and self._stop is not None:
            with contextlib.suppress(OSError):
                self._stop.set()
        self._thread.join()
        self._take()
        return self._texts

    # --- the process that runs the cases ------------------------------------------------------------------------------

    def _run_all(self) -> None:
        assert self._stop is not None
        try:
            with self._stop as stop:
                for home, cases in self.cases.values():
                    self._run_project(home, cases, stop)
        finally:
            self._post(over=True)
            self._lock.release()

    def _run_project(self, home: Project, cases: Sequence[Case], stop: StopSignal) -> None:
        wanted = self.wanted
        request = replace(wanted.request, selectors=tuple(case.name for case in cases))
        run, told = "", set[str]()

        def listen(event: Event) -> None:
            nonlocal run
            if isinstance(event, Planned):
                run = event.run
            elif isinstance(event, Judged) and not wanted.accepts:
                told.add(event.verdict.case)
                self._post(root=home.root, run=run, verdict=event.verdict)

        try:
            summary = sessions.run(home, plan.Plan(tuple(cases)), request, listen=listen, stop=stop)
            for reached in _accepted(home, summary, wanted) if wanted.accepts else _others(summary, told):
                self._post(root=home.root, run=run, **reached)
            self._post(text=_summary_lines(summary, wanted))
        except GpuregressError as error:
            self._post(root=home.root, problem=f"not run: {error}")
        except Exception as error:  # noqa: BLE001 - a bug of ours is reported at every item, and hangs none
            self._post(root=home.root, problem=f"an error inside gpuregress: {type(error).__name__}: {error}")

    def _post(self, **entry: Any) -> None:
        """Add a line to the board; one write, so that no reader sees half of it for long."""
        plain = {name: str(value) if isinstance(value, Path) else to_json(value) for name, value in entry.items()}
        with self.board.open("ab", buffering=0) as file:
            file.write(json.dumps(plain).encode() + b"\n")

    # --- every process ------------------------------------------------------------------------------------------------

    def _take(self) -> None:
        """Read the lines that are new on the board."""
        try:
            with self.board.open("rb") as file:
                file.seek(self._read)
                data = file.read()
        except FileNotFoundError:
            return
        whole, _, _ = data.rpartition(b"\n")
        self._read += len(whole) + 1 if whole else 0
        for line in whole.splitlines():
            self._take_entry(json.loads(line))

    def _take_entry(self, entry: dict[str, Any]) -> None:
        if "verdict" in entry:
            reached = from_json(Verdict, entry["verdict"])
            self._verdicts[f"{entry['root']}:{reached.case}"] = ReachedVerdict(
                reached, entry["run"], entry.get("is_accepted", False), entry.get("refusal", "")
            )
        elif "problem" in entry:
            self._problems[entry["root"]] = entry["problem"]
        elif "text" in entry:
            self._texts += entry["text"]
        else:
            self._is_over = True

    def _is_deserted(self) -> bool:
        """Whether the process that ran the cases is gone."""
        if self._thread is not None:
            return not self._thread.is_alive() and not self._is_over
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            return False
        self._lock.release()
        self._take()
        return not self._is_over


def _accepted(home: Project, summary: RunSummary, wanted: Wanted) -> Iterator[dict[str, Any]]:
    """Accept what is new or differs; the entries of all verdicts."""
    names = [verdict.case for verdict in summary.verdicts if verdict.status in ("new", "differ")]
    accepted: set[str] = set()
    refusals: dict[str, str] = {}
    if names:
        try:
            done = accepting.accept(home, names, accepting.Terms(wanted.message), run=summary.run)
            accepted = {one.case for one in done.accepted}
            refusals = {one.case: one.reason for one in (*done.refused, *done.left)}
        except GpuregressError as error:
            refusals = dict.fromkeys(names, str(error))
    for verdict in summary.verdicts:
        yield {
            "verdict": verdict,
            "is_accepted": verdict.case in accepted,
            "refusal": refusals.get(verdict.case, ""),
        }


def _others(summary: RunSummary, told: Collection[str]) -> Iterator[dict[str, Any]]:
    """The entries of the cases that were left out after a failure."""
    yield from ({"verdict": verdict} for verdict in summary.verdicts if verdict.case not in told)


def _summary_lines(summary: RunSummary, wanted: Wanted) -> list[str]:
    lines = [f"note: {note}" for note in (*summary.notes, *summary.remarks)][:5]
    lines += [*terminal.infeasible(summary), terminal.counts(summary)]
    return lines if wanted.accepts else [*lines, *terminal.how_to_accept(summary)]


# --- pytest's session -----------------------------------------------------------------------------------------------

_STASH = pytest.StashKey[SessionRun]()


def begin(session: pytest.Session, selected: Sequence[tuple[Project, Case]]) -> None:
    """Begin the run of a session's cases.

    Args:
        session: of pytest.
        selected: the cases, each with its project.
    """
    cases: dict[Path, tuple[Project, list[Case]]] = {}
    known = set[tuple[Path, str]]()
    for home, case in selected:
        if (home.root, case.name) not in known:  # pytest --keep-duplicates has a case twice
            known.add((home.root, case.name))
            cases.setdefault(home.root, (home, []))[1].append(case)
    options = session.config.option
    jobs = int(getattr(session.config, "workerinput", {}).get("workercount", 0)) or None
    is_fail_fast = getattr(options, "maxfail", 0) == 1
    request = RunRequest(device=options.gpuregress_device, jobs=jobs, fail_fast=is_fail_fast)
    wanted = Wanted(request, options.gpuregress_accept, options.gpuregress_message or _MESSAGE)
    run = SessionRun(session_folder.of_session(session.config) / "gpuregress-verdicts.jsonl", cases, wanted)
    session.stash[_STASH] = run
    run.begin()


def verdict(session: pytest.Session, case: Case, root: Path) -> ReachedVerdict:
    """Wait for the verdict on a case.

    Args:
        session: of pytest.
        case: one of those that were selected.
        root: its project's folder.

    Raises:
        GpuregressError: it was not run.
    """
    return session.stash[_STASH].verdict(case, root)


def finish(session: pytest.Session) -> list[str]:
    """Wait for the end of the session's run, and return its report."""
    run = session.stash.get(_STASH, None)
    if run is None:
        return []
    is_stopped = bool(session.shouldstop or session.shouldfail) or session.exitstatus == pytest.ExitCode.INTERRUPTED
    return run.finish(is_stopped=is_stopped)

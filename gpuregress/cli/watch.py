"""Command `gpuregress watch`: run again what a saved file touches."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import tty
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from gpuregress.cli import console, context, progress, shared_options
from gpuregress.execution.workers import worker_spawn
from gpuregress.foundation.errors import GpuregressError, Interrupted, UsageError
from gpuregress.foundation.records import RunSummary, Verdict
from gpuregress.foundation.wording import first_names, plural
from gpuregress.jobs import plan
from gpuregress.jobs.plan import Plan
from gpuregress.report import terminal
from gpuregress.session import accepting, session, source_locations, watched_jobs
from gpuregress.session.watched_jobs import Stamp, WatchedJobs

_KEYS = "[a]ccept, [d]iff, [r]erun, [q]uit"
_LOOK_MS = 100
"""Time between two looks at the keys."""
_QUIET_MS = 50
_BURST_MS = 400
"""Saves that follow each other within `_QUIET_MS` are one, for so long at most."""
_MOST_NAMED = 3


@click.command("watch", epilog="Example: gpuregress watch reduce")
@click.argument("jobs", nargs=-1, metavar="[JOB]...")
@shared_options.device_option
@shared_options.name_option
@shared_options.tag_option
@click.pass_context
def watch_command(ctx: click.Context, /, jobs: tuple[str, ...], **options: Any) -> int:
    """Run the cases of the JOBs, and run them again whenever one of their files is saved, until q or ^C.

    The files of a job are its own, its sources with all that they include, its references, fills and input files. On a
    terminal, single keys accept what differs or is new, show the differences in full, run everything again, or quit.
    Needs watchfiles: pip install 'gpuregress[watch]'.
    """
    try:
        import watchfiles  # noqa: PLC0415 - an extra, and 0.13 s
    except ImportError:
        raise UsageError("watch needs watchfiles: pip install 'gpuregress[watch]'") from None
    watch = _Watch(ctx, jobs, options)
    with _keys() as has_keys, contextlib.ExitStack() as held:
        held.callback(worker_spawn.drop)
        watch.begin()
        if has_keys:
            console.say(_KEYS)
        while True:
            folders = watch.jobs.folders
            with contextlib.closing(
                watchfiles.watch(
                    *folders,
                    recursive=False,
                    step=_QUIET_MS,
                    debounce=_BURST_MS,
                    rust_timeout=_LOOK_MS,
                    yield_on_timeout=True,
                )
            ) as changes:
                watch.look()  # what was saved before these folders were watched
                while folders == watch.jobs.folders:
                    if next(changes):
                        watch.look(is_event=True)
                    if has_keys and not watch.obey(_pressed()):
                        return 0


class _Watch:
    """The watched jobs, and the last result of each."""

    def __init__(self, ctx: click.Context, selectors: tuple[str, ...], options: Mapping[str, Any]) -> None:
        self._ctx, self._selectors, self._options = ctx, selectors, options
        self._filter = plan.CaseFilter(options["name_glob"], options["tags"])
        self._problem = ""
        self.jobs = WatchedJobs(context.find_project(ctx, selectors))
        self._last: RunSummary | None = None

    def begin(self) -> None:
        """Plan and run all jobs; a selector that means nothing from the beginning is an error.

        Raises:
            UsageError: it is one.
        """
        self.jobs = self._planned()
        self._run(self.jobs.plan)

    def look(self, *, is_event: bool = False) -> None:
        """Run what was saved since the last look.

        Args:
            is_event: something in the folders changed, which may be a new job.
        """
        now = self.jobs.stamps_now()
        saved = self.jobs.saved(now)
        if not saved and not is_event:
            return
        try:
            later = self._planned(now)
        except GpuregressError as error:  # as where the only job was removed: it may come back
            if str(error) != self._problem:
                self._problem = str(error)
                console.say(f"gpuregress: {error}", err=True)
            return
        self._problem = ""
        gone = [job for job in self.jobs.files if job not in later.files]
        touched = self.jobs.touched(saved, later)
        self.jobs = later
        if gone:
            console.say(f"{first_names(gone, _MOST_NAMED)} {'are' if len(gone) > 1 else 'is'} gone")
        if touched:
            names = [path.name for path in sorted(saved)] or ["a new file"]
            console.say()
            console.say(f"{first_names(names, _MOST_NAMED)}: {first_names(touched, _MOST_NAMED)}")
            self._run(later.part(touched))

    def obey(self, key: str) -> bool:
        """Do what a key says; False to quit."""
        if key in ("q", "\x04"):
            return False
        if key == "r":
            self._run(self.jobs.plan)
        elif key == "d":
            self._show_differences()
        elif key == "a":
            self._accept()
        elif key:
            console.say(_KEYS)
        return True

    def _planned(self, known: Mapping[Path, Stamp] | None = None) -> WatchedJobs:
        project = context.find_project(self._ctx, self._selectors)
        return watched_jobs.watched(project, self._selectors, self._filter, known)

    def _run(self, planned: Plan) -> None:
        """Run cases; what keeps them from running is printed, and may be mended by the next save.

        Raises:
            Interrupted: the user asked to stop.
        """
        project = self.jobs.project
        source_locations.forget()
        names = dict.fromkeys((*(case.job for case in planned.cases), *(wrong.name for wrong in planned.broken)))
        # The names keep the run from taking the baselines of all other jobs for orphans.
        request = context.request_of({**self._options, "workers": None}, selectors=tuple(names))
        try:
            with progress.listener(0) as listen:
                summary = session.run(project, planned, request, listen=listen)
        except Interrupted:
            raise
        except GpuregressError as error:
            for line in str(error).splitlines():
                console.say(f"gpuregress: {line}", err=True)
            self._last = None
        else:
            self._last = summary
            progress.show_closing(summary, project.root, 0, to_stderr=False)
            if summary.interrupted:
                raise Interrupted("interrupted")
        sys.stdout.flush()
        worker_spawn.begin(self._options["device"], None)  # the next case finds a worker that is ready

    def _failed(self) -> list[Verdict]:
        if self._last is None:
            return []
        return [verdict for verdict in self._last.verdicts if verdict.status not in ("pass", "skip")]

    def _show_differences(self) -> None:
        for verdict in self._failed():
            console.say(f"{verdict.status} {verdict.case}", colour=terminal.colour(verdict.status))
            for line in terminal.details(verdict, self.jobs.project.root):
                console.say(f"  {line}")
        if not self._failed():
            console.say("nothing differs")

    def _accept(self) -> None:
        """Accept what the last run has that differs or is new."""
        cases = [verdict.case for verdict in self._failed() if verdict.status in ("differ", "new")]
        if not cases or self._last is None:
            console.say("nothing to accept")
            return
        try:
            done = accepting.accept(self.jobs.project, cases, accepting.Terms(), run=self._last.run)
        except GpuregressError as error:
            console.say(f"gpuregress: {error}", err=True)
            return
        console.say(f"accepted {plural(len(done.accepted), 'case')}: {first_names(cases, _MOST_NAMED)}")
        for refusal in (*done.left, *done.refused):
            console.say(f"not accepted: {refusal.case}: {refusal.reason}", err=True)


@contextlib.contextmanager
def _keys() -> Iterator[bool]:
    """Let single keys be read while a terminal is stdin; whether it is one."""
    if not sys.stdin.isatty():
        yield False
        return
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield True
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _pressed() -> str:
    """The key that was pressed, "" for none; the end of the input is q."""
    if not select.select([sys.stdin], [], [], 0)[0]:
        return ""
    return os.read(sys.stdin.fileno(), 1).decode("latin-1").lower() or "q"

"""Job files and their cases as pytest's collectors and items."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gpuregress.foundation.errors import GpuregressError, JobErrors
from gpuregress.foundation.escapes import entry
from gpuregress.foundation.records import Case
from gpuregress.jobs.plan import CaseOverrides, case_planning
from gpuregress.jobs.revision import Labels
from gpuregress.pytest_plugin import run_of_session
from gpuregress.report import terminal

if TYPE_CHECKING:
    from gpuregress.pytest_plugin.run_of_session import ReachedVerdict
    from gpuregress.store.project import Project

_NAMES = pytest.StashKey[dict[str, Path]]()
_MARKED = pytest.StashKey[set[str]]()


class CaseFailure(Exception):
    """A case that did not pass; its text is what the report shows."""


class CollectedJob(pytest.File):
    """A job file.

    Args:
        project: whose job it is.
    """

    def __init__(self, *, project: Project, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.project = project

    def collect(self) -> Iterator[CaseItem]:
        """Plan the cases of the job.

        Raises:
            CollectError: the job is wrong; every error with its line and key.
        """
        try:
            cases, _ = case_planning.of_job(self.path, self.project, CaseOverrides()).labelled(self.project, Labels())
        except JobErrors as error:
            raise self.CollectError("\n".join(_relative(str(one)) for one in error.errors)) from None
        except GpuregressError as error:
            raise self.CollectError(str(error)) from None
        self._check_name(cases[0].job if cases else "")
        for case in cases:
            yield CaseItem.from_parent(self, name=case.name.partition("/")[2] or case.job, case=case)

    def _check_name(self, job: str) -> None:
        """Refuse two jobs with one name, which would write into one folder."""
        names = self.session.stash.setdefault(_NAMES, {})
        other = names.setdefault(f"{self.project.root}:{job.casefold()}", self.path)
        if other != self.path:
            text = f"{job!r} is also the name of the job in {_relative(str(other))}: every job needs its own"
            raise self.CollectError(f"{_relative(str(self.path))}: job: {text}")


class CaseItem(pytest.Item):
    """A case of a job.

    Args:
        case: what runs.
    """

    def __init__(self, *, case: Case, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case
        self.extra_keyword_matches.update((case.name, case.job, *case.tags))
        self.add_marker("gpuregress")
        for tag in case.tags:
            self._add_tag(tag)

    @property
    def project(self) -> Project:
        """The project whose case it is."""
        assert isinstance(self.parent, CollectedJob)
        return self.parent.project

    def _add_tag(self, tag: str) -> None:
        """Mark the item with a tag, which `--strict-markers` must know."""
        known = self.config.stash.setdefault(_MARKED, set())
        if tag not in known:
            known.add(tag)
            self.config.addinivalue_line("markers", f"{tag}: a tag of gpuregress jobs")
        self.add_marker(tag)

    def runtest(self) -> None:
        """Wait for the verdict.

        Raises:
            CaseFailure: the case did not pass.
        """
        reached = run_of_session.verdict(self.session, self.case, self.project.root)
        self.user_properties.append(
            ("gpuregress_verdict", "accepted" if reached.is_accepted else reached.verdict.status)
        )
        if reached.verdict.outcome is not None and reached.verdict.outcome.output:
            self.add_report_section("call", "stdout", reached.verdict.outcome.output)
        if reached.verdict.status == "skip":
            pytest.skip(reached.verdict.reason)
        if reached.verdict.notes and reached.verdict.status != "error":  # the notes of an error are its further lines
            notes = [f"note: {note}" for note in reached.verdict.notes]
            self.add_report_section("call", "gpuregress", "\n".join(notes))
        if not reached.is_passed:
            raise CaseFailure(failure_text(reached, self.project.root))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return our words for a case that failed, without a traceback."""
        if isinstance(excinfo.value, CaseFailure):
            return str(excinfo.value)
        if isinstance(excinfo.value, GpuregressError):
            return entry(str(excinfo.value))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Return the headline of a failure: the case's name."""
        return self.path, None, self.case.name


def failure_text(reached: ReachedVerdict, root: Path) -> str:
    """Return the report of a case that did not pass, as `gpuregress run` shows it.

    Args:
        reached: its verdict.
        root: the project's folder.
    """
    lines = [terminal.case_line(reached.verdict), *(f"  {line}" for line in reached.lines(root))]
    accept = f"gpuregress accept --run {reached.run} {reached.verdict.case}" if reached.run else ""
    if reached.verdict.status in ("new", "differ") and accept:
        lines += [f"to accept it: {accept}", "          or: pytest --gpuregress-accept"]
    if reached.refusal:
        lines.append(f"not accepted: {reached.refusal}")
    return "\n".join(map(entry, lines))


def _relative(path: str) -> str:
    return path.removeprefix(f"{Path.cwd()}/")

"""Import of runs of other projects; their folders are made by real runs on the fake device."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from gpuregress.foundation import storage
from gpuregress.foundation.errors import UsageError
from gpuregress.gpu.records import replace
from gpuregress.session.runs import history_import, journal
from gpuregress.store.history import History
from gpuregress.store.project import Project
from tests.workshop import RUN, Workshop


@pytest.fixture
def run(fake_shop: Workshop) -> Path:
    """The folder of a run."""
    fake_shop.call(*RUN)
    return (fake_shop.root / "runs/latest").resolve()


@pytest.fixture
def other(tmp_path: Path) -> Project:
    root = tmp_path / "other"
    return Project(root, root / "configs", root / "baselines", root / "runs")


def imported(project: Project, *folders: Path) -> list[tuple[bool, str]]:
    return [(one.is_new, one.problem) for one in history_import.import_runs(project, folders)]


def test_a_run_is_imported_once(run: Path, other: Project) -> None:
    assert imported(other, run) == [(True, "")]
    before = (other.runs / "history.sqlite").read_bytes()
    assert imported(other, run, run.parent) == [(False, "")]
    with History(other.runs / "history.sqlite") as history:
        (past,) = history.runs()
        assert (past.run, past.imported, past.counts) == (run.name, True, {"new": 1})
        assert past.host == journal.process().host
        (result,) = history.results_of(past)
        assert (result.case, result.verdict, result.device) == ("scale/n=100", "new", "cpu")
        assert (result.launch_seconds or 0) > 0
    assert (other.runs / "history.sqlite").read_bytes() == before


def test_runs_of_one_name_from_two_hosts_do_not_clash(run: Path, other: Project) -> None:
    assert imported(other, run) == [(True, "")]
    text = (run / journal.FILE).read_bytes()
    away = other.root / run.name
    shutil.copytree(run, away)
    read = journal.read(run)
    lines = [journal._line("start", _of_host(read.start, "elsewhere"))]
    lines += [journal._line("verdict", entry) for entry in read.entries]
    assert read.end is not None
    before = storage.digest_text(b"".join(lines))
    (away / journal.FILE).write_bytes(b"".join(lines) + journal._line("end", read.end, before))
    assert (away / journal.FILE).read_bytes() != text
    assert imported(other, away) == [(True, "")]
    with History(other.runs / "history.sqlite") as history:
        assert {(one.run, one.host) for one in history.all_runs()} == {
            (run.name, "elsewhere"),
            (run.name, journal.process().host),
        }


def _of_host(start: journal.JournalStart, host: str) -> journal.JournalStart:
    return replace(start, process=replace(start.process, host=host))


@pytest.mark.parametrize("name", [journal.FILE, journal.RESULTS])
def test_a_run_that_was_changed_is_refused_and_the_others_are_imported(run: Path, other: Project, name: str) -> None:
    changed = other.root / run.name
    shutil.copytree(run, changed)
    text = (changed / name).read_text()
    (changed / name).write_text(text.replace("no baseline yet", "no baseline yes"))
    assert (changed / name).read_text() != text
    (bad, problem), good = imported(other, changed, run)
    assert not bad
    assert "edited or cut short" in problem
    assert good == (True, "")


def test_a_run_that_goes_on_is_refused(run: Path, other: Project) -> None:
    lines = (run / journal.FILE).read_bytes().splitlines(keepends=True)
    (run / journal.FILE).write_bytes(b"".join(lines[:-1]))
    (run / journal.RESULTS).unlink()
    ((is_new, problem),) = imported(other, run)
    assert not is_new
    assert "the run goes on, or was cut short" in problem


def test_what_is_no_run_is_refused(run: Path, other: Project, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no folder of a run"):
        imported(other, tmp_path / "nowhere")
    (run / journal.FILE).unlink()
    assert json.loads((run / journal.RESULTS).read_text())["cases"]
    with pytest.raises(UsageError, match=r"has no verdicts\.jsonl, whose digests"):
        imported(other, run)


def test_an_own_run_that_the_history_lost_is_no_import(run: Path, fake_shop: Workshop) -> None:
    (fake_shop.root / "runs/history.sqlite").unlink()
    own = Project(run.parents[1], run.parents[1] / "configs", run.parents[1] / "baselines", run.parent)
    assert imported(own, run) == [(True, "")]
    with History(own.runs / "history.sqlite") as history:
        assert [one.imported for one in history.all_runs()] == [False]

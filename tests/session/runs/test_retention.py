from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gpuregress.foundation.records import RunSummary, Status, Verdict
from gpuregress.session import missing_cases
from gpuregress.session.missing_cases import LastNight
from gpuregress.session.runs import journal, retention, run_folders
from gpuregress.store.dumps import run_names
from gpuregress.store.history import History
from gpuregress.store.project import Project
from gpuregress.store.settings import RetentionSpec, SettingsSpec

MEGABYTE = 1 << 20


def project(root: Path, keep: int) -> Project:
    return Project(root, root / "configs", root / "baselines", root, SettingsSpec(retention=RetentionSpec(runs=keep)))


def made(runs: Path, name: str, words: dict[str, Status] | None = None, *, finished: bool = True) -> Path:
    folder = runs / name
    (folder / "dumps").mkdir(parents=True)
    if finished:
        cases = [{"case": case, "verdict": word} for case, word in (words or {}).items()]
        (folder / run_folders.RESULTS).write_text(json.dumps({"version": 1, "cases": cases}))
    return folder


def runs_of(root: Path, *each: dict[str, Status]) -> list[str]:
    return [made(root, f"2026112{n}T020000Z-0000", words).name for n, words in enumerate(each)]


def left(runs: Path) -> list[str]:
    return [folder.name for folder in run_names.every(runs)]


def test_only_the_last_ones_stay_and_what_still_runs(tmp_path: Path) -> None:
    old = [made(tmp_path, f"20261120T02000{n}Z-0001") for n in range(6)]
    running = made(tmp_path, "20261101T020000Z-0001", finished=False)
    abandoned = made(tmp_path, "20261102T020000Z-0001", finished=False)
    os.utime(abandoned, (0, 0))
    stranger = tmp_path / "notes"
    stranger.mkdir()
    run_folders.point_latest(tmp_path, old[0])
    removed = retention.retire(project(tmp_path, 3))
    assert set(removed) == {abandoned.name, old[1].name, old[2].name, old[3].name}
    assert running.is_dir()
    assert stranger.is_dir()
    assert old[0].is_dir()


def test_the_last_run_counts_as_the_last_whatever_its_name_is_within_the_second(tmp_path: Path) -> None:
    names = [f"20261120T140423Z-{ending}" for ending in ("0000", "4444", "8888", "ffff")]
    for name in names:
        made(tmp_path, name)
    run_folders.point_latest(tmp_path, tmp_path / names[0])
    assert retention.retire(project(tmp_path, 2)) == (names[1], names[2])
    assert left(tmp_path) == [names[0], names[3]]


@pytest.mark.parametrize("has_history", [False, True])
def test_the_last_passing_run_of_each_case_stays(tmp_path: Path, has_history: bool) -> None:  # noqa: FBT001
    each: list[dict[str, Status]] = [
        {"a": "pass", "b": "pass", "gone": "pass"},
        {"a": "pass", "b": "pass"},
        {"a": "pass"},
        {"a": "differ", "b": "differ"},
        {"a": "differ", "b": "fault"},
    ]
    names = runs_of(tmp_path, *each)
    if has_history:
        with History(tmp_path / "history.sqlite") as history:
            for name, words in zip(names, each, strict=True):
                verdicts = tuple(Verdict("j", case, word) for case, word in words.items())
                history.add(RunSummary(name, "", "cpu", name, 1.0, verdicts))
                (tmp_path / name / run_folders.RESULTS).write_text("damaged")
    assert retention.retire(project(tmp_path, 1)) == (names[0], names[3])
    assert left(tmp_path) == [names[1], names[2], names[4]]


@pytest.mark.parametrize("how", ["baseline", "night", "neither"])
def test_runs_of_one_case_do_not_take_the_last_pass_of_another(tmp_path: Path, how: str) -> None:
    names = runs_of(tmp_path, {"a": "pass", "b": "pass"}, {"b": "pass"}, {"b": "pass"}, {"b": "pass"})
    example = project(tmp_path, 2)
    if how == "baseline":
        (example.baselines / "a").mkdir(parents=True)
        (example.baselines / "a/baseline.yaml").touch()
    elif how == "night":
        missing_cases.record_night(example, LastNight("20261119T020000Z-0000", ("a", "b")))
    retention.retire(example)
    assert left(tmp_path) == (names[2:] if how == "neither" else [names[0], *names[2:]])


def test_a_run_that_goes_on_stays_however_long_it_is_silent(tmp_path: Path) -> None:
    now = datetime(2026, 11, 1, tzinfo=UTC)

    start = journal.JournalStart(1, "", "", "cpu", "run", "1", journal.process(), ("a",))
    folder, writer = run_folders.create(tmp_path, start, now)
    runs_of(tmp_path, {"a": "new"})
    os.utime(folder, (0, 0))
    assert retention.retire(project(tmp_path, 1)) == ()
    writer.close()
    assert retention.retire(project(tmp_path, 1)) == (folder.name,)


def test_a_folder_of_runs_that_was_removed_is_not_full(tmp_path: Path) -> None:
    assert not retention.is_full(tmp_path / "gone")


def test_the_last_finished_night_stays(tmp_path: Path) -> None:
    names = runs_of(tmp_path, {"a": "new"}, {"a": "new"}, {"a": "new"})
    missing_cases.record_night(project(tmp_path, 1), LastNight(names[0], ("a",)))
    retention.retire(project(tmp_path, 1))
    assert left(tmp_path) == [names[0], names[2]]


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """A disk with so many megabytes, of which the runs' files take what they take."""

    def make(total: int, others: int) -> None:
        def stat(_path: Path) -> os.statvfs_result:
            taken = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
            free = max(0, (total - others) * MEGABYTE - taken) // 4096
            return os.statvfs_result((4096, 4096, total * 256, free, free, 0, 0, 0, 0, 255))

        monkeypatch.setattr(os, "statvfs", stat)

    return make


def test_where_the_disk_is_short_older_runs_go_first(tmp_path: Path, disk: Callable[[int, int], None]) -> None:
    names = runs_of(tmp_path, {"a": "new"}, {"a": "pass"}, {"a": "new"}, {"a": "new"}, {"a": "new"})
    for name in names:
        (tmp_path / name / "dumps/out.1").write_bytes(bytes(8 * MEGABYTE))
    run_folders.point_latest(tmp_path, tmp_path / names[-1])
    example = project(tmp_path, 30)
    disk(100, 40)
    assert retention.make_room(example) == ()  # 20 are free, and the last run took 8
    disk(100, 50)
    assert retention.make_room(example) == ("the disk is short of space: 1 old run was removed",)
    assert left(tmp_path) == names[1:]
    disk(100, 90)
    assert retention.make_room(example) == ("the disk is short of space: 2 old runs were removed",)
    assert left(tmp_path) == [names[1], names[-1]]
    assert retention.is_full(tmp_path)


def test_a_small_disk_is_not_short_for_being_small(tmp_path: Path, disk: Callable[[int, int], None]) -> None:
    runs_of(tmp_path, {"a": "new"}, {"a": "new"})
    disk(20, 15)
    assert retention.make_room(project(tmp_path, 30)) == ()


def test_a_dump_of_several_names_counts_once(tmp_path: Path, disk: Callable[[int, int], None]) -> None:
    names = runs_of(tmp_path, {"a": "new"}, {"a": "new"})
    (tmp_path / names[1] / "dumps/out.1").write_bytes(bytes(8 * MEGABYTE))
    for number in range(4):
        os.link(tmp_path / names[1] / "dumps/out.1", tmp_path / names[1] / f"dumps/out{number}.1")
    disk(100, 40)  # 20 are free
    assert retention.make_room(project(tmp_path, 30)) == ()


def filled(runs: Path, name: str, megabytes: int) -> Path:
    folder = made(runs, name, {"a": "new"})
    (folder / "dumps/out.1").write_bytes(bytes(megabytes * MEGABYTE))
    return folder


def bounded(root: Path, *, seconds: float | None = None, size: int | None = None, keep: int = 30) -> Project:
    settings = SettingsSpec(retention=RetentionSpec(runs=keep, age=seconds, size=size))
    return Project(root, root / "configs", root / "baselines", root, settings)


def test_runs_above_an_age_go_but_never_the_newest(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    names = [f"{now - timedelta(days=days):%Y%m%dT%H%M%SZ}-0000" for days in (9, 8, 3)]
    for name in names:
        made(tmp_path, name, {"a": "new"})
    assert retention.retire(bounded(tmp_path, seconds=8.5 * 86400)) == (names[0],)
    assert retention.retire(bounded(tmp_path, seconds=3600)) == (names[1],)
    assert left(tmp_path) == names[2:]


def test_the_oldest_runs_go_until_the_rest_fits(tmp_path: Path) -> None:
    names = [filled(tmp_path, f"2026112{n}T020000Z-0000", 2).name for n in range(5)]
    missing_cases.record_night(project(tmp_path, 1), LastNight(names[0], ("a",)))
    assert retention.retire(bounded(tmp_path, size=20 * MEGABYTE)) == ()
    assert retention.retire(bounded(tmp_path, size=7 * MEGABYTE)) == (names[1], names[2])
    assert retention.retire(bounded(tmp_path, size=1)) == (names[3],)
    assert left(tmp_path) == [names[0], names[4]]


def test_a_file_of_several_runs_counts_once_and_is_freed_with_the_last(tmp_path: Path) -> None:
    """Three runs share a dump, and the store of contents has one more name of it."""
    names = [made(tmp_path, f"2026112{n}T020000Z-0000", {"a": "new"}).name for n in range(4)]
    store = tmp_path / run_folders.CONTENTS
    store.mkdir()
    (store / "0").write_bytes(bytes(2 * MEGABYTE))
    for name in names[:3]:
        os.link(store / "0", tmp_path / name / "dumps/out.1")
    assert retention.retire(bounded(tmp_path, size=3 * MEGABYTE)) == ()
    assert retention.size_of([tmp_path / name for name in names[:2]]) < MEGABYTE
    assert retention.size_of([tmp_path / name for name in names[:3]]) >= 2 * MEGABYTE
    assert retention.retire(bounded(tmp_path, keep=2)) == (names[0], names[1])
    assert (store / "0").exists()
    assert retention.retire(bounded(tmp_path, keep=1)) == (names[2],)
    assert not (store / "0").exists()

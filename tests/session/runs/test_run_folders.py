from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpuregress.foundation.errors import NothingToDo, StorageError, UsageError
from gpuregress.session.runs import journal, run_folders
from gpuregress.store.dumps import run_names

NOW = datetime(2026, 11, 20, 2, 0, 0, tzinfo=UTC)


def made(runs: Path, name: str, *, finished: bool = True) -> Path:
    folder = runs / name
    (folder / "dumps").mkdir(parents=True)
    if finished:
        (folder / run_folders.RESULTS).write_text('{"version": 1}')
    return folder


START = journal.JournalStart(1, "", "2026-11-20T02:00:00Z", "cpu", "run", "1", journal.process(), ("a",))


def created(runs: Path) -> Path:
    folder, writer = run_folders.create(runs, START, NOW)
    writer.close()
    return folder


def test_names_say_when_and_sort_as_the_runs_were_made(tmp_path: Path) -> None:
    names = [created(tmp_path).name for _ in range(30)]
    assert names == [folder.name for folder in run_names.every(tmp_path)]
    assert len(set(names)) == 30
    assert all(name.startswith("20261120T020000Z-") and len(name) == 21 for name in names)


def test_a_second_that_is_full_gives_way_to_the_next(tmp_path: Path) -> None:
    made(tmp_path, "20261120T020000Z-ffff")
    assert [created(tmp_path).name[:16] for _ in range(2)] == ["20261120T020001Z"] * 2


def test_runs_are_kept_out_of_version_control_once(tmp_path: Path) -> None:
    created(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "*\n"
    (tmp_path / ".gitignore").write_text("# mine\n")
    created(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "# mine\n"


def test_latest_is_moved_in_one_step(tmp_path: Path) -> None:
    one, two = made(tmp_path, "20261120T020000Z-0001"), made(tmp_path, "20261120T020000Z-0002")
    run_folders.point_latest(tmp_path, one)
    run_folders.point_latest(tmp_path, two)
    assert (tmp_path / "latest").resolve() == two
    assert run_names.find(tmp_path) == two
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "20261120T020000Z-0001",
        "20261120T020000Z-0002",
        "latest",
    ]


def test_something_else_called_latest_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "latest").mkdir()
    with pytest.raises(StorageError, match="latest"):
        run_folders.point_latest(tmp_path, made(tmp_path, "20261120T020000Z-0001"))


def test_a_run_is_found_by_its_name_beginning_or_end(tmp_path: Path) -> None:
    one, two = made(tmp_path, "20261120T020000Z-0001"), made(tmp_path, "20261121T020000Z-0002")
    assert run_names.find(tmp_path, "20261120") == one
    assert run_names.find(tmp_path, "0002") == two
    with pytest.raises(UsageError, match="2 runs"):
        run_names.find(tmp_path, "2026112")
    with pytest.raises(UsageError, match="no run"):
        run_names.find(tmp_path, "x")


def test_no_run_is_nothing_to_do(tmp_path: Path) -> None:
    with pytest.raises(NothingToDo):
        run_names.find(tmp_path / "runs")


def test_a_new_run_has_its_journal_from_the_start_and_a_discarded_one_leaves_nothing(tmp_path: Path) -> None:
    one = made(tmp_path, "20261119T020000Z-0001")
    run_folders.point_latest(tmp_path, one)
    folder, writer = run_folders.create(tmp_path, START, NOW)
    run_folders.point_latest(tmp_path, folder)
    assert journal.read(folder).state == "running"
    assert (folder / "dumps").is_dir()
    writer.close()
    assert journal.read(folder).state == "cut short"
    run_folders.discard(tmp_path, folder, one)
    assert run_names.latest(tmp_path) == one
    assert run_names.every(tmp_path) == (one,)


def test_a_discarded_run_takes_latest_from_no_other(tmp_path: Path) -> None:
    before, folder, newer = made(tmp_path, "20261119T020000Z-0001"), created(tmp_path), created(tmp_path)
    run_folders.point_latest(tmp_path, newer)
    run_folders.discard(tmp_path, folder, before)
    assert run_names.latest(tmp_path) == newer
    assert set(run_names.every(tmp_path)) == {before, newer}


def test_latest_stays_with_a_newer_run_that_goes_on(tmp_path: Path) -> None:
    older, newer = created(tmp_path), created(tmp_path)
    run_folders.point_latest(tmp_path, newer)
    run_folders.point_latest_if_over(tmp_path, older)
    assert run_names.latest(tmp_path) == newer
    assert journal.close_cut_short(journal.read(newer), journal.JournalEnd("finished", 1.0, 0, (), ""))
    run_folders.point_latest_if_over(tmp_path, older)
    assert run_names.latest(tmp_path) == older

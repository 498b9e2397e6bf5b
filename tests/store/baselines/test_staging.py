from __future__ import annotations

import importlib
import itertools
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from gpuregress.foundation.errors import BaselineError, StorageError
from gpuregress.foundation.records import Case, MadeOf, Outcome
from gpuregress.foundation.storage import TEMPORARY_PREFIX, atomic_writes
from gpuregress.store import remote
from gpuregress.store.baselines import BaselineStore, made_of
from gpuregress.store.dumps import reader
from tests.store.baselines.support import NAME, accept, accept_outcome, damage, make_case, make_outcome

# Python 3.12 warns of a fork beside threads (OpenBLAS has some); the children here start none and take no lock.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


@pytest.mark.parametrize("how", ["gone", "cut", "edited", "added"])
def test_a_damaged_dump_is_named(store: BaselineStore, tmp_path: Path, how: str) -> None:
    accept(store, tmp_path / "run", [1.0, 2.0])
    damage(store.folder / NAME / "sum.1.4", how)
    with pytest.raises(BaselineError, match=r"sum\.1\.4: .*accept the case anew"):
        store.load(NAME)
    accept(store, tmp_path / "run", [1.0, 2.0])
    assert store.load(NAME) is not None


STEPS = (
    "gpuregress.store.baselines.staging.copy_file",
    "gpuregress.store.baselines.staging.write_beside",
    "gpuregress.store.baselines.staging.sync_all",
    "pathlib.Path.unlink",
    "pathlib.Path.replace",
)


def _killed_at(monkeypatch: pytest.MonkeyPatch, step: str, nth: int, when: str, act: Callable[[], object]) -> None:
    """Run something in a child process, which is killed before or after its nth call of a function."""
    child = os.fork()
    if child == 0:
        owner, _, name = step.rpartition(".")
        module, _, kind = owner.rpartition(".")
        target = getattr(importlib.import_module(module), kind) if kind[0].isupper() else importlib.import_module(owner)
        real, calls = getattr(target, name), itertools.count(1)

        def killed(*args: object, **more: object) -> object:
            is_last = next(calls) == nth
            done = real(*args, **more) if not is_last or when == "after" else None
            if is_last:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        try:
            monkeypatch.setattr(target, name, killed)
            act()
        finally:
            os._exit(0)  # whatever happens, the child must not go on as a second pytest
    os.waitpid(child, 0)


@pytest.mark.parametrize("revision", ["1.4", "1.5"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_each_step(
    store: BaselineStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, revision: str, step: str, nth: int, when: str
) -> None:
    """Whichever step the kill meets, the old baseline is whole or the new one."""
    accept(store, tmp_path / "run", [1.0, 2.0], drift=["sum"])
    case, outcome = make_case(revision), make_outcome(tmp_path / "new", [3.0, 4.0], revision)
    facts = made_of(case, outcome, (), [])
    _killed_at(monkeypatch, step, nth, when, lambda: accept_outcome(store, case, outcome, facts, drift=["sum"]))
    baseline = store.load(NAME)
    assert baseline is not None
    assert reader.read(Path(baseline.dumps["sum"].path)).array.tolist() in ([1.0, 2.0], [3.0, 4.0])
    assert reader.read(Path(baseline.first["sum"].path)).array.tolist() == [1.0, 2.0]
    after = accept_outcome(store, case, outcome, facts, drift=["sum"])
    assert reader.read(Path(after.dumps["sum"].path)).array.tolist() == [3.0, 4.0]
    left = sorted(path.name for path in (store.folder / NAME).iterdir() if not path.name.startswith(".gpuregress-tmp-"))
    assert left == ["baseline.yaml", "first", f"sum.{revision}"]


def in_order(folder: Path, cases: int, value: float) -> list[tuple[Case, Outcome]]:
    """So many cases `reduce/0`, `reduce/1` … with one value each."""
    return [
        (make_case(name=f"reduce/{number}"), make_outcome(folder / str(number), [value, number]))
        for number in range(cases)
    ]


@pytest.mark.parametrize("nth", range(1, 8))
def test_killed_among_several_each_is_old_or_new(
    store: BaselineStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    for case, outcome in in_order(tmp_path / "old", 3, 1.0):
        accept_outcome(store, case, outcome, MadeOf("5eed"))
    new = in_order(tmp_path / "new", 3, 2.0)
    child = os.fork()
    if child == 0:
        real, calls = Path.replace, itertools.count(1)

        def killed(source: Path, target: Path) -> Path:
            if ".gpuregress-" in source.name and next(calls) == nth + 3:  # the first three copy the dumps in
                os.kill(os.getpid(), signal.SIGKILL)
            return real(source, target)

        try:
            monkeypatch.setattr(Path, "replace", killed)
            with store.accepting() as batch:
                for case, outcome in new:
                    batch.add(case, outcome, MadeOf("5eed"))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    for number in range(3):
        baseline = store.load(f"reduce/{number}")
        assert baseline is not None
        held = reader.read(Path(baseline.dumps["sum"].path)).array.tolist()
        assert held in ([1.0, number], [2.0, number])
        assert len(baseline.history) == held[0]


def test_a_batch_that_fails_leaves_every_baseline_as_it_was(store: BaselineStore, tmp_path: Path) -> None:
    accept(store, tmp_path / "run", [1.0])
    before = sorted((path.name, path.read_bytes()) for path in (store.folder / NAME).iterdir())
    case, outcome = make_case(), make_outcome(tmp_path / "new", [2.0])

    def fail() -> None:
        with store.accepting() as batch:
            batch.add(case, outcome, MadeOf("5eed"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert sorted((path.name, path.read_bytes()) for path in (store.folder / NAME).iterdir()) == before


def test_a_signal_among_the_renames_leaves_no_file_of_the_others(
    store: BaselineStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, renamed = Path.replace, []

    def interrupted(source: Path, target: Path) -> Path:
        if target.name == "baseline.yaml":
            renamed.append(target)
        if len(renamed) == 3:
            raise KeyboardInterrupt
        return replace(source, target)

    def accept_all() -> None:
        with store.accepting() as batch:
            for case, outcome in outcomes:
                batch.add(case, outcome, MadeOf("5eed"))
            monkeypatch.setattr(Path, "replace", interrupted)

    outcomes = in_order(tmp_path, 5, 1.0)
    with pytest.raises(KeyboardInterrupt):
        accept_all()
    actual = [path for path in store.folder.rglob("*") if path.is_file() and path.name != ".gpuregress-lock"]
    assert sorted(path.parent for path in actual) == sorted([path.parent for path in renamed[:2]] * 2)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # nobody could close the file
def test_a_signal_between_a_temporary_file_and_its_use_leaves_none(
    store: BaselineStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_file = atomic_writes.new_file

    def interrupted(folder: Path) -> tuple[BinaryIO, Path]:
        file, path = new_file(folder)
        assert path.exists()
        assert not file.closed
        raise KeyboardInterrupt

    ((case, outcome),) = in_order(tmp_path, 1, 1.0)

    def accept_one() -> None:
        with store.accepting() as batch:
            monkeypatch.setattr(atomic_writes, "new_file", interrupted)
            batch.add(case, outcome, MadeOf("5eed"))

    with pytest.raises(KeyboardInterrupt):
        accept_one()
    assert not [path for path in store.folder.rglob("*") if path.name.startswith(TEMPORARY_PREFIX)]


# --- dumps in a remote folder -----------------------------------------------------------------------------------------

REMOTE_STEPS = (
    "gpuregress.store.remote._put",
    "fsspec.implementations.local.LocalFileSystem.put_file",
    "fsspec.implementations.local.LocalFileSystem.mv",
    "gpuregress.foundation.storage.compress_file",
    "gpuregress.store.baselines.staging.write_beside",
    "gpuregress.store.baselines.staging.sync_all",
    "pathlib.Path.unlink",
    "pathlib.Path.replace",
)


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BaselineStore:
    """A store whose dumps are in another folder, by digest."""
    pytest.importorskip("fsspec")
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))
    return BaselineStore(tmp_path / "baselines", dumps=f"file://{tmp_path}/objects")


def fetched(store: BaselineStore, which: str = "dumps") -> list[float]:
    """The values of the accepted dump, from the remote folder."""
    for copy in (store.folder.parent / "cache").rglob("*.zst"):
        copy.unlink()
    baseline = store.load(NAME)
    assert baseline is not None
    values: list[float] = reader.read(remote.local(getattr(baseline, which)["sum"])).array.tolist()
    return values


@pytest.mark.parametrize("is_moved", [False, True])
@pytest.mark.parametrize("step", REMOTE_STEPS)
@pytest.mark.parametrize("nth", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_each_step_with_remote_dumps(
    far: BaselineStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    nth: int,
    when: str,
    *,
    is_moved: bool,
) -> None:
    """Whichever step the kill meets, all that `baseline.yaml` names is there, also where the dumps move."""
    accept(far if is_moved else BaselineStore(far.folder), tmp_path / "run", [1.0, 2.0], drift=["sum"])
    case, outcome = make_case("1.5"), make_outcome(tmp_path / "new", [3.0, 4.0], "1.5")
    facts = made_of(case, outcome, (), [])
    _killed_at(monkeypatch, step, nth, when, lambda: accept_outcome(far, case, outcome, facts, drift=["sum"]))
    assert fetched(far) in ([1.0, 2.0], [3.0, 4.0])
    assert fetched(far, "first") == [1.0, 2.0]
    accept_outcome(far, case, outcome, facts, drift=["sum"])
    assert (fetched(far), fetched(far, "first")) == ([3.0, 4.0], [1.0, 2.0])
    left = sorted(path.name for path in (far.folder / NAME).iterdir() if not path.name.startswith(".gpuregress-tmp-"))
    assert left == ["baseline.yaml"]


def test_nothing_is_accepted_where_an_upload_fails(far: BaselineStore, tmp_path: Path) -> None:
    accept(far, tmp_path / "run", [1.0])
    manifest = (far.folder / NAME / "baseline.yaml").read_bytes()
    broken = BaselineStore(far.folder, dumps=f"file://{tmp_path}/run/sum.1.4/no-folder")
    with pytest.raises(StorageError, match=r"buffer sum: its dump .* cannot be uploaded"):
        accept(broken, tmp_path / "new", [2.0], "1.5")
    assert sorted(path.name for path in (far.folder / NAME).iterdir()) == ["baseline.yaml"]
    assert (far.folder / NAME / "baseline.yaml").read_bytes() == manifest


def test_dumps_move_to_the_remote_folder_with_the_next_accept(far: BaselineStore, tmp_path: Path) -> None:
    """Until then the files beside `baseline.yaml` count; an edited one does not, since the digest decides."""
    accept(BaselineStore(far.folder), tmp_path / "run", [1.0, 2.0])
    baseline = far.load(NAME)
    assert baseline is not None
    assert (baseline.dumps["sum"].remote, Path(baseline.dumps["sum"].path).name) == ("", "sum.1.4")
    accept(far, tmp_path / "run", [1.0, 2.0])
    assert sorted(path.name for path in (far.folder / NAME).iterdir()) == ["baseline.yaml"]
    assert fetched(far) == [1.0, 2.0]
    assert {name: path.name for name, path in far.find(NAME, "1.4").items()} == {"sum": "sum.1.4.zst"}
    with pytest.raises(BaselineError, match="set `folders: dumps` if it is kept there"):
        BaselineStore(far.folder).load(NAME)

"""Accepting is all or nothing, and what was edited is never trusted."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from gpuregress.foundation.errors import BaselineError, RunLocked, StorageError
from gpuregress.foundation.records import Fault, MadeOf, Outcome
from gpuregress.foundation.storage import TEMPORARY_PREFIX, lock
from gpuregress.store.baselines import BaselineStore, made_of
from gpuregress.store.dumps import reader
from tests.store.baselines.support import NAME, accept, accept_outcome, make_case, make_outcome
from tests.waiting import wait_until

# Python 3.12 warns of a fork beside threads (OpenBLAS has some); the children here start none and take no lock.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


def test_nothing_accepted(store: BaselineStore) -> None:
    assert store.load(NAME) is None
    assert store.case_names() == ()


def test_accept_then_load(store: BaselineStore, tmp_path: Path) -> None:
    accept(store, tmp_path / "run", [1.0, 2.0], who="ada", why="first", run="R1")
    baseline = store.load(NAME)
    assert baseline is not None
    assert baseline.revision == "1.4"
    assert Path(baseline.dumps["sum"].path) == store.folder / NAME / "sum.1.4"
    assert reader.read(Path(baseline.dumps["sum"].path)).array.tolist() == [1.0, 2.0]
    assert baseline.made_of.inputs == {"x": "ab" * 16}
    assert [(e.revision, e.who, e.why, e.run) for e in baseline.history] == [("1.4", "ada", "first", "R1")]
    assert store.case_names() == (NAME,)


def test_the_same_run_is_in_the_history_once(store: BaselineStore, tmp_path: Path) -> None:
    for run, why in (("R1", "first"), ("R1", "first"), ("R1", "in other words"), ("R2", "again"), ("R1", "first")):
        accept(store, tmp_path / "run", [1.0], why=why, run=run)
    events = [(event.run, event.why) for event in store.histories(NAME)[""]]
    assert events == [("R1", "first"), ("R1", "in other words"), ("R2", "again"), ("R1", "first")]


def test_the_file_is_small_and_tells_nothing_of_this_machine(store: BaselineStore, tmp_path: Path) -> None:
    accept(store, tmp_path / "run", [1.0])
    text = (store.folder / NAME / "baseline.yaml").read_text()
    assert str(tmp_path) not in text
    assert os.uname().nodename not in text
    assert len(text) < 2000


def test_the_next_revision_replaces_the_dumps(store: BaselineStore, tmp_path: Path) -> None:
    accept(store, tmp_path / "run", [1.0])
    accept(store, tmp_path / "run", [2.0], "1.5")
    baseline = store.load(NAME)
    assert baseline is not None
    assert baseline.revision == "1.5"
    assert [event.revision for event in baseline.history] == ["1.4", "1.5"]
    assert set(store.find(NAME, "1.4")) == set()
    assert store.find(NAME, "1.5") == {"sum": store.folder / NAME / "sum.1.5"}


def test_the_same_revision_with_other_values(store: BaselineStore, tmp_path: Path) -> None:
    accept(store, tmp_path / "run", [1.0])
    accept(store, tmp_path / "run", [2.0])
    baseline = store.load(NAME)
    assert baseline is not None
    assert Path(baseline.dumps["sum"].path).name == "sum.1.4"
    assert reader.read(Path(baseline.dumps["sum"].path)).array.tolist() == [2.0]
    assert sorted(path.name for path in (store.folder / NAME).iterdir()) == ["baseline.yaml", "sum.1.4"]


def test_drift_keeps_the_first(store: BaselineStore, tmp_path: Path) -> None:
    for value in (1.0, 2.0, 3.0):
        accept(store, tmp_path / "run", [value], drift=["sum"])
    baseline = store.load(NAME)
    assert baseline is not None
    assert reader.read(Path(baseline.first["sum"].path)).array.tolist() == [1.0]
    assert reader.read(Path(baseline.dumps["sum"].path)).array.tolist() == [3.0]


def test_drift_begins_anew_under_the_same_label(store: BaselineStore, tmp_path: Path) -> None:
    """The first dump before is gone, and the next accept keeps the new first one, though both are called sum.1.4."""
    for value, anew in ((1.0, []), (2.0, []), (3.0, ["sum"]), (4.0, []), (5.0, [])):
        accept(store, tmp_path / "run", [value], drift=["sum"], anew=anew)
    baseline = store.load(NAME)
    assert baseline is not None
    assert reader.read(Path(baseline.first["sum"].path)).array.tolist() == [3.0]
    accept(store, tmp_path / "run", [6.0], drift=["sum"], anew=["sum"])
    assert not list(store.folder.rglob("first/*"))


def test_the_architectures_own_comes_first(store: BaselineStore, tmp_path: Path) -> None:
    accept(store, tmp_path / "run", [1.0])
    accept(store, tmp_path / "run", [2.0], arch="sm_80")
    own, other = store.load(NAME, "sm_80"), store.load(NAME, "sm_90")
    assert own is not None
    assert other is not None
    assert (own.arch, other.arch) == ("sm_80", "")
    assert own.dumps["sum"].digest != other.dumps["sum"].digest
    assert store.case_names() == (NAME,)


def test_a_fault_is_not_accepted(store: BaselineStore, tmp_path: Path) -> None:
    done = make_outcome(tmp_path, [1.0])
    for outcome in (
        Outcome(NAME, "fault", Fault("trap", "it trapped"), dumps=done.dumps),
        Outcome(NAME, "timeout", dumps=done.dumps),
        Outcome(NAME, "error", dumps=done.dumps),
        Outcome(NAME, "done", Fault("status", "3"), dumps=done.dumps),
        Outcome(NAME, "done"),
    ):
        with pytest.raises(BaselineError):
            accept_outcome(store, make_case(), outcome, MadeOf("5eed"))
    assert store.load(NAME) is None


def test_a_dump_changed_after_the_run_is_not_accepted(store: BaselineStore, tmp_path: Path) -> None:
    outcome = make_outcome(tmp_path, [1.0])
    Path(outcome.dumps[0].path).write_text("# gpuregress 1 float32 [1]\n7.0\n")
    with pytest.raises(BaselineError, match="changed since the run"):
        accept_outcome(store, make_case(), outcome, MadeOf("5eed"))


def test_removing_leaves_the_jobs_other_cases(store: BaselineStore, tmp_path: Path) -> None:
    accept(store, tmp_path / "run", [1.0])
    case, outcome = make_case(name="reduce"), make_outcome(tmp_path, [1.0])
    accept_outcome(store, case, outcome, MadeOf("5eed"))
    store.remove("reduce")
    assert store.case_names() == (NAME,)
    store.remove(NAME)
    assert not (store.folder / "reduce").exists()


def test_somebody_else_is_accepting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = BaselineStore(tmp_path / "baselines", tmp_path / "lock")
    monkeypatch.setattr("gpuregress.store.baselines.store.LOCK_WAIT_S", 0.0)
    child = os.fork()
    if child == 0:
        try:
            with lock(tmp_path / "lock"):
                (tmp_path / "held").touch()
                time.sleep(60)
        finally:
            os._exit(0)
    try:
        wait_until((tmp_path / "held").exists)
        with pytest.raises(RunLocked, match=f"process {child} "):
            accept(store, tmp_path / "run", [1.0])
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    accept(store, tmp_path / "run", [1.0])  # the system freed the lock of the killed


def test_an_accept_that_must_wait_takes_no_file_of_the_one_under_way(
    store: BaselineStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuregress.store.baselines.store.LOCK_WAIT_S", 0.05)
    case, outcome = make_case(), make_outcome(tmp_path / "run", [1.0])
    facts = made_of(case, outcome, (), [])
    left = store.folder / f"{TEMPORARY_PREFIX}left"
    store.folder.mkdir()
    left.touch()
    with store.accepting() as batch:
        assert not left.exists()
        batch.add(case, outcome, facts)
        with pytest.raises(RunLocked), store.accepting():
            pass
    accepted = store.load(NAME)
    assert accepted is not None
    assert set(accepted.dumps) == {"sum"}


@pytest.mark.parametrize("link", ["reduce", NAME, f"{NAME}/sm_80", f"{NAME}/first"])
def test_nothing_is_accepted_through_a_symbolic_link(store: BaselineStore, tmp_path: Path, link: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    position = store.folder / link
    position.parent.mkdir(parents=True, exist_ok=True)
    position.symlink_to(elsewhere)
    arch = "sm_80" if link.endswith("sm_80") else ""
    with pytest.raises(BaselineError, match="is a symbolic link"):
        accept(store, tmp_path / "run", [1.0], arch=arch)
    assert not list(elsewhere.iterdir())


def test_nothing_is_removed_through_a_symbolic_link(store: BaselineStore, tmp_path: Path) -> None:
    other = BaselineStore(tmp_path / "elsewhere")
    accept(other, tmp_path / "run", [1.0])
    store.folder.mkdir()
    (store.folder / "reduce").symlink_to(other.folder / "reduce")
    with pytest.raises(StorageError, match="is a symbolic link"):
        store.remove(NAME)
    assert other.load(NAME) is not None


def test_the_folder_of_all_baselines_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "baselines").symlink_to(tmp_path / "disk")
    store = BaselineStore(tmp_path / "baselines")
    accept(store, tmp_path / "run", [1.0])
    assert store.load(NAME) is not None


def test_a_dump_that_is_a_link_becomes_a_file(store: BaselineStore, tmp_path: Path) -> None:
    accept(store, tmp_path / "run", [1.0])
    dump = store.folder / NAME / "sum.1.4"
    moved = dump.rename(tmp_path / "moved")
    dump.symlink_to(moved)
    accept(store, tmp_path / "run", [1.0])
    assert not dump.is_symlink()


def test_the_reason_for_unwritten_outputs_is_kept(store: BaselineStore, tmp_path: Path) -> None:
    accept(store, tmp_path / "run", [1.0], unwritten_ok="its kernel only prints")
    assert [event.unwritten_ok for event in store.histories(NAME)[""]] == ["its kernel only prints"]
    accept(store, tmp_path / "run", [2.0])
    text = (store.folder / NAME / "baseline.yaml").read_text()
    assert text.count("unwritten_ok") == 1, "accepts without one are as earlier versions wrote them"

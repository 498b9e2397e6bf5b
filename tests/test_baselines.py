"""Accepting is all or nothing, and what was edited is never trusted."""

from __future__ import annotations

import importlib
import itertools
import os
import signal
import time
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress import dtypes
from gpuregress.baselines import Acceptor, BaselineStore, Manifest, ManifestEntry, made_of, parse, render
from gpuregress.dump import reader, writer
from gpuregress.errors import BaselineError, RunLocked, StorageError
from gpuregress.records import Acceptance, Case, Fault, MadeOf, Outcome, Source
from gpuregress.storage import TEMPORARY_PREFIX, atomic_writes, digest_text, lock, temporaries

# Python 3.12 warns of a fork beside threads (polars has some); the children here start none and take no lock of theirs.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")

FLOAT = dtypes.parse("float32")
NAME = "reduce/n=1000,tile=128"


def make_case(revision: str = "1.4", name: str = NAME) -> Case:
    return Case(
        "reduce", name, "/p/configs/reduce.yaml", {}, Source("/p/k.cu"), revision, "5eed", 42, {}, (), ("sum",), {}
    )


def make_outcome(
    folder: Path, values: list[float], revision: str = "1.4", buffers: tuple[str, ...] = ("sum",)
) -> Outcome:
    array = np.array(values, "<f4")
    dumps = [writer.write(folder / f"{name}.{revision}", array, FLOAT, array.shape) for name in buffers]
    return Outcome(NAME, "done", dumps=tuple(dumps), inputs={"x": "ab" * 16})


def accept(store: BaselineStore, folder: Path, values: list[float], revision: str = "1.4", **more: object) -> None:
    case, outcome = make_case(revision), make_outcome(folder, values, revision)
    by = Acceptor(**{name: str(more.pop(name)) for name in ("who", "why", "run", "unwritten_ok") if name in more})
    store.accept(case, outcome, made_of(case, outcome, None, ["k<<<(1,1,1),(1,1,1),0>>>()"]), by, **more)


@pytest.fixture
def store(tmp_path: Path) -> BaselineStore:
    return BaselineStore(tmp_path / "baselines")


def test_nothing_accepted(store: BaselineStore) -> None:
    assert store.load(NAME) is None
    assert store.case_names() == ()
    assert store.revisions(NAME) == ()


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
    assert store.sources(NAME) == {"1.4": "5eed"}


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
    assert store.revisions(NAME) == ("1.5",)


def test_earlier_revisions_can_be_kept(store: BaselineStore, tmp_path: Path) -> None:
    accept(store, tmp_path / "run", [1.0])
    accept(store, tmp_path / "run", [2.0], "1.5", keep=True)
    assert store.revisions(NAME) == ("1.4", "1.5")
    assert store.find(NAME, "1.4") == {"sum": store.folder / NAME / "sum.1.4"}


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


def test_one_buffer_alone(store: BaselineStore, tmp_path: Path) -> None:
    case, old = make_case(), make_outcome(tmp_path / "a", [1.0], buffers=("sum", "hist"))
    store.accept(case, old, made_of(case, old, None, []))
    case, new = make_case("1.5"), make_outcome(tmp_path / "b", [2.0], "1.5", buffers=("sum", "hist"))
    baseline = store.accept(case, new, made_of(case, new, None, []), buffers=["hist"])
    assert baseline.revisions == {"sum": "1.4", "hist": "1.5"}
    assert {Path(dump.path).name for dump in baseline.dumps.values()} == {"sum.1.4", "hist.1.5"}


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
            store.accept(make_case(), outcome, MadeOf("5eed"))
    assert store.load(NAME) is None


def test_a_dump_changed_after_the_run_is_not_accepted(store: BaselineStore, tmp_path: Path) -> None:
    outcome = make_outcome(tmp_path, [1.0])
    Path(outcome.dumps[0].path).write_text("# gpuregress 1 float32 [1]\n7.0\n")
    with pytest.raises(BaselineError, match="changed since the run"):
        store.accept(make_case(), outcome, MadeOf("5eed"))


def damage(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "edited":
        path.write_bytes(data.replace(b"1", b"2"))
    else:
        path.write_bytes(data + b"3.0\n")


@pytest.mark.parametrize("how", ["gone", "cut", "edited", "added"])
def test_a_damaged_dump_is_named(store: BaselineStore, tmp_path: Path, how: str) -> None:
    accept(store, tmp_path / "run", [1.0, 2.0])
    damage(store.folder / NAME / "sum.1.4", how)
    with pytest.raises(BaselineError, match=r"sum\.1\.4: .*accept the case anew"):
        store.load(NAME)
    accept(store, tmp_path / "run", [1.0, 2.0])
    assert store.load(NAME) is not None


@pytest.mark.parametrize("how", ["cut", "edited", "added"])
def test_a_damaged_yaml_is_named(store: BaselineStore, tmp_path: Path, how: str) -> None:
    accept(store, tmp_path / "run", [1.0, 2.0])
    damage(store.folder / NAME / "baseline.yaml", how)
    with pytest.raises(BaselineError, match=r"baseline\.yaml: cut short or edited by hand"):
        store.load(NAME)
    accept(store, tmp_path / "run", [1.0, 2.0])
    assert store.load(NAME) is not None


@pytest.mark.parametrize(
    "content",
    [
        "version: " + "[" * 25_000,
        "{a: " * 25_000,
        "- " * 25_000,
        "version: &a {<<: *a}",
        "a0: &a0 [x]\n" + "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]\n" for k in range(1, 40)),
        "version: !!python/object/apply:os.system [ls]",
        f"version: {'9' * 5000}",
        "[1]",
        "5",
        "",
    ],
    ids=lambda content: content[:12],
)
def test_a_document_made_to_crash_its_reader(content: str, tmp_path: Path) -> None:
    body = f"{content}\n"
    data = f"{body}whole: {digest_text(body.encode())}\n".encode()
    with pytest.raises(BaselineError, match="not a baseline of version 1") as caught:
        parse(data, tmp_path / "baseline.yaml")
    assert len(str(caught.value)) < 500


def test_a_baseline_of_many_launches_is_read_again(
    store: BaselineStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuregress.document.yaml_parser.MAX_VALUES", 50)
    case, outcome = make_case(), make_outcome(tmp_path / "run", [1.0])
    calls = [f"k<<<({blocks},1,1),(1,1,1),0>>>()" for blocks in range(1, 100)]
    store.accept(case, outcome, made_of(case, outcome, None, calls))
    accepted = store.load(NAME)
    assert accepted is not None
    assert accepted.made_of.launches == tuple(calls)


def test_a_version_not_known_is_no_baseline(store: BaselineStore, tmp_path: Path) -> None:
    accept(store, tmp_path / "run", [1.0])
    path = store.folder / NAME / "baseline.yaml"
    document = parse(path.read_bytes(), path)
    path.write_bytes(render(Manifest(2, document.revision, document.made_of, {}, {}, ())))
    with pytest.raises(BaselineError, match="version 2"):
        store.load(NAME)


def test_removing_leaves_the_jobs_other_cases(store: BaselineStore, tmp_path: Path) -> None:
    accept(store, tmp_path / "run", [1.0])
    case, outcome = make_case(name="reduce"), make_outcome(tmp_path, [1.0])
    store.accept(case, outcome, MadeOf("5eed"))
    store.remove("reduce")
    assert store.case_names() == (NAME,)
    store.remove(NAME)
    assert not (store.folder / "reduce").exists()


def test_somebody_else_is_accepting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = BaselineStore(tmp_path / "baselines", tmp_path / "lock")
    monkeypatch.setattr("gpuregress.baselines.store.LOCK_WAIT_S", 0.0)
    child = os.fork()
    if child == 0:
        try:
            with lock(tmp_path / "lock"):
                (tmp_path / "held").touch()
                time.sleep(60)
        finally:
            os._exit(0)
    try:
        while not (tmp_path / "held").exists():
            time.sleep(0.01)
        with pytest.raises(RunLocked, match=f"process {child} "):
            accept(store, tmp_path / "run", [1.0])
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    accept(store, tmp_path / "run", [1.0])  # the system freed the lock of the killed


STEPS = (
    "gpuregress.baselines.staging.copy_file",
    "gpuregress.baselines.staging.write_beside",
    "gpuregress.baselines.staging.sync_all",
    "pathlib.Path.unlink",
    "pathlib.Path.replace",
)


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
    facts = made_of(case, outcome, None, [])
    child = os.fork()
    if child == 0:
        owner, _, name = step.rpartition(".")
        target = Path if owner == "pathlib.Path" else importlib.import_module(owner)
        real = getattr(target, name)

        calls = itertools.count(1)

        def killed(*args: object, **more: object) -> object:
            is_last = next(calls) == nth
            done = real(*args, **more) if not is_last or when == "after" else None
            if is_last:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        try:
            monkeypatch.setattr(target, name, killed)
            store.accept(case, outcome, facts, drift=["sum"])
        finally:
            os._exit(0)  # whatever happens, the child must not go on as a second pytest
    os.waitpid(child, 0)
    baseline = store.load(NAME)
    assert baseline is not None
    assert reader.read(Path(baseline.dumps["sum"].path)).array.tolist() in ([1.0, 2.0], [3.0, 4.0])
    assert reader.read(Path(baseline.first["sum"].path)).array.tolist() == [1.0, 2.0]
    after = store.accept(case, outcome, facts, drift=["sum"])
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
        store.accept(case, outcome, MadeOf("5eed"))
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
    found = [path for path in store.folder.rglob("*") if path.is_file() and path.name != ".gpuregress-lock"]
    assert sorted(path.parent for path in found) == sorted([path.parent for path in renamed[:2]] * 2)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # nobody could close the file
def test_a_signal_between_a_temporary_file_and_its_use_leaves_none(
    store: BaselineStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_file = temporaries.new_file

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


def test_an_accept_that_must_wait_takes_no_file_of_the_one_under_way(
    store: BaselineStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuregress.baselines.store.LOCK_WAIT_S", 0.05)
    case, outcome = make_case(), make_outcome(tmp_path / "run", [1.0])
    facts = made_of(case, outcome, None, [])
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
    place = store.folder / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(elsewhere)
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


texts = st.text(st.characters(codec="utf-8"), max_size=30)
names = st.text("abcxyz_019", min_size=1, max_size=8)
digests = st.text("0123456789abcdef", min_size=32, max_size=32)
entries = st.builds(
    ManifestEntry,
    texts,
    st.sampled_from(["float32", "{id:int32,score:float32}"]),
    st.tuples(st.integers(0, 2**40)),
    digests,
    digests,
)
facts_strategy = st.builds(
    MadeOf,
    digests,
    st.dictionaries(names, digests, max_size=3),
    st.integers(0, 2**63),
    texts,
    st.tuples(texts, texts),
    st.sampled_from(["pinned", "native"]),
    texts,
    texts,
    texts,
    st.tuples(texts),
    st.dictionaries(texts, st.dictionaries(names, st.integers(0, 999), max_size=2), max_size=2),
)
documents = st.builds(
    Manifest,
    st.just(1),
    texts,
    facts_strategy,
    st.dictionaries(names, entries, max_size=3),
    st.dictionaries(names, entries, max_size=1),
    st.lists(st.builds(Acceptance, texts, digests, texts, texts, texts, texts, texts), max_size=3).map(tuple),
)


@given(documents)
def test_the_document_reads_back(document: Manifest) -> None:
    assert parse(render(document), Path("baseline.yaml")) == document


@given(documents, st.data())
def test_a_document_cut_anywhere_is_refused(document: Manifest, data: st.DataObject) -> None:
    text = render(document)
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(BaselineError):
        parse(text[:cut], Path("baseline.yaml"))


def test_options_that_name_folders_are_left_out() -> None:
    program_options = ("-lineinfo", "-I", "/a/b", "-I/x", "--include-path=/y", "-DTILE=4", "-std=c++17")
    case = make_case()
    outcome = Outcome(NAME, "done")
    source = Source("/p/k.cu", options=program_options)
    case = Case(case.job, case.name, case.path, {}, source, "1", "5eed", 1, {}, (), (), {})
    assert made_of(case, outcome, None, []).options == ("-lineinfo", "-DTILE=4", "-std=c++17")

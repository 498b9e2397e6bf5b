from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.execution.cluster import replies
from gpuregress.execution.cluster.messages import CaseReply, CaseRequest, DumpFile, SentFile
from gpuregress.execution.cluster.replies import (
    CaseFolders,
    ReplyFiles,
    Unpacker,
    compressed,
    outcome_on_client,
    task_on_host,
)
from gpuregress.execution.runner.execution import run_case
from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.errors import DumpError, StorageError
from gpuregress.foundation.records import Dump, DumpStorage, Outcome, Source, Task, to_json
from gpuregress.gpu.records import replace
from gpuregress.store.dumps import writer
from gpuregress.store.launch_log import LaunchLog
from tests import fakes


@given(st.binary())
def test_what_was_compressed_expands(data: bytes) -> None:
    assert replies.expanded(replies.compressed(data)) == data


class Sides:
    """A case that ran on a host, and the client's folder of the run."""

    def __init__(self, folder: Path, name: str = "fake/double", count: int = 8) -> None:
        self.folders = CaseFolders(folder / "files", folder / name.replace("/", "-"), folder / "shared")
        task = fakes.task(fakes.case("double", name=name, count=count), folder / "run")
        self.task = replace(task, log=str(folder / "run" / "launch.log"))
        there = replace(
            self.task,
            log=str(self.folders.log),
            dumps=str(self.folders.case / "dumps"),
            shared=str(self.folders.shared),
        )
        self.outcome = run_case(fakes.FakeDevice(), there)
        self.run = folder / "run"

    def request(self, task: Task | None = None) -> CaseRequest:
        known = {name: tuple(digests) for name, digests in (task or self.task).known.items()}
        return CaseRequest(
            "run", "id", self.task.case.name, to_json(self.task), str(self.run), "cpu", "cpu@n", known=known
        )

    def packed(self, task: Task | None = None) -> tuple[CaseReply, dict[str, bytes]]:
        return replies.packed(self.request(task), self.outcome, self.folders)


def test_dumps_and_log_arrive_as_they_were(tmp_path: Path) -> None:
    sides, unpacker = Sides(tmp_path), Unpacker()
    reply, contents = sides.packed()
    assert [file.how for file in reply.files] == ["inline"]
    outcome = unpacker.outcome(sides.task, reply, ReplyFiles(contents))
    unpacker.log(sides.task, reply)
    assert outcome is not None
    there, here = Path(sides.outcome.dumps[0].path), Path(outcome.dumps[0].path)
    assert here == tmp_path / "run" / "dumps" / "fake" / "double" / "out.1.4"
    assert here.read_bytes() == there.read_bytes()
    assert (sides.run / "launch.log").read_bytes() == sides.folders.log.read_bytes()
    assert replace(outcome, dumps=()) == replace(sides.outcome, dumps=())


def test_a_large_dump_is_left_for_the_client_to_fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "INLINE_BYTES", 10)
    sides = Sides(tmp_path)
    reply, contents = sides.packed()
    assert ([file.how for file in reply.files], contents) == (["kept"], {})
    fetched = tmp_path / "fetched"
    fetched.write_bytes(Path(sides.outcome.dumps[0].path).read_bytes())
    outcome = Unpacker().outcome(sides.task, reply, ReplyFiles(kept={reply.files[0].digest: fetched}))
    assert outcome is not None
    assert storage.digest_file(Path(outcome.dumps[0].path)) == outcome.dumps[0].text_digest


def accepted(sides: Sides, path: Path) -> Task:
    """The task, with an accepted dump of the same bytes."""
    storage.copy_file(Path(sides.outcome.dumps[0].path), path)
    return replace(sides.task, known={"out": {sides.outcome.dumps[0].digest: str(path)}})


def test_a_dump_that_the_client_has_does_not_travel(tmp_path: Path) -> None:
    sides = Sides(tmp_path)
    task = accepted(sides, tmp_path / "baselines" / "out.1.0")
    reply, contents = sides.packed(task)
    assert ([file.how for file in reply.files], contents) == (["known"], {})
    outcome = Unpacker().outcome(task, reply, ReplyFiles())
    assert outcome is not None
    assert storage.digest_file(Path(outcome.dumps[0].path)) == outcome.dumps[0].text_digest


def test_an_accepted_dump_that_is_gone_is_asked_for(tmp_path: Path) -> None:
    sides = Sides(tmp_path)
    task = accepted(sides, tmp_path / "baselines" / "out.1.0")
    reply, _ = sides.packed(task)
    (tmp_path / "baselines" / "out.1.0").unlink()
    assert Unpacker().outcome(task, reply, ReplyFiles()) is None


def test_equal_dumps_of_a_run_are_stored_once(tmp_path: Path) -> None:
    unpacker, inodes = Unpacker(), set()
    for number in range(2):
        sides = Sides(tmp_path, f"fake/{number}")
        reply, contents = sides.packed()
        outcome = unpacker.outcome(sides.task, reply, ReplyFiles(contents))
        assert outcome is not None
        inodes.add(Path(outcome.dumps[0].path).stat().st_ino)
    assert len(inodes) == 1


def test_a_dump_that_changed_on_its_way_is_an_error(tmp_path: Path) -> None:
    sides = Sides(tmp_path)
    reply, contents = sides.packed()
    damaged = {digest: replies.compressed(b"something else") for digest in contents}
    with pytest.raises(DumpError, match="did not arrive as its host wrote it"):
        Unpacker().outcome(sides.task, reply, ReplyFiles(damaged))


def test_logs_of_several_hosts_are_one_log(tmp_path: Path) -> None:
    log = LaunchLog(tmp_path / "run" / "launch.log")
    log.write_header({"device": "cpu"})
    log.close()
    unpacker = Unpacker()
    for number in range(2):
        sides = Sides(tmp_path, f"fake/{number}")
        unpacker.log(sides.task, sides.packed()[0])
    unpacker.log(sides.task, CaseReply("done", Outcome("fake/none", "error")))
    lines = (tmp_path / "run" / "launch.log").read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["#", "#", "begin", "end", "begin", "end"]


def test_equal_dumps_of_several_runs_are_stored_once(tmp_path: Path) -> None:
    inodes = set()
    for number in range(2):
        sides = Sides(tmp_path, f"fake/{number}")
        task = replace(sides.task, storage=DumpStorage(str(tmp_path / "contents")))
        reply, contents = sides.packed()
        outcome = Unpacker().outcome(task, reply, ReplyFiles(contents))
        assert outcome is not None
        assert storage.digest_file(Path(outcome.dumps[0].path)) == outcome.dumps[0].text_digest
        inodes.add(Path(outcome.dumps[0].path).stat().st_ino)
    assert len(inodes) == 1


FOLDERS = CaseFolders(Path("/host/files"), Path("/host/case-1"), Path("/host/shared"))


def request(**changes: object) -> CaseRequest:
    case = fakes.case(
        "double",
        reference={"out": "/home/me/refs.py:f"},
        reference_files={"x": "/home/me/r.npz:name"},
        parameters={"text": "/home/me/refs.py:f"},
    )
    case = replace(case, source=Source("/home/me/k.cu", include=("/home/me/include",)))
    task = replace(fakes.task(case, Path("/home/me/runs/r")), known={"out": {"00": "/home/me/b/out.1"}})
    task = replace(task, storage=DumpStorage("/home/me/runs/.contents"))
    files = tuple(SentFile(path, "00", 1) for path in ("/home/me/refs.py", "/home/me/r.npz"))
    folders = (case.path, "/home/me/k.cu", "/home/me/include")
    return CaseRequest(
        "run", "worker", case.name, to_json(task), "/home/me/runs/r", "cpu", "cpu@n", files=files, folders=folders
    )


def test_paths_of_a_task_are_those_of_the_host() -> None:
    task = task_on_host(request(), FOLDERS)
    assert task.case.reference == {"out": "/host/files/home/me/refs.py:f"}
    assert task.case.reference_files == {"x": "/host/files/home/me/r.npz:name"}
    assert task.case.source.path == "/host/files/home/me/k.cu"
    assert task.case.source.include == ("/host/files/home/me/include",)
    assert task.case.path == "/host/files/nowhere/fake.yaml"
    assert (task.log, task.dumps, task.shared) == ("/host/case-1/launch.log", "/host/case-1/dumps", "/host/shared")
    assert task.known == {}
    assert task.storage.contents == "/host/shared/contents"
    assert task.storage.contents == "/host/shared/contents"


def test_a_parameter_of_the_user_stays_what_it_is() -> None:
    assert task_on_host(request(), FOLDERS).case.parameters == {"text": "/home/me/refs.py:f"}


def test_an_outcome_names_the_files_of_the_client() -> None:
    dump = Dump("out", "/host/case-1/dumps/fake/double/out.1.4", "float32", (8,), "00", "00")
    message = "/host/files/home/me/refs.py:f failed"
    there = Outcome("fake/double", "error", message=message, dumps=(dump,))
    here = outcome_on_client(there, request(), FOLDERS)
    assert here.message == "/home/me/refs.py:f failed"
    assert here.dumps[0].path == "/home/me/runs/r/dumps/fake/double/out.1.4"


@pytest.mark.parametrize("path", ["../out.1", "/etc/out.1", "dumps/../../out.1", ""])
def test_no_file_leads_out_of_the_run(tmp_path: Path, path: str) -> None:
    reply = CaseReply("done", Outcome("fake/double", "done"), files=(DumpFile(path, 1, "00", "inline"),))
    with pytest.raises(StorageError, match="is not a path inside"):
        Unpacker().outcome(
            fakes.task(fakes.case("double"), tmp_path / "run"), reply, ReplyFiles({"00": compressed(b"x")})
        )
    assert list(tmp_path.rglob("out.1")) == []


@pytest.mark.parametrize("suffix", ["", ".zst"])
def test_what_has_the_accepted_bytes_is_copied_from_the_baseline(tmp_path: Path, suffix: str) -> None:
    """Compressed or not: it did not travel."""
    values, element = np.arange(100, dtype="<f4"), dtypes.parse("float32")
    above = 10 if suffix else 1 << 20
    accepted = writer.write(tmp_path / "accepted" / "out.1", values, element, (100,), compress_above=above)
    run = tmp_path / "run"
    task = replace(
        fakes.task(fakes.case("double"), run),
        known={"out": {accepted.digest: accepted.path}},
        storage=DumpStorage("", above),
    )
    name = f"dumps/fake/double/out.1{suffix}"
    there = replace(accepted, path=str(run / name))
    reply = CaseReply("done", Outcome("fake/double", "done", dumps=(there,)), files=(DumpFile(name, 1, "", "known"),))
    outcome = Unpacker().outcome(task, reply, ReplyFiles())
    assert outcome is not None
    assert outcome.dumps == (there,)
    assert (run / name).read_bytes() == Path(accepted.path).read_bytes()

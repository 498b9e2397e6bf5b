from __future__ import annotations

from pathlib import Path

from gpuregress.execution.cluster.localization import CaseFolders, outcome_on_client, task_on_host
from gpuregress.execution.cluster.messages import CaseRequest, SentFile
from gpuregress.foundation.records import Dump, DumpStorage, Outcome, Source, to_json
from gpuregress.gpu.records import replace
from tests import fakes

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

"""Paths of the client in a task, and paths of the host in an outcome.

The files that a case reads are laid out on the host below one folder, each under the path that it has on the client. So
a path of the client becomes one of the host by that folder in front of it, and Python modules find their neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gpuregress.execution.cluster.messages import CaseRequest
from gpuregress.foundation.records import Outcome, Task, from_json, to_json
from gpuregress.gpu.records import Record

_USERS_TEXTS = frozenset(("parameters", "defines"))
"""Keys of the user's own texts, which are no paths of ours."""


class CaseFolders(Record):
    """Folders of a case on its host, absolute.

    Attributes:
        files: the folder below which the client's files are laid out.
        case: takes what the case writes.
        shared: what the cases of the run share.
    """

    files: Path
    case: Path
    shared: Path

    @property
    def log(self) -> Path:
        """The launch log of the case."""
        return self.case / "launch.log"


def task_on_host(request: CaseRequest, folders: CaseFolders) -> Task:
    """Rewrite a task for a host.

    Args:
        request: with the task.
        folders: of the case.
    """
    paths = frozenset((*(file.path for file in request.files), *request.folders))

    def localized(text: str) -> str:
        is_path = text.startswith("/") and (text in paths or text.rpartition(":")[0] in paths)
        return f"{folders.files}{text}" if is_path else text

    task = dict(_mapped(request.task, localized))
    task |= {"log": str(folders.log), "dumps": str(folders.case / "dumps"), "shared": str(folders.shared), "known": {}}
    task["storage"] = {**task["storage"], "contents": str(folders.shared / "contents")}
    return from_json(Task, task)


def outcome_on_client(outcome: Outcome, request: CaseRequest, folders: CaseFolders) -> Outcome:
    """Rewrite an outcome for the client: its dumps are in the run's folder, and its messages name the client's files.

    Args:
        outcome: of the host's worker.
        request: of the case.
        folders: of the case.
    """
    case, files = str(folders.case), str(folders.files)

    def restored(text: str) -> str:
        return text.replace(case, request.folder).replace(files, "") if "/" in text else text

    return from_json(Outcome, _mapped(to_json(outcome), restored))


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Apply a function to every text in a JSON value, but for keys and for the user's own texts."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: item if key in _USERS_TEXTS else _mapped(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(item, change) for item in value]
    return value

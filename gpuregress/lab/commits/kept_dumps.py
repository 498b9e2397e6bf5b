"""Search for kept dumps of a revision, in the baselines and in runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpuregress.foundation.records import Case
from gpuregress.foundation.storage import find_dump
from gpuregress.session.runs import dump_verification, run_folders
from gpuregress.store import remote
from gpuregress.store.baselines import BaselineStore
from gpuregress.store.dumps import files
from gpuregress.store.project import Project

BASELINE = "baseline"
"""The word for what is accepted, whatever its revision is."""


def find(project: Project, case: Case, revision: str) -> dict[str, Path]:
    """Buffer → its dump of a revision: in the baselines, else in the newest run that has one.

    Args:
        project: whose baselines and runs.
        case: the case.
        revision: a label, or BASELINE.

    Raises:
        BaselineError: the baseline was cut short or edited.
        DumpError: a dump of a run was.
        StorageError: the journal of its run was.
    """
    if revision == BASELINE:
        return accepted(BaselineStore.of(project), case.name)
    dumps: dict[str, Path] = {}
    store = BaselineStore.of(project)
    kept = store.find(case.name, revision)
    if kept:
        store.load(case.name)  # verifies what is accepted
    for folder in _folders(project, case):
        for name in case.buffers:
            path = _find(folder, name, revision)
            if name not in dumps and name not in kept and path is not None:
                dump_verification.verify(path, case.name, project.runs)
                dumps[name] = path
    return {**dumps, **kept}


def accepted(store: BaselineStore, case: str) -> dict[str, Path]:
    """Buffer → its accepted dump.

    Raises:
        BaselineError: the baseline was cut short or edited.
    """
    found = store.load(case)
    return {name: remote.local(dump) for name, dump in found.dumps.items()} if found else {}


def revisions(project: Project, case: Case) -> Iterator[str]:
    """The labels of all dumps of a case; one that has several is repeated."""
    for folder in (project.baselines.joinpath(*case.name.split("/")), *_folders(project, case)):
        if folder.is_dir():
            for path in folder.iterdir():
                named = files.split_name(path.name)
                if named and path.is_file() and named[0] in case.buffers:
                    yield named[1]


def _folders(project: Project, case: Case) -> Iterator[Path]:
    for run in reversed(run_folders.every(project.runs)):
        yield run.joinpath("dumps", *case.name.split("/"))


def _find(folder: Path, buffer: str, revision: str) -> Path | None:
    try:
        path = find_dump(folder, buffer, revision)
        return path if path.is_file() else None
    except (OSError, ValueError):  # a word that is no file's name
        return None

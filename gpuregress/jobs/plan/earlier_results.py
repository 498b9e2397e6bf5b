"""Results of earlier runs as inputs: `baseline:CASE/BUFFER` and `run:NAME/CASE/BUFFER`."""

from __future__ import annotations

from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.document.problems import suggestion
from gpuregress.foundation.errors import GpuregressError, UsageError
from gpuregress.foundation.records import Baseline, InputFile
from gpuregress.store import remote
from gpuregress.store.baselines import BaselineStore
from gpuregress.store.dumps import run_names
from gpuregress.store.project import Project


def find(project: Project, text: str) -> InputFile:
    """Find the dump that a job names.

    Args:
        project: its baselines and runs.
        text: `baseline:CASE/BUFFER`, or `run:NAME/CASE/BUFFER`; a run's name is as `--run` takes it, or `latest`, the
            last run that has dumps of the case.

    Raises:
        UsageError: there is no such run, case or buffer; the message lists those that are there.
        GpuregressError: the baseline is damaged, or a file cannot be read.
    """
    kind, _, rest = text.partition(":")
    if kind == "baseline":
        case, _, buffer = rest.rpartition("/")
        return _in_baselines(project, text, case, buffer)
    run, _, rest = rest.partition("/")
    case, _, buffer = rest.rpartition("/")
    return _in_run(project, text, run, case, buffer)


def _in_baselines(project: Project, text: str, case: str, buffer: str) -> InputFile:
    if not (case and buffer):
        raise UsageError(f"{text!r}: expected baseline:CASE/BUFFER, as baseline:reduce/n=1000/sum")
    accepted = _accepted(BaselineStore.of(project), text, case)
    dump = accepted.dumps.get(buffer)
    if dump is None:
        raise UsageError(f"{text!r}: the baseline of {case} has no buffer {buffer!r}{_those(buffer, accepted.dumps)}")
    return InputFile(str(remote.local(dump)), text, dump.text_digest)


def _accepted(store: BaselineStore, text: str, case: str) -> Baseline:
    """The baseline of a case: the common one, the only one, or that of the device which ends the case's name."""
    kinds = store.kinds(case)
    if "" in kinds or len(kinds) == 1:
        kind = "" if "" in kinds else kinds[0]
    elif kinds:
        raise UsageError(
            f"{text!r}: {case} has no common baseline, only those of {', '.join(kinds)}; name one, as "
            f"baseline:{case}/{kinds[0]}/BUFFER"
        )
    else:
        parent, _, kind = case.rpartition("/")
        if not parent or not kind or kind not in store.kinds(parent):
            raise UsageError(f"{text!r}: no baseline of case {case!r} was accepted{_those(case, store.case_names())}")
        case = parent
    accepted = store.load(case, kind)
    if accepted is None:  # somebody removed it at this moment
        raise UsageError(f"{text!r}: no baseline of case {case!r} was accepted")
    return accepted


def _in_run(project: Project, text: str, run: str, case: str, buffer: str) -> InputFile:
    if not (run and case and buffer):
        raise UsageError(f"{text!r}: expected run:NAME/CASE/BUFFER, as run:latest/reduce/n=1000/sum")
    runs = project.earlier_runs or project.runs
    try:
        folder = run_names.find(runs, run)
    except GpuregressError as error:
        raise UsageError(f"{text!r}: {error}") from None
    folders = (folder, *reversed(run_names.every(runs))) if run == run_names.LATEST else (folder,)
    kept = ((one, _dumps(storage.safe_join(one / "dumps", case))) for one in folders)
    folder, dumps = next(((one, dumps) for one, dumps in kept if dumps), (folder, {}))
    if not dumps:
        names = _cases(folder / "dumps")
        raise UsageError(f"{text!r}: run {folder.name} has no dumps of case {case!r}{_those(case, names)}")
    if buffer not in dumps:
        raise UsageError(
            f"{text!r}: run {folder.name} has no dump of buffer {buffer!r} of {case}{_those(buffer, dumps)}"
        )
    return InputFile(str(dumps[buffer]), text, storage.digest_file(dumps[buffer]))


def _dumps(folder: Path) -> dict[str, Path]:
    """Buffer → its dump, in the folder of a case."""
    if not folder.is_dir():
        return {}
    with storage.disk_errors(folder, "read"):
        files = sorted(path for path in folder.iterdir() if path.is_file())
    named = ((storage.split_name(path.name), path) for path in files if not path.name.startswith("."))
    return {name[0]: path for name, path in named if name}


def _cases(dumps: Path) -> list[str]:
    folders = {path.parent for path in dumps.rglob("*.*") if path.is_file()}
    return sorted(folder.relative_to(dumps).as_posix() for folder in folders)


def _those(word: str, known: object) -> str:
    names = [str(name) for name in known] if isinstance(known, (dict, list, tuple)) else []
    return suggestion(word, names) or "; there is none"

"""References of a case's buffers, and results of earlier runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from gpuregress.foundation import dtypes, records, storage
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.errors import GpuregressError, UsageError
from gpuregress.foundation.records import Baseline, InputFile, Rule
from gpuregress.foundation.wording import suggestion
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import inputs
from gpuregress.jobs.plan import comparison_rules, sources
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.rules import ReferenceSpec
from gpuregress.jobs.spec.resolve import launches
from gpuregress.jobs.spec.resolve.buffers import FindEarlier, data_file
from gpuregress.jobs.spec.resolve.scope import Scope, existing_user_function
from gpuregress.store import remote
from gpuregress.store.baselines import BaselineStore
from gpuregress.store.dumps import run_names
from gpuregress.store.dumps.files import Header
from gpuregress.store.project import Project


class CaseBuffers(Record):
    """The buffers of one case, and how they are compared.

    Attributes:
        buffers: the buffers by name.
        rules: buffer → its own rule.
        verify: buffer → the job's own function, which decides each comparison of the buffer.
    """

    buffers: Mapping[str, records.Buffer]
    rules: Mapping[str, Rule]
    verify: Mapping[str, str]


class CaseReferences(Record):
    """The references of one case: functions, files, kernels, and the rules that are their own."""

    functions: Mapping[str, str]
    files: Mapping[str, str]
    kernels: Mapping[str, records.ReferenceKernel]
    rules: Mapping[str, Rule]


def case_references(
    file: JobFile, scope: Scope, facts: sources.SourceFacts | None, case: CaseBuffers, earlier: FindEarlier
) -> CaseReferences:
    """Resolve the references of one case.

    Args:
        file: the job.
        scope: the case's numbers; errors are reported there.
        facts: the job's source, None where it is not there.
        case: its buffers.
        earlier: finds results of earlier runs.
    """
    functions: dict[str, str] = {}
    files: dict[str, str] = {}
    kernels: dict[str, records.ReferenceKernel] = {}
    for name, item in file.job.reference.items():
        if item.python is not None:
            path = existing_user_function(scope, item.python, _key(file, name, "python"))
            if path:
                functions[name] = path
                comparison_rules.check_function(scope, _key(file, name, "python"), path, comparison_rules.REFERENCE)
        elif item.file is not None:
            input_file = data_file(scope, _key(file, name, "file"), item.file, earlier)
            if input_file is not None:
                files[name] = input_file.path
        else:
            kernel = _kernel(file, scope, facts, case, name)
            if kernel is not None:
                kernels[name] = kernel
    rules = _rules(file, scope, case)
    for name, item in file.job.reference.items():
        rule = rules.get(name, case.rules.get(name, Rule()))
        if name in files and name in case.buffers and not rule.verify:
            _check_file(scope, _key(file, name, "file"), files[name], case.buffers[name], rule)
        _check_twin(scope, item, case, name, rule)
        if item.improves and name in case.buffers:
            _check_improves(scope, case.buffers[name], rule)
    return CaseReferences(functions, files, kernels, rules)


def _key(file: JobFile, name: str, form: str) -> Key:
    is_short = isinstance(file.document.data["reference"][name], str)
    return ("reference", name) if is_short else ("reference", name, form)


def _check_file(scope: Scope, key: Key, path: str, buffer: records.Buffer, rule: Rule) -> None:
    """Report a file of another count or precision than its buffer; its values are read by the worker."""
    as_fill = replace(buffer, fill=records.Fill("file", records.InputFile(path), 0))
    dtype = ""
    try:
        header = inputs.dump_header(path)
        if header is not None:
            problem = _dump_problem(path, header, buffer)
            dtype = header.element_type.name
        else:
            problem = inputs.fill_problem(as_fill)
            dtype = inputs.array_dtype(path)
    except (GpuregressError, OSError) as error:
        problem = str(error)
    if not problem and dtype and _is_other_precision(dtype, buffer.dtype) and not _tolerates(rule):
        problem = f"{Path(path).name} holds {dtype} and {buffer.name} is {buffer.dtype}: {_PRECISIONS}"
    if problem:
        scope.error(key, problem)


_PRECISIONS = "two precisions are not equal to the bit; say how far apart they may be, such as compare: {ulp: 2}"


def _is_other_precision(dtype: str, other: str) -> bool:
    """Tell whether two dtypes hold floats of different widths."""
    floats = _float_names(dtype)
    other_floats = _float_names(other)
    return bool(floats) and bool(other_floats) and floats != other_floats


def _float_names(dtype: str) -> list[str]:
    return [part.scalar.name for part in dtypes.parse(dtype).parts if part.scalar.is_float]


def _part_names(element: ElementType) -> list[str]:
    return [part.name for part in element.parts]


def _dump_problem(path: str, header: Header, buffer: records.Buffer) -> str | None:
    has_parts = _part_names(header.element_type) == _part_names(dtypes.parse(buffer.dtype))
    if has_parts and math.prod(header.shape) == math.prod(buffer.shape):
        return None
    shape = ",".join(map(str, header.shape))
    return f"{path} holds {header.element_type.name} [{shape}]; {buffer.name} is {buffer.dtype} {list(buffer.shape)}"


def _kernel(
    file: JobFile, scope: Scope, facts: sources.SourceFacts | None, case: CaseBuffers, name: str
) -> records.ReferenceKernel | None:
    item = file.job.reference[name]
    before = scope.problems.reported
    written = launches.of_reference(file, scope, case.buffers, name)
    twin = item.buffer or name
    is_written = any(twin in launch.buffers for launch in written)
    if scope.problems.reported == before and twin in case.buffers and not is_written:
        owner = "its" if twin == name else f"{name}'s"
        text = f"no launch takes {twin}, so it could not be {owner} reference"
        scope.error(("reference", name, "launches"), text)
    if facts is None:
        return None
    resolved = sources.CaseSources(file, facts, scope, case.buffers).reference(name, written)
    return None if resolved is None else records.ReferenceKernel(*resolved, item.buffer or "")


def _check_twin(scope: Scope, item: ReferenceSpec, case: CaseBuffers, name: str, rule: Rule) -> None:
    """Report a twin of another shape, or of another precision that is compared to the bit."""
    if item.buffer is None or rule.verify or name not in case.buffers:
        return
    key: Key = ("reference", name, "buffer")
    if item.buffer not in case.buffers:
        scope.problems.add(key, f"unknown buffer {item.buffer!r}{suggestion(item.buffer, case.buffers)}")
        return
    buffer, twin = case.buffers[name], case.buffers[item.buffer]
    if twin.shape != buffer.shape:
        scope.error(key, f"{twin.name} has shape {list(twin.shape)} and {name} {list(buffer.shape)}")
    if _part_names(dtypes.parse(twin.dtype)) != _part_names(dtypes.parse(buffer.dtype)):
        scope.error(key, f"{twin.name} is {twin.dtype} and {name} {buffer.dtype}: their elements have other parts")
    elif _is_other_precision(twin.dtype, buffer.dtype) and not _tolerates(rule):
        scope.error(key, f"{twin.name} is {twin.dtype} and {name} {buffer.dtype}: {_PRECISIONS}")


def _tolerates(rule: Rule) -> bool:
    """Whether a rule says how far apart two precisions may be; `ulp: 0` asks for the nearest number."""
    return rule.ulp is not None or bool(rule.rtol or rule.atol or rule.metric or rule.statistics.given or rule.verify)


def _check_improves(scope: Scope, buffer: records.Buffer, rule: Rule) -> None:
    key: Key = ("reference", buffer.name, "improves")
    element = dtypes.parse(buffer.dtype)
    if not all(part.scalar.is_float for part in element.parts):
        scope.error(key, f"{buffer.name} is {buffer.dtype}: accuracy is counted in ulp, which only floats have")
    elif rule.order == "any" or rule.key:
        scope.error(key, f"{buffer.name} is compared in any order: accuracy is that of each element in its place")


def _rules(file: JobFile, scope: Scope, case: CaseBuffers) -> dict[str, Rule]:
    resolved = {}
    for name, item in file.job.reference.items():
        if item.compare is not None and name in case.buffers:
            key: Key = ("reference", name, "compare")
            resolved[name] = comparison_rules.sound_rule(
                scope, item.compare, case.buffers[name], key, case.verify.get(name)
            )
    return resolved


# --- results of earlier runs as inputs: `baseline:CASE/BUFFER` and `run:NAME/CASE/BUFFER` -----------------------------


def find_earlier(project: Project, text: str) -> InputFile:
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
        raise UsageError(f"{text!r}: expected baseline:CASE/BUFFER, such as baseline:reduce/n=1000/sum")
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
            f"{text!r}: {case} has no common baseline, only those of {', '.join(kinds)}; name one, such as "
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
        raise UsageError(f"{text!r}: expected run:NAME/CASE/BUFFER, such as run:latest/reduce/n=1000/sum")
    runs = project.earlier_runs or project.runs
    try:
        folder = run_names.find(runs, run)
    except GpuregressError as error:
        raise UsageError(f"{text!r}: {error}") from None
    folders = [folder]
    if run == run_names.LATEST:
        folders += reversed(run_names.every(runs))
    dumps: dict[str, Path] = {}
    for candidate in folders:
        dumps = _dumps(storage.safe_join(candidate / "dumps", case))
        if dumps:
            folder = candidate
            break
    if not dumps:
        cases = {path.parent for path in (folder / "dumps").rglob("*.*") if path.is_file()}
        names = sorted(path.relative_to(folder / "dumps").as_posix() for path in cases)
        raise UsageError(f"{text!r}: run {folder.name} has no dumps of case {case!r}{_those(case, names)}")
    if buffer not in dumps:
        known = _those(buffer, dumps)
        raise UsageError(f"{text!r}: run {folder.name} has no dump of buffer {buffer!r} of {case}{known}")
    return InputFile(str(dumps[buffer]), text, storage.digest_unchanged(dumps[buffer]))


def _dumps(folder: Path) -> dict[str, Path]:
    """Buffer → its dump, in the folder of a case."""
    if not folder.is_dir():
        return {}
    with storage.disk_errors(folder, "read"):
        files = sorted(path for path in folder.iterdir() if path.is_file())
    dumps: dict[str, Path] = {}
    for path in files:
        name = storage.split_name(path.name)
        if name is not None and not path.name.startswith("."):
            dumps[name[0]] = path
    return dumps


def _those(word: str, known: Iterable[str]) -> str:
    return suggestion(word, known) or "; there is none"

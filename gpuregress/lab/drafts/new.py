"""Drafts of jobs for the kernels and device functions of a source, from host code and declarations."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import Interrupted, UsageError
from gpuregress.foundation.wording import first_names
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.plan import job_plan
from gpuregress.jobs.plan.selection import quick_name
from gpuregress.jobs.spec.job_files import job_files
from gpuregress.lab.drafts import first_programs, new_function, new_python, validation
from gpuregress.lab.drafts.chain import ChainDraft, ChainLink, ChainSearch
from gpuregress.lab.drafts.kernel import KernelDraft, job_text
from gpuregress.lab.drafts.launch import LaunchDraft
from gpuregress.lab.drafts.launch_facts import HostProgram, LaunchFacts
from gpuregress.lab.drafts.types import Question
from gpuregress.lab.host_programs import program
from gpuregress.store.project import Project
from gpuregress.toolchain import cxx_declarations
from gpuregress.toolchain.build_options.options import NO_OPTIONS, BuildOptions
from gpuregress.toolchain.cxx_declarations import Declaration
from gpuregress.toolchain.functions import declarations
from gpuregress.toolchain.functions.declarations import CxxFunction
from gpuregress.toolchain.host_code.preprocessing import WORD, CxxText
from gpuregress.toolchain.include_scanner import SUFFIXES

_MOST_NAMED = 5
_MOST_CHARACTERS = 80
"""Of a kernel's name in that of its job, before a number."""


class Draft(Record):
    """A job: its file, the kernel or function that it tests, and the source's other ones.

    `is_kept` tells that the file was already there and was left as it is, `needed` what the host code does not tell,
    `is_launched` that the job follows a launch of the host code, and `is_chain` that it has several launches.
    `guessed_sizes` are the buffers whose size is a guess, `buffer_bytes` the bytes of the others; `remarks` tell what
    the job does otherwise than the program. `refusal` tells why there is no job.
    """

    path: Path
    kernel: str
    others: tuple[str, ...]
    functions: tuple[str, ...] = ()
    is_kept: bool = False
    needed: tuple[str, ...] = ()
    is_launched: bool = False
    refusal: str = ""
    guessed_sizes: tuple[str, ...] = ()
    buffer_bytes: int = 0
    remarks: tuple[str, ...] = ()
    is_chain: bool = False


class DraftedText(Record):
    """A draft that is not written yet, and its text.

    Attributes:
        link: the launch, of a kernel's job.
        covered: job files of the kernels that a chain tests, which then get none.
    """

    draft: Draft
    text: str
    link: ChainLink | None = None
    covered: frozenset[Path] = frozenset()


def draft_kernels(
    project: Project,
    source: Path,
    *,
    kernel: str | None = None,
    target: Path | None = None,
    build: BuildOptions | None = None,
    whole: Path | None = None,
    read_host: Callable[..., HostProgram] = HostProgram,
) -> tuple[Draft, ...]:
    """Write a job for each kernel of a source, from the host code that launches it, or from its declaration.

    A source that has device functions and no kernel gets a job for the first function.

    Args:
        project: whose folder of jobs gets them.
        source: a `.cu` or `.py` file.
        kernel: the name of one of its kernels; None: each, or the first if there is a target.
        target: the job's file, in place of configs/SOURCE.yaml for one kernel and configs/KERNEL.yaml for several.
        build: the options to compile with.
        whole: the file to compile, which includes the source; None: the source itself.
        read_host: reads the host code of a file.

    Raises:
        UsageError: no such source or kernel, or the files of all jobs are already there.
        StorageError: no space, no permission.
    """
    text = _text(source)
    if source.suffix not in (".py", *SUFFIXES):
        raise UsageError(
            f"{source} cannot be the source of a job: name a file in CUDA C++ ({' '.join(SUFFIXES)}), such as one that "
            "includes it, or a .py file with kernels"
        )
    if source.suffix == ".py":
        return (_draft_python(project, source, text, kernel, target),)
    is_whole_source = kernel is None and target is None
    host, problem = _host_program(source, build, whole, read_host, is_prepared=is_whole_source)
    if host is not None and whole is None:
        host = _with_launches_of_includers(source, host)
    options = build or NO_OPTIONS
    if host is not None:
        options = host.build
    declared = host.kernels if host is not None else cxx_declarations.declarations(text)
    functions = declarations.device_functions([text])
    if not declared and not functions:
        raise UsageError(
            f"{source} has no __global__ function and no __device__ function: there is nothing to test; name the file "
            "that defines the kernels"
        )
    if not declared and kernel is None:
        path = target or _free_paths(project, [source.stem])[0]
        return _written(
            project,
            source,
            [_draft_function(whole or source, text, functions, functions[0], path, build or NO_OPTIONS)],
        )
    chosen: Sequence[Declaration] = declared
    if kernel is not None or target is not None:
        chosen = (_choose(declared, kernel, source),)
    if target is not None:
        paths = [target]
    elif len(declared) == 1:
        paths = _free_paths(project, [source.stem])
    else:
        named_paths = dict(zip(declared, _kernel_paths(project, declared), strict=True))
        paths = [named_paths[declaration] for declaration in chosen]
    _refuse_all_existing(paths, "kernels")
    names = zip(declared, cxx_declarations.listed(declared), strict=True)
    others = tuple(name for declaration, name in names if declaration not in chosen)
    function_names = tuple(str(function) for function in functions)
    drafts: list[DraftedText | Draft] = []
    has_chains = host is not None and is_whole_source
    wanted = [declaration for declaration, path in zip(chosen, paths, strict=True) if not path.exists()]
    facts = {declaration: None if host is None else host.facts(declaration) for declaration in wanted}
    first_programs.compile_all(whole or source, options, host, facts, has_chains=has_chains)
    for declaration, path in zip(chosen, paths, strict=True):
        if path.exists():
            drafts.append(Draft(path, str(declaration), others, function_names, is_kept=True))
        else:
            drafts.append(
                _draft_kernel(
                    whole or source, host, declaration, facts[declaration], path, others, function_names, options
                )
            )
    if host is not None and has_chains:
        drafts += _draft_chains(project, whole or source, host, drafts)
    written = _written(project, source, drafts)
    needed = (problem,) if problem else ()
    hint = ""
    if whole is None and not any(draft.is_launched or draft.is_kept for draft in written):
        hint = _including_hint(source)
    if hint:
        needed = (*needed, hint)
    return tuple(draft if draft.is_kept else replace(draft, needed=(*needed, *draft.needed)) for draft in written)


def _written(project: Project, source: Path, drafts: Sequence[DraftedText | Draft]) -> tuple[Draft, ...]:
    """Write the drafts that `check` takes.

    Raises:
        UsageError: there is none.
    """
    texts = {draft.draft.path: draft.text for draft in drafts if isinstance(draft, DraftedText)}
    refused = validation.refusals(project, texts)
    covered: set[Path] = set()
    for draft in drafts:
        if isinstance(draft, DraftedText) and draft.draft.path not in refused:
            covered |= draft.covered
    written: list[Draft] = []
    for draft in drafts:
        if isinstance(draft, Draft):
            written.append(draft)
        elif draft.draft.path in covered or (draft.covered and draft.draft.path in refused):
            continue
        elif draft.draft.path in refused:
            reason = f"check would refuse it: {refused[draft.draft.path]}"
            written.append(replace(draft.draft, refusal=reason))
        else:
            if not draft.draft.is_kept:
                storage.write_atomic(draft.draft.path, draft.text.encode())
            written.append(draft.draft)
    if all(draft.refusal for draft in written):
        raise UsageError("\n".join(refusal_lines(written, f" in {source}")))
    return tuple(written)


def refusal_lines(drafts: Sequence[Draft], where: str = "") -> list[str]:
    """Say why there are no jobs, in a line for each reason.

    Args:
        drafts: those without a refusal are left out.
        where: what is said after the kernels' names.
    """
    kernels: dict[str, list[str]] = {}
    for draft in drafts:
        if draft.refusal:
            kernels.setdefault(draft.refusal, []).append(draft.kernel)
    return [f"{first_names(names)}{where}: no job is written: {reason}" for reason, names in kernels.items()]


def _with_launches_of_includers(source: Path, host: HostProgram) -> HostProgram:
    """Read the host code of a file that includes a source which launches none of its kernels, if that one does."""
    if not host.kernels or any(host.facts(kernel) is not None for kernel in host.kernels):
        return host
    for including in program.includers(source.absolute())[:_MOST_NAMED]:
        try:
            text = storage.read_bytes(including).decode(errors="replace")
            if "<<<" not in text or _sets_macros(text, source):
                continue
            around = HostProgram(including, source.absolute())
            around.ask_types(host.build, compiles_part=True)
        except Interrupted:
            raise
        except Exception:  # noqa: BLE001, S112 - C++ of any form must not end the command
            continue
        if any(around.facts(kernel) is not None for kernel in around.kernels):
            return around
    return host


def _sets_macros(text: str, source: Path) -> bool:
    """Tell whether a text defines macros that a source names before it includes it: alone it is another program."""
    words = set(WORD.findall(_text(source)))
    for directive in CxxText(text).directives:
        if directive.word == "include" and source.name in directive.rest:
            return False
        name = WORD.search(directive.rest)
        if directive.word == "define" and name is not None and name[0] in words:
            return True
    return False


def _including_hint(source: Path) -> str:
    """Name the files that include a source without launches; "" where there is none."""
    including = program.includers(source)
    if not including:
        return ""
    names = ", ".join(str(path) for path in including[:_MOST_NAMED])
    return f"the launches: {source.name} is included by {names}; `gpuregress new` of that file reads them"


def _refuse_all_existing(paths: Sequence[Path], what: str) -> None:
    if len(paths) == 1:
        _refuse_existing(paths[0])
    elif all(path.exists() for path in paths):
        raise UsageError(f"the jobs of all {len(paths)} {what} already exist and were not changed")


def _draft_kernel(
    source: Path,
    host: HostProgram | None,
    kernel: Declaration,
    facts: LaunchFacts | None,
    path: Path,
    others: tuple[str, ...],
    functions: tuple[str, ...],
    build: BuildOptions,
) -> DraftedText | Draft:
    """Draft the job of a kernel; without a text where there can be none."""
    job: KernelDraft
    if facts is not None:
        job = LaunchDraft(kernel, source, path, facts)
    elif host is not None:
        job = KernelDraft(kernel, source, path, build=build, known=host.types, program=host.program)
    else:
        job = KernelDraft(kernel, source, path, build=build)
    if job.refusal:
        return Draft(path, str(kernel), others, functions, refusal=job.refusal)
    draft = Draft(
        path=path,
        kernel=str(kernel),
        others=others,
        functions=functions,
        needed=job.needed,
        is_launched=facts is not None,
        guessed_sizes=job.guessed_sizes,
        buffer_bytes=job.buffer_bytes,
        remarks=job.remarks,
    )
    link = None
    if facts is not None and isinstance(job, LaunchDraft):
        # A kernel without a launch may have that of another one, which is no part of a chain then.
        is_own_launch = facts.launch.kernel.rpartition("::")[2] == kernel.name.rpartition("::")[2]
        link = ChainLink(kernel, facts, job) if is_own_launch else None
    return DraftedText(draft, job_text(job.lines(others)), link)


def _draft_chains(
    project: Project, source: Path, host: HostProgram, drafts: Sequence[DraftedText | Draft]
) -> list[DraftedText | Draft]:
    """Draft a job for each chain of launches; one that is already there stays as it is."""
    kernels: dict[int, Path] = {}
    links: list[ChainLink] = []
    for draft in drafts:
        if isinstance(draft, DraftedText) and draft.link is not None:
            kernels[id(draft.link.facts.launch)] = draft.draft.path
            links.append(draft.link)
    found = ChainSearch(host, links, source).chains()
    stems = []
    for chain in found:
        function = chain[-1].facts.launch.function
        stems.append(source.stem if function in ("", "main") else function)
    taken = [path.stem for path in kernels.values()]
    paths = _free_paths(project, [*taken, *stems])[len(taken) :]
    made: list[DraftedText | Draft] = []
    for chain, path in zip(found, paths, strict=True):
        job = ChainDraft(chain, source, path)
        launches = [id(link.facts.launch) for link in chain]
        draft = Draft(
            path=path,
            kernel=", ".join(job.kernels),
            others=(),
            is_kept=path.exists(),
            needed=job.needed,
            is_launched=True,
            guessed_sizes=job.guessed_sizes,
            buffer_bytes=job.buffer_bytes,
            remarks=job.remarks,
            is_chain=True,
        )
        covered = frozenset(kernels[launch] for launch in launches if launch in kernels)
        made.append(DraftedText(draft, job_text(job.lines()), covered=covered))
    return made


def _kernel_paths(project: Project, declared: Sequence[Declaration]) -> list[Path]:
    """Name the jobs after their kernels: those of one name have their namespaces, and what is still equal a number."""
    qualified: dict[str, set[str]] = {}
    for declaration in declared:
        qualified.setdefault(declaration.name.rpartition("::")[2], set()).add(declaration.name)
    stems: list[str] = []
    for declaration in declared:
        stem = declaration.name.rpartition("::")[2]
        if len(qualified[stem]) > 1:
            stem = declaration.name.strip(":").replace("::", "_")
        stems.append(stem)
    return _free_paths(project, stems)


def _free_paths(project: Project, stems: Sequence[str]) -> list[Path]:
    """Name the files of jobs; one whose name another job of the project has, up to case, gets a number."""
    taken = {quick_name(path).casefold(): path for path in job_files(project.configs)}
    paths: list[Path] = []
    for stem in stems:
        path = _job_path(project, stem)
        number = 2
        while taken.get(path.stem.casefold(), path) != path or path in paths:
            path = _job_path(project, f"{stem[:_MOST_CHARACTERS]}_{number}")
            number += 1
        taken[path.stem.casefold()] = path
        paths.append(path)
    return paths


def _job_path(project: Project, name: str) -> Path:
    """Return the file of a job; what its name must not have is left out."""
    safe = re.sub(r"[^A-Za-z0-9_.+-]+", "_", name).lstrip(".+-")[: job_plan.MAX_LENGTH].rstrip(".")
    if job_plan.job_name_problem(safe) is not None:
        safe = f"job_{safe[:90]}"
    return project.configs / f"{safe}.yaml"


def _host_program(
    source: Path,
    build: BuildOptions | None,
    whole: Path | None,
    read_host: Callable[..., HostProgram],
    *,
    is_prepared: bool,
) -> tuple[HostProgram | None, str]:
    """Read the host code of a source.

    Args:
        source: the file.
        build: the options to compile with.
        whole: the file to compile, which includes the source; None: the source itself.
        read_host: reads the host code of a file.
        is_prepared: all kernels are compiled while the compiler is asked for types.

    Returns:
        None and the reason where that fails: a draft from the declaration is still of use.
    """

    def prepare(found: HostProgram, question: Question) -> None:
        launches = {declaration: found.facts(declaration) for declaration in found.kernels}
        first_programs.compile_all(whole or source, found.build, found, launches, has_chains=True, question=question)

    try:
        host = read_host(source) if whole is None else read_host(whole, source)
        host.ask_types(build, prepare=prepare if is_prepared else None)
    except Interrupted:
        raise
    except Exception as error:  # noqa: BLE001 - C++ of any form must not end the command; the reason is shown
        what = f"{type(error).__name__}: {error}".splitlines()[0].rstrip(": ")
        return None, f"all that the host code gives: it could not be read ({what}); this is from the declaration alone"
    return host, ""


def draft_functions(
    project: Project,
    source: Path,
    pattern: str,
    *,
    target: Path | None = None,
    build: BuildOptions = NO_OPTIONS,
    whole: Path | None = None,
) -> tuple[Draft, ...]:
    """Write a job for each device function that a pattern names.

    Args:
        project: whose folder of jobs gets them.
        source: in CUDA C++.
        pattern: a name, with or without namespace, or a shell pattern: `*` is every function.
        target: the job's file, in place of configs/FUNCTION.yaml; for one function only.
        build: the options to compile with.
        whole: the file to compile, which includes the source; None: the source itself.

    Raises:
        UsageError: no such source or function, or the files of all its jobs are already there.
        StorageError: no space, no permission.
    """
    text = _text(source)
    functions = declarations.device_functions([text])
    chosen = [function for function in functions if _is_named(function, pattern)]
    if not chosen:
        there = "it has none"
        if functions:
            there = f"it has: {', '.join(str(function) for function in functions)}"
        raise UsageError(f"{source} has no device function {pattern!r}; {there}")
    if target is not None and len(chosen) > 1:
        names = ", ".join(str(function) for function in chosen)
        raise UsageError(f"{pattern!r} names {len(chosen)} functions, and -o is one file: {names}")
    paths = _free_paths(project, [_function_job(function, functions) for function in chosen])
    if target is not None:
        paths = [target]
    _refuse_all_existing(paths, "functions")
    drafts: list[DraftedText | Draft] = []
    for function, path in zip(chosen, paths, strict=True):
        if path.exists():
            drafts.append(Draft(path, str(function), (), is_kept=True))
        else:
            drafts.append(_draft_function(whole or source, text, functions, function, path, build))
    return _written(project, source, drafts)


def _draft_function(
    source: Path,
    text: str,
    functions: Sequence[CxxFunction],
    chosen: CxxFunction,
    path: Path,
    build: BuildOptions,
) -> DraftedText:
    _refuse_existing(path)
    others = [function for function in functions if function is not chosen]
    draft = Draft(path, str(chosen), (), tuple(str(function) for function in others))
    return DraftedText(draft, job_text(new_function.lines(chosen, text, source, path, others, build)))


def _draft_python(project: Project, source: Path, text: str, kernel: str | None, target: Path | None) -> Draft:
    try:
        kernels = new_python.kernels(text)
    except SyntaxError as error:
        raise UsageError(f"{source} is not Python: {error}") from error
    names = [function.name for function in kernels]
    if not kernels:
        raise UsageError(f"{source} has no function below @triton.jit or @cuda.jit: there is nothing to test")
    if kernel is not None and kernel not in names:
        raise UsageError(f"{source} has no kernel {kernel!r}; it has: {', '.join(names)}")
    chosen = kernels[0] if kernel is None else kernels[names.index(kernel)]
    path = target if target is not None else _job_path(project, source.stem)
    _refuse_existing(path)
    others = tuple(name for name in names if name != chosen.name)
    relative = os.path.relpath(source.absolute(), path.absolute().parent)
    job = new_python.PythonDraft(chosen, source, relative)
    storage.write_atomic(path, job_text(job.lines(others)).encode())
    return Draft(
        path=path,
        kernel=chosen.name,
        others=others,
        needed=job.needed,
        is_launched=job.is_launched,
        guessed_sizes=job.guessed_sizes,
    )


def _is_named(function: CxxFunction, pattern: str) -> bool:
    names = (function.name, function.name.rpartition("::")[2], str(function))
    return any(fnmatch.fnmatchcase(name, pattern) or name == pattern for name in names)


def _function_job(function: CxxFunction, functions: Sequence[CxxFunction]) -> str:
    return new_function.job_name(function, [other for other in functions if other is not function])


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise UsageError(f"{path} already exists and was not changed; name another file with -o")


def _text(source: Path) -> str:
    if source.is_dir():
        files = [path for path in source.iterdir() if path.suffix in (".cu", ".cuh", ".py") and path.is_file()]
        inside = sorted(path.name for path in files)
        there = "it has no .cu file itself"
        if inside:
            there = f"one of {', '.join(inside[:_MOST_NAMED])}"
        if len(inside) > _MOST_NAMED:
            there += ", …"
        raise UsageError(f"{source} is a folder: name a file in it ({there})")
    if not source.is_file():
        raise UsageError(f"there is no file {source}")
    content = storage.read_bytes(source)
    if not content.strip():
        raise UsageError(f"{source} is empty: there is nothing to test")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UsageError(f"{source} is UTF-16, which the compiler does not read: save it as UTF-8")
    if b"\0" in content:
        raise UsageError(f"{source} is not text (it has a byte 0): name the source in CUDA C++ or Python")
    return content.decode("utf-8", "replace")


def _choose(declared: Sequence[Declaration], kernel: str | None, source: Path) -> Declaration:
    if kernel is None:
        return declared[0]
    for declaration in declared:
        names = (declaration.name, str(declaration), declaration.name.rpartition("::")[2], declaration.signature())
        if kernel in names:
            return declaration
    there = ", ".join(cxx_declarations.listed(declared)) or "none, but device functions (--function NAME)"
    raise UsageError(f"{source} has no kernel {kernel!r}; it has: {there}")

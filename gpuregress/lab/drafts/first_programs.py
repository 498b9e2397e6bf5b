"""Programs that the drafts of a source ask for one after the other, compiled side by side before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gpuregress.execution.workers.compiler_pool import process_count
from gpuregress.foundation import storage
from gpuregress.foundation.records import Program, Source
from gpuregress.gpu.records import replace
from gpuregress.lab.drafts import chain, fills, kernel
from gpuregress.lab.drafts.launch_facts import HostProgram, LaunchFacts
from gpuregress.lab.drafts.types import NOTHING, Question
from gpuregress.lab.host_programs.objects import SeenLaunch
from gpuregress.session import compilation
from gpuregress.toolchain import cxx_declarations, debug_types, programs
from gpuregress.toolchain.build_options.options import BuildOptions
from gpuregress.toolchain.cxx_declarations import Declaration

_Instance = tuple[Declaration, dict[str, str], str]
"""A kernel, its template arguments by the names of the parameters, and its name with them."""

_MOST_TOGETHER = 64
"""Kernels of one program that is made for its types."""


def compile_all(
    source: Path,
    build: BuildOptions,
    host: HostProgram | None,
    facts: Mapping[Declaration, LaunchFacts | None],
    *,
    has_chains: bool,
    question: Question | None = None,
) -> None:
    """Compile the kernels of drafts, and a program with the types of their parameters, all of which are then found.

    The types of a parameter do not depend on the other kernels of the program. Where a kernel is refused, so is the
    program with its types, and the others are asked for again.

    Args:
        source: the file.
        build: the options to compile with.
        host: the host code; None: there is none.
        facts: kernel → its launch, where there is one.
        has_chains: whether further launches are drafted, too.
        question: for types, which is asked afterwards and compiled beside.

    Raises:
        Interrupted: the user asked to stop.
    """
    launches = {declaration: of_kernel.launch for declaration, of_kernel in facts.items() if of_kernel is not None}
    instances = [_instance(declaration, launches.get(declaration)) for declaration in facts]
    if host is not None and has_chains:
        instances += _later_instances(host, launches)
    known = NOTHING if host is None else host.types
    texts = [storage.read_bytes(source).decode(errors="replace")]
    if host is not None:
        texts += host.program.texts
    structures = set() if host is None or question is None else question.names.keys() & host.program.structures.keys()
    needs_types: dict[str, bool] = {}
    for declaration, arguments, instance_name in instances:
        name = kernel.asked_name(declaration, arguments, instance_name, texts)
        named = kernel.named_parameters(declaration, arguments)
        needs_types[name] = bool(kernel.unknown_types(named, arguments, known, structures))
    plain = build.applied_to(Source(str(source.absolute())))
    asked = [_with_kernels(plain, [name]) for name in needs_types]
    typed = [name for name, is_needed in needs_types.items() if is_needed][:_MOST_TOGETHER]
    # With one processor, a program with the types of a kernel that is refused is time lost.
    beside = []
    if typed and process_count() > 1:
        beside.append(programs.with_debug_types(_with_kernels(plain, typed)))
    if question is not None and question.program is not None:
        beside.append(question.program)
    if len(beside) + len(asked) <= 1:
        return
    results = compilation.compile_sources([*beside, *asked])
    if question is not None or (beside and isinstance(results[0], Program)):
        return
    made = dict(zip(needs_types, results[len(beside) :], strict=True))
    typed = [name for name in typed if isinstance(made[name], Program)]
    if len(typed) > 1:
        compilation.compile_sources([programs.with_debug_types(_with_kernels(plain, typed))])


def made_for_types(source: Source, names: Sequence[str]) -> list[Source]:
    """Return the program that drafts ask for after a first one, as far as a source's text tells: that with its types.

    The compiler parses all headers for either, and on another processor that takes no time.

    Args:
        source: the first program.
        names: of the source's kernels that are no templates.
    """
    if process_count() == 1:
        return []
    text = storage.read_bytes(Path(source.path)).decode(errors="replace")
    for declaration in cxx_declarations.declarations(text):
        arguments, _ = kernel.instantiate(declaration)
        if kernel.unknown_types(kernel.named_parameters(declaration, arguments), arguments, NOTHING):
            # With a macro for a question of its own it would not have the headers of one that has kernels.
            return [replace(source, kernels=tuple(names), options=(*source.options, *debug_types.OPTIONS))]
    return []


def _with_kernels(source: Source, names: Sequence[str]) -> Source:
    return replace(source, kernels=tuple(names))


def _instance(declaration: Declaration, launch: SeenLaunch | None) -> _Instance:
    if launch is None:
        return declaration, *kernel.instantiate(declaration)
    arguments, name, _ = fills.instance_of(declaration, launch)
    return declaration, arguments, name


def _later_instances(host: HostProgram, launches: Mapping[Declaration, SeenLaunch]) -> Iterator[_Instance]:
    """List the kernels of launches that may be in a chain with those of drafts."""
    for start in launches.values():
        for launch in chain.later_launches(host, start, host.launches.index(start)):
            declaration = host.declaration(launch)
            if declaration is not None:
                yield _instance(declaration, launch)

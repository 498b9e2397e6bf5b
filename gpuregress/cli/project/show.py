"""Command `gpuregress show`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuregress.cli import console, context

if TYPE_CHECKING:
    from gpuregress.foundation.records import Case, Program


@click.command(
    "show",
    short_help="one case's plan with every number worked out",
    epilog="Example: gpuregress show reduce/n=1000,tile=128",
)
@click.argument("case")
@click.option("--ptx", is_flag=True, help="Compile it and print the PTX instead.")
@click.option("--source", "source_text", is_flag=True, help="Print the source as it is compiled: without host code.")
@click.option("--llvm", is_flag=True, help="Compile it and print the LLVM IR that the cpu device makes of its kernels.")
@context.json_option
@click.pass_context
def command(ctx: click.Context, /, case: str, ptx: bool, source_text: bool, llvm: bool, as_json: bool) -> int:
    """Show the plan of a CASE: source, buffers with sizes and seeds, launches, rules, limits. Runs nothing.

    A kernel in Python is compiled, because its compiler fills in the launch.
    """
    from gpuregress.foundation.errors import UsageError
    from gpuregress.foundation.records import to_json
    from gpuregress.jobs import plan

    project = context.find_project(ctx)
    cases = plan.make(project, (case,)).cases
    if len(cases) > 1:
        names = ", ".join(one.name for one in cases[:8])
        raise UsageError(f"{case!r} is {len(cases)} cases; say which: {names}{', …' if len(cases) > 8 else ''}")
    if ptx:
        console.say_document(_ptx(cases[0]))
    elif source_text:
        console.say_document(_source(cases[0]))
    elif llvm:
        console.say_document(_llvm(cases[0]))
    elif as_json:
        context.print_json(to_json(cases[0]))
    else:
        from gpuregress.jobs.plan.explain import explain

        completed, trouble = _completed(cases[0])
        for line in explain(completed):
            console.say(line)
        if trouble:
            console.say(f"note: it is not compiled, which decides the launch: {trouble}", err=True)
    return 0


def _completed(case: Case) -> tuple[Case, str]:
    """A case with what the compiler of a kernel in Python fills in; or why it is not known."""
    from gpuregress.foundation.errors import GpuregressError
    from gpuregress.jobs import plan
    from gpuregress.session.compilation import compile_source

    trusted = {name: kernel.source for name, kernel in case.reference_kernels.items() if kernel.source.python}
    if not trusted and all(source.python is None for source in case.sources):
        return case, ""
    try:
        references = {name: compile_source(source) for name, source in trusted.items()}
        return plan.completed(case, _programs(case), references), ""
    except GpuregressError as error:
        return case, str(error)


def _ptx(case: Case) -> str:
    """The PTX of a case's sources; of several, each under its name."""
    texts = [Path(program.ptx).read_text(encoding="utf-8") for program in _programs(case)]
    return _together(case, texts, "//")


def _source(case: Case) -> str:
    """The texts that NVRTC compiles; the project's headers that changed are under their names."""
    from gpuregress.toolchain import nvrtc

    return _together(case, [nvrtc.compiled_text(source) for source in case.sources], "//")


def _llvm(case: Case) -> str:
    from gpuregress.virtual_gpu.compilation.translate import llvm_text

    texts = []
    for program in _programs(case):
        kernels = [entry.mangled for entry in program.entries.values()]
        texts.append(llvm_text(Path(program.ptx).read_text(encoding="utf-8"), kernels, program.library_files))
    return _together(case, texts, ";")


def _programs(case: Case) -> list[Program]:
    from gpuregress.session.compilation import compile_source

    return [compile_source(source) for source in case.sources]


def _together(case: Case, texts: list[str], comment: str) -> str:
    if len(texts) == 1:
        return texts[0]
    return "\n".join(f"{comment} {name}\n{text}" for name, text in zip(case.source_names, texts, strict=True))

"""Command line: each command is a function `NAME_command`, whose module is imported when it is called."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from gpuregress import __version__
from gpuregress.cli import errors, values
from gpuregress.execution.workers import worker_spawn

for _name, _value in worker_spawn.LIBRARIES.items():
    os.environ.setdefault(_name, _value)


class CommandEntry(NamedTuple):
    """A command that is not imported yet: its module, its line in the help, and the page that explains it."""

    module: str
    summary: str
    page: str


GROUPS = {
    "Run and compare": {
        "run": CommandEntry(
            "run", "run cases, dump their buffers, compare them with the baselines", "tutorials/first-regression"
        ),
        "watch": CommandEntry("watch", "run jobs again whenever one of their files is saved", "reference/commands"),
        "diff": CommandEntry(
            "revisions", "compare the results of two revisions or git commits", "how-to/bisect-and-shrink"
        ),
        "bisect": CommandEntry(
            "revisions", "find the commit whose result differs from that of a good one", "how-to/bisect-and-shrink"
        ),
        "shrink": CommandEntry(
            "revisions", "write the smallest job on which a case still fails", "how-to/bisect-and-shrink"
        ),
        "exec": CommandEntry(
            "programs", "run a whole CUDA program on the virtual GPU, without a GPU", "how-to/programs"
        ),
    },
    "Examine the tests": {
        "mutate": CommandEntry(
            "examine", "count how many small mistakes in a kernel its job notices", "how-to/mutation"
        ),
        "profile": CommandEntry("measure", "show the source with the exact costs of each line", "how-to/costs"),
        "fuzz": CommandEntry(
            "examine", "try inputs at the edges, and write a small job for each failure", "how-to/fuzzing"
        ),
        "accuracy": CommandEntry("measure", "compare a case with itself in higher precision", "how-to/accuracy"),
        "audit": CommandEntry("examine", "grade what the tests of jobs prove", "how-to/audit"),
    },
    "Baselines": {
        "accept": CommandEntry("baseline_commands", "make the last run's dumps the baselines", "how-to/accept-results"),
        "review": CommandEntry(
            "baseline_commands", "accept or reject differences one by one, by single keys", "how-to/accept-results"
        ),
        "reject": CommandEntry(
            "baseline_commands",
            "mark a run's results as wrong, so that they are never accepted",
            "how-to/accept-results",
        ),
        "blame": CommandEntry(
            "baseline_commands",
            "show who accepted a case's baseline, when, why, from which run",
            "how-to/accept-results",
        ),
        "calibrate": CommandEntry(
            "measure", "propose the tightest rules that hold, with the evidence", "how-to/calibrate"
        ),
    },
    "Jobs": {
        "list": CommandEntry("jobs", "list the cases, with their revision and what is accepted", "reference/commands"),
        "show": CommandEntry("jobs", "show one case's plan with every number worked out", "reference/commands"),
        "check": CommandEntry("jobs", "report all errors of all jobs at once; run nothing", "reference/job-file"),
        "new": CommandEntry("new", "draft jobs from host code and signatures, and run them", "tutorials/cu-file"),
        "capture": CommandEntry(
            "new_jobs", "run an application, and write its kernels' launches as jobs", "tutorials/capture"
        ),
    },
    "Results": {
        "log": CommandEntry("results", "show a run's launches, and which never returned", "how-to/faults"),
        "nightly": CommandEntry("nightly", "run unattended; print nothing when all is well", "how-to/nightly"),
        "flaky": CommandEntry(
            "results", "list the cases whose verdict changes although their code does not", "how-to/nightly"
        ),
        "history": CommandEntry("results", "show the verdicts of every case in past runs", "reference/project"),
        "report": CommandEntry("results", "write a run as an HTML page, or for another program", "how-to/html-report"),
    },
    "Installation": {
        "build": CommandEntry(
            "installation", "compile all cases into a cache, for a machine without a compiler", "how-to/gpu"
        ),
        "doctor": CommandEntry(
            "installation", "report what this machine can run, and how to install the rest", "how-to/gpu"
        ),
        "schema": CommandEntry("installation", "print the JSON Schema of a job, for editors", "reference/job-keys"),
    },
}
"""Heading of the help → its commands, in the order in which a user needs them."""

COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}

DOCUMENTATION = "https://github.com/gpuregress/gpuregress/blob/main/docs"

COMPLETION = "_GPUREGRESS_COMPLETE"
"""The variable by which a shell asks for completions."""


class Commands(click.Group):
    """Group of all commands; imports a command when it is called, and turns errors into exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names of the commands, in the order in which a user needs them."""
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the commands with their summaries, a section for each group."""
        width = max(map(len, COMMANDS))
        for heading, entries in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<{width}}", entry.summary) for name, entry in entries.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands, and the options of the group."""
        items = []
        for name, entry in COMMANDS.items():
            if name.startswith(incomplete):
                items.append(CompletionItem(name, help=entry.summary))
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        entry = COMMANDS[cmd_name]
        module = importlib.import_module(f"gpuregress.cli.{entry.module}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        more = f"\b\nMore: {DOCUMENTATION}/{entry.page}.md"
        if not (command.epilog or "").endswith(more):  # a process may ask for a command twice
            command.epilog = f"{command.epilog}\n\n{more}"
        values.forbid_empty(command)
        if COMPLETION in os.environ:
            from gpuregress.cli import completion  # noqa: PLC0415 - it plans the project's jobs, for a shell alone

            completion.attach(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown name is an error with the nearest known one."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            near = difflib.get_close_matches(name, COMMANDS, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(COMMANDS)}"
            raise click.UsageError(f"no such command {name!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run a command and exit with its code; every error is one line on stderr."""
        if not standalone_mode:
            return self._plain_main(*args, **extra)
        sys.exit(errors.guard(lambda: self._plain_main(*args, **extra)))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a closed stdout is reported apart from click's own errors."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise errors.ReaderLeft from error

    def _plain_main(self, *args: Any, **extra: Any) -> Any:
        if COMPLETION in os.environ:
            from gpuregress.cli import completion  # noqa: F401, PLC0415 - it teaches click our bash, for a shell alone
        click_main: Callable[..., Any] = super().main  # its overloads refuse unknown arguments
        try:
            return click_main(*args, standalone_mode=False, **extra)
        except click.ClickException as error:
            from gpuregress.cli import report_files  # noqa: PLC0415 - 0.2 s, for a wrong command line alone

            arguments = extra.get("args") or (args[0] if args else None) or sys.argv[1:]
            report_files.refuse(arguments, error.format_message())
            raise


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=f"Example: gpuregress run configs/reduce.yaml\n\n\b\nMore: {DOCUMENTATION}/index.md",
)
@click.version_option(__version__, prog_name="gpuregress")
@click.option(
    "-C",
    "--directory",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="Work in the project that holds DIR instead of the current folder.",
)
@click.pass_context
def main(ctx: click.Context, directory: str | None) -> None:
    """Regression tests for CUDA kernels: run, dump, compare with accepted results, say what changed.

    Kernels run on a GPU, or, bit for bit, on the CPU of a machine that has none.
    """
    ctx.obj = directory

"""Command line: each command is a function `NAME_command`, whose module is imported when it is called."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import click

from gpuregress import __version__
from gpuregress.execution.workers import early_start

for _name, _value in early_start.LIBRARIES.items():
    os.environ.setdefault(_name, _value)

GROUPS: dict[str, dict[str, str]] = {
    "Run and compare": {"run": "run", "diff": "revisions", "bisect": "revisions", "shrink": "revisions"},
    "Examine the tests": {
        "mutate": "examine",
        "profile": "measure",
        "fuzz": "examine",
        "accuracy": "measure",
        "audit": "examine",
    },
    "Baselines": {
        "accept": "baseline_commands",
        "review": "baseline_commands",
        "reject": "baseline_commands",
        "blame": "baseline_commands",
        "calibrate": "baseline_commands",
    },
    "Jobs": {"list": "jobs", "show": "jobs", "check": "jobs", "new": "new_jobs", "capture": "new_jobs"},
    "Results": {"log": "results", "nightly": "nightly", "history": "results", "report": "results"},
    "Installation": {"build": "installation", "doctor": "installation", "schema": "installation"},
}
"""Heading of the help → name of a command → the module that holds it, in the order in which a user needs them."""

COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}

COMPLETION = "_GPUREGRESS_COMPLETE"
"""The variable by which a shell asks for completions."""


class Commands(click.Group):
    """Group of all commands; imports a command when it is called, and turns errors into exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names of the commands, in the order in which a user needs them."""
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their first sentences, a section for each group."""
        width = max(map(len, COMMANDS))
        for heading, names in GROUPS.items():
            rows = []
            for name in names:
                command = self.get_command(ctx, name)
                assert command is not None
                rows.append((f"{name:<{width}}", command.get_short_help_str(formatter.width - 6 - width)))
            with formatter.section(heading):
                formatter.write_dl(rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        from gpuregress.cli import values

        module = importlib.import_module(f"gpuregress.cli.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        values.forbid_empty(command)
        if COMPLETION in os.environ:
            from gpuregress.cli import completion

            completion.attach(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown name is an error with the nearest known one."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            import difflib

            near = difflib.get_close_matches(name, COMMANDS, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(COMMANDS)}"
            raise click.UsageError(f"no such command {name!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run a command and exit with its code; every error is one line on stderr."""
        if not standalone_mode:
            return self._plain_main(*args, **extra)
        from gpuregress.cli import errors

        sys.exit(errors.guard(lambda: self._plain_main(*args, **extra)))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a closed stdout is reported apart from click's own errors."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            from gpuregress.cli import errors

            raise errors.ReaderLeft from error

    def _plain_main(self, *args: Any, **extra: Any) -> Any:
        plain: Callable[..., Any] = super().main
        if COMPLETION in os.environ:
            from gpuregress.cli import completion  # noqa: F401 - it teaches click our bash
        try:
            return plain(*args, standalone_mode=False, **extra)
        except click.ClickException as error:
            from gpuregress.cli import report_files

            given = extra.get("args") or next(iter(args), None) or sys.argv[1:]
            report_files.refuse(given, error.format_message())
            raise


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: gpuregress run configs/reduce.yaml",
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

"""Code blocks of the README and of docs/, executed as a reader would.

Each page runs in a folder of its own, from top to bottom. HTML comments steer it, invisible to a reader:

- `<!-- project: examples -->` on a line of its own: the folder starts as a copy of this repository's examples.
- `<!-- needs: MODULE -->`: the page is executed where this module is installed.
- `<!-- setup: COMMAND -->`: a shell command that the page needs, but does not show.
- `<!-- file: PATH -->` before a block: the block is saved under this name.
- `<!-- not run: REASON -->` before a block: nothing of the block is executed.

In a `console` block a line that begins with `$ ` is a command. The lines behind it are what it prints, in which a line
`...` stands for any lines. A command without such lines must succeed. A command that begins with `gpuregress` runs in
this process, one that begins with `python` in a process that is forked from one with our modules, which saves the start
of Python; what the output is piped to, and all other commands, run in a shell.

    python -m tests.documents.snippets       writes what the commands print into the pages
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from gpuregress.cli import main
from tests import preloaded
from tests.pytest_plugin.outside import entry_point

ROOT = Path(__file__).parents[2]
PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")))
COMMAND_TIMEOUT_S = 300.0
_OWN = re.compile(
    r"(?P<program>gpuregress|python) (?!exec )(?P<words>[^|&;<>$`\\#]*?)(?: 2> (?P<errors>[\w.]+))?"
    r"(?: > (?P<file>[\w.]+))?(?: \| (?P<reader>[^;]*)|; (?P<next>.*))?"
)
"""A command of gpuregress or Python, where its streams go, and what follows it; `exec` needs a process of its own."""

_MARK = re.compile(r"<!-- (project|needs|setup|file|not run): (.*?) -->")
_FENCE = re.compile(r"```(\w*|\{eval-rst\})$")  # the second is a directive of the site, whose build is strict
_VERDICT = re.compile(r"(pass|differ|new|fault|timeout|error|skip) ")
_STAGES = re.compile(r"compiled \S+: .* s$")
"""The times of a compilation, which a run has only where the cache lacks the program."""
_VOLATILE = (
    (re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{4}"), "RUN"),
    (re.compile(r"(?<=Z)  \S.*?  (?=\d+\.\d+  from )"), "  USER  "),  # of `blame`
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "DATE"),
    (re.compile(r"(?<= )\d+\.\d{1,3}(?= |$)"), "NUMBER"),  # seconds and milliseconds
    (re.compile(r" {2,}"), " "),  # columns are as wide as those numbers
)


@dataclass(frozen=True)
class Step:
    """One executable thing of a page.

    Attributes:
        kind: `project`, `needs`, `setup`, `file`, or the language of a code block; `skipped` where a mark excepts it.
        line: where its text begins, from 1.
        argument: of the mark before it: a path, a command, a reason.
        text: of the code block, without its fences.
    """

    kind: str
    line: int
    argument: str = ""
    text: str = ""


def steps(page: str) -> list[Step]:
    """The steps of a page, in order."""
    result: list[Step] = []
    mark: tuple[str, str] | None = None
    lines = iter(enumerate((ROOT / page).read_text(encoding="utf-8").splitlines(), 1))
    for number, line in lines:
        if observed := _MARK.fullmatch(line):
            kind, argument = observed.groups()
            if kind in ("project", "needs", "setup"):
                result.append(Step(kind, number, argument))
            else:
                mark = kind, argument
        elif fence := _FENCE.match(line):
            body = []
            for _, inner in lines:
                if inner == "```":
                    break
                body.append(inner)
            kind, argument = mark or (fence[1], "")
            if kind == "text" and any(inner.startswith("$ ") for inner in body):
                kind = "console"  # whatever a page calls it, a command that is shown is run
            result.append(Step("skipped" if kind == "not run" else kind, number + 1, argument, "\n".join(body)))
            mark = None
        elif line:
            mark = None
    return result


@dataclass(frozen=True)
class Command:
    """A command of a `console` block.

    Attributes:
        line: of the command in the page, from 1.
        text: what the shell is given.
        expected: the lines that the page shows behind it.
    """

    line: int
    text: str
    expected: tuple[str, ...]


def commands(step: Step) -> list[Command]:
    """The commands of a `console` block."""
    result = []
    lines = step.text.splitlines()
    starts = [index for index, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        result.append(Command(step.line + start, lines[start][2:], tuple(lines[start + 1 : end])))
    return result


class Shell:
    """The folder of a page, and a shell in it that keeps the exit status for `echo $?`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        program = bin_folder / "gpuregress"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gpuregress "$@"\n')
        program.chmod(0o755)
        self.status = 0
        self._environment = {
            **os.environ,
            "PATH": f"{bin_folder}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": f"{entry_point(folder)}:{ROOT}",
            "CUDA_VISIBLE_DEVICES": "",  # the pages show the CPU device
            "PYTEST_ADDOPTS": shlex.join(preloaded.PYTEST_OPTIONS),
            "LOGNAME": "alice",
            "COLUMNS": "100",
        }

    def show_gpus(self) -> None:
        """Lets programs see the virtual GPU of `exec`, which obeys CUDA_VISIBLE_DEVICES."""
        del self._environment["CUDA_VISIBLE_DEVICES"]

    def examples(self) -> None:
        """Copies this repository's jobs, kernels and baselines into the folder."""
        for name in ("configs", "kernels", "baselines"):
            shutil.copytree(ROOT / name, self.folder / name)

    def save(self, name: str, text: str) -> None:
        """Saves a code block as a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")

    def run(self, command: str) -> list[str]:
        """The lines that a command prints on stdout and stderr."""
        own = _OWN.fullmatch(command)
        if own is None:
            return self._shown(self._in_shell(command))
        words = self._words(own["words"])
        if own["program"] == "python":
            self.status, printed, errors = preloaded.run(words, self.folder, self._environment, COMMAND_TIMEOUT_S)
        else:
            with contextlib.chdir(self.folder):
                result = CliRunner(env=self._environment).invoke(main, words)
            self.status = result.exit_code
            is_apart = any(own[name] is not None for name in ("errors", "file", "reader"))
            printed, errors = (result.stdout, result.stderr) if is_apart else (result.output, "")
        if own["errors"] is not None:
            (self.folder / own["errors"]).write_text(errors, encoding="utf-8")
            errors = ""
        if own["file"] is not None:
            (self.folder / own["file"]).write_text(printed, encoding="utf-8")
            printed = ""
        if own["reader"] is not None:
            printed = self._in_shell(own["reader"], printed)
        return [*self._shown(errors + printed), *(self.run(own["next"]) if own["next"] is not None else ())]

    def _words(self, text: str) -> list[str]:
        """The arguments of a command, expanded as a shell does."""
        if not re.search(r"[*?~\[{]", text):
            return shlex.split(text)
        command = ["bash", "-c", f"printf '%s\\0' {text}"]
        return subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True).stdout.split("\0")[
            :-1
        ]

    def _in_shell(self, command: str, given: str = "") -> str:
        done = subprocess.run(
            ["bash", "-c", f"(exit {self.status}); {command}"],
            cwd=self.folder,
            env=self._environment,
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
        self.status = done.returncode
        return done.stdout

    def _shown(self, output: str) -> list[str]:
        return output.replace(str(self.folder), "/home/alice/project").splitlines()


def comparable(lines: list[str] | tuple[str, ...]) -> list[str]:
    """Lines without what differs between two runs: names, times, widths, the order in which cases end."""
    plain = []
    for line in lines:
        text = line.rstrip()
        if _STAGES.match(text):
            continue
        for pattern, name in _VOLATILE:
            text = pattern.sub(name, text)
        plain.append(text)
    verdicts = iter(sorted(line for line in plain if _VERDICT.match(line)))
    return [next(verdicts) if _VERDICT.match(line) else line for line in plain]


def agrees(expected: tuple[str, ...], actual: list[str]) -> bool:
    """Whether a command printed what the page shows."""
    patterns = [r"(?:[^\n]*\n)*" if line == "..." else re.escape(line + "\n") for line in comparable(expected)]
    return re.fullmatch("".join(patterns), "".join(f"{line}\n" for line in comparable(actual))) is not None


def prepare(step: Step, shell: Shell) -> None:
    """Does what a mark asks for.

    Raises:
        RuntimeError: a setup command failed.
    """
    if step.kind == "project":
        shell.examples()
    elif step.kind == "file":
        shell.save(step.argument, step.text)
    elif step.kind == "setup":
        output = shell.run(step.argument)
        if shell.status not in (0, 1):  # 1: a run that differs
            raise RuntimeError("\n".join([step.argument, *output]))


def rewrite(page: str, folder: Path) -> None:
    """Writes into a page what its commands print, but for the blocks that leave something out."""
    shell = Shell(folder)
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    shift = 0
    for step in steps(page):
        prepare(step, shell)
        for command in commands(step) if step.kind == "console" else ():
            actual = shell.run(command.text)
            if not agrees(command.expected, actual) and "..." not in command.expected:
                start = command.line + shift
                lines[start : start + len(command.expected)] = actual
                shift += len(actual) - len(command.expected)
    (ROOT / page).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:] or PAGES:
        with tempfile.TemporaryDirectory() as scratch:
            rewrite(name, Path(scratch))

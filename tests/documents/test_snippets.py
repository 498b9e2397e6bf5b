"""Every code block of the README and of docs/ is executed, or says why it is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuregress.jobs.spec.load import load_file
from gpuregress.store import project
from tests.documents.snippets import PAGES, Command, Shell, Step, agrees, commands, prepare, steps
from tests.slow_cases import some_slow

JOB = {
    "source": "a.cu",
    "buffers": {"x": {"dtype": "float32", "shape": [1]}},
    "launches": [{"kernel": "k", "grid": [1], "block": [1]}],
}


SLOW = [
    "docs/how-to/costs.md",
    "docs/how-to/coverage.md",
    "docs/how-to/chains-of-launches.md",
    "docs/how-to/pytest.md",
    "docs/how-to/gold-standards.md",
    "docs/how-to/timing.md",
    "docs/how-to/compiler-variants.md",
    "docs/how-to/audit.md",
    "docs/explanation/best-practices.md",
    "docs/how-to/bisect-and-shrink.md",
    "docs/how-to/calibrate.md",
    "docs/how-to/from-kernel-tuner.md",
    "docs/how-to/find-the-hang.md",
    "docs/how-to/fuzzing.md",
    "docs/how-to/gpu.md",
    "docs/explanation/langdon.md",
    "docs/how-to/mutation.md",
    "docs/how-to/parameter-spaces.md",
    "docs/reference/python.md",
    "docs/reference/runs.md",
    "docs/how-to/schedules.md",
    "docs/how-to/tensor-maps.md",
    "docs/how-to/triton-and-numba.md",
    "docs/tutorials/audit.md",
    "docs/tutorials/first-regression.md",
    "docs/tutorials/cu-file.md",
    "docs/tutorials/pytest.md",
    "docs/tutorials/triton.md",
]


@pytest.mark.parametrize("page", some_slow(PAGES, SLOW))
def test_every_block_of_the_page(page: str, tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for step in steps(page):
        where = f"{page}:{step.line}"
        if step.kind == "needs":
            pytest.importorskip(step.argument, reason=f"{page} needs {step.argument}, which is not installed")
            if step.argument == "pycuda":
                shell.show_gpus()
        prepare(step, shell)
        if step.kind == "console":
            run(step, shell, page)
        elif step.kind == "yaml" or (step.kind == "file" and step.argument.endswith(".yaml")):
            check_yaml(step.text, tmp_path, where)
        elif step.kind == "python":
            exec(compile(step.text, where, "exec"), {})
        elif step.kind == "json":
            json.loads(step.text)
        elif step.kind not in ("project", "needs", "setup", "file", "skipped", "text", "{eval-rst}"):
            pytest.fail(f"{where}: a {step.kind or 'nameless'} block is not executed")


def run(step: Step, shell: Shell, page: str) -> None:
    assert commands(step), f"{page}:{step.line}: no line begins with '$ '"
    for command in commands(step):
        actual = shell.run(command.text)
        shown = "\n".join([f"{page}:{command.line}: {command.text}", *actual])
        if command.expected:
            assert agrees(command.expected, actual), shown
        else:
            assert (shell.status, actual) == (0, []), shown


def check_yaml(text: str, folder: Path, where: str) -> None:
    """A whole job, some keys of a job, or the settings of a project."""
    value: dict[str, Any] = yaml.safe_load(text)
    is_settings = not {"folders", "ping", "notify", "retention"}.isdisjoint(value)
    path = folder / ("gpuregress.yaml" if is_settings else "job.yaml")
    if is_settings:
        path.write_text(text)
        assert project.find(folder).root == folder, where
    else:
        job = {key: item for key, item in JOB.items() if key != "launches" or "function" not in value}
        path.write_text(text if "source" in value or "program" in value else yaml.safe_dump({**job, **value}))
        assert load_file(path).errors == (), where


def test_a_page_whose_command_prints_something_else_is_noticed() -> None:
    shown = ("pass     a  0.081 s", "", "1 case in 1.29 s on cpu: 1 pass (run 20261122T120320Z-3aaa)")
    again = ["pass     a  12.100 s", "", "1 case in 0.5 s on cpu: 1 pass (run 20270101T000000Z-0000)"]
    assert agrees(shown, again)
    assert agrees((shown[0], "..."), again)
    assert agrees(("pass b", "pass a"), ["pass a", "pass b"])
    assert not agrees(shown, ["differ   a  12.100 s", *again[1:]])
    assert not agrees((shown[0],), again)
    assert not agrees(("sum 1.25",), ["sum 1.2512"])


def test_a_command_keeps_its_exit_status_for_the_next(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.run("exit 3")
    assert shell.run("echo $?") == ["3"]
    shell.run("gpuregress check nothing")
    assert shell.run("echo $?") == ["2"]


def test_a_command_prints_in_this_process_what_it_prints_in_a_shell(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.save("configs/a.yaml", "{}")
    shell.save("configs/b.yaml", "{}")
    for command in (
        "gpuregress check a configs/*.yaml 2> said | wc -l; cat said",
        "gpuregress list --json > all; echo $?; cat all",
    ):
        assert shell.run(command) == shell.run(f"true; {command}"), command


def test_a_command_in_a_text_block_is_run(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```text\n$ echo 1\n2\n```\n\n```text\nno command\n```\n")
    assert [step.kind for step in steps(str(page))] == ["console", "text"]


def test_commands_and_their_output_are_told_apart() -> None:
    step = Step("console", 7, text="$ one\n$ two\nx\n...\ny\n$ three")
    assert commands(step) == [Command(7, "one", ()), Command(8, "two", ("x", "...", "y")), Command(12, "three", ())]

"""What an installation without extras can do: LLVM and NVIDIA's compiler are missing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests import unimportable
from tests.workshop import RUN, Workshop, accepted, change

CPU = "which is not installed: pip install 'gpuregress[cpu]'"


@pytest.fixture
def project(fake_shop: Workshop) -> Workshop:
    """A project with an accepted run and one that differs."""
    accepted(fake_shop)
    change(fake_shop)
    assert fake_shop.call(*RUN).exit_code == 1
    unimportable.write(fake_shop.root.parent / "hidden", "llvmlite", "cuda", "nvidia")
    return fake_shop


def call(project: Workshop, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in an interpreter without the packages, and with nothing compiled."""
    hidden = project.root.parent / "hidden"
    variables = {"PYTHONPATH": str(hidden), "GPUREGRESS_CACHE": str(hidden / "cache")}
    return subprocess.run(
        [sys.executable, "-m", "gpuregress", "-C", str(project.root), *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("accept", "--all"), 0, "scale"),
        (("diff", "1.4", "1.5"), 1, "scale/n=100"),
        (("report",), 0, "scale/n=100"),
        (("review", "--help"), 0, "review"),
        (("history", "scale"), 0, "scale"),
        (("list",), 0, "scale/n=100"),
        (("show", "scale/n=100"), 0, "scale"),
        (("check", "--no-compile"), 0, "1 case"),
        (("log",), 0, "scale"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_commands_that_need_no_extra(project: Workshop, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = call(project, *arguments)
    assert (done.returncode, done.stderr) == (code, "")
    assert words in done.stdout


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("run",), f"gpuregress: the CPU device needs llvmlite, {CPU}"),
        (("run", "--device", "cpu"), f"gpuregress: the CPU device needs llvmlite, {CPU}"),
        (("nightly",), f"gpuregress: the CPU device needs llvmlite, {CPU}"),
        (("calibrate", "scale"), f"gpuregress: the CPU device needs llvmlite, {CPU}"),
        (("audit", "scale"), f"gpuregress: the CPU device needs llvmlite, {CPU}"),
        (("exec", "--", "true"), f"gpuregress: exec needs llvmlite, {CPU}"),
        (("show", "scale/n=100", "--llvm"), f"gpuregress: --llvm needs llvmlite, {CPU}"),
        (("show", "scale/n=100", "--ptx"), f"gpuregress: CUDA C++ needs cuda-bindings, {CPU}"),
        (("build",), f"gpuregress: CUDA C++ needs cuda-bindings, {CPU}"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_needs_the_extra_names_it_in_a_line(project: Workshop, arguments: tuple[str, ...], line: str) -> None:
    done = call(project, *arguments)
    assert done.returncode == 4
    assert line in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_check_notes_that_sources_are_not_compiled(project: Workshop) -> None:
    done = call(project, "check")
    assert (done.returncode, done.stdout) == (0, "1 job, 1 case: no errors\n")
    assert done.stderr.startswith(f"note: the sources were not compiled: CUDA C++ needs cuda-bindings, {CPU}")


def test_doctor_lists_what_is_missing(project: Workshop) -> None:
    done = call(project, "doctor")
    assert done.returncode == 4
    assert "pip install 'gpuregress[cpu]'" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_run_of_what_is_built_needs_no_compiler(project: Workshop) -> None:
    """The machine that runs has the CPU device, and a cache that another one has filled."""
    hidden = project.root.parent / "hidden"
    assert project.call("build", "--ptx-only", "--cache", str(hidden / "cache")).exit_code == 0
    unimportable.write(hidden, "cuda", "nvidia")
    done = call(project, "run", "--device", "cpu")
    assert done.returncode == 1, done.stderr
    assert "1 differ" in done.stdout

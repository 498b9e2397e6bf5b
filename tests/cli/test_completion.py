"""Completion, asked for as a shell does, and in the shells themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gpuregress.cli import COMPLETION, completion, main
from gpuregress.session.runs import case_names
from gpuregress.store import project
from tests import preloaded, workshop
from tests.workshop import Workshop

RUN = "20261120T020000Z-3f2a"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    root = tmp_path_factory.mktemp("two words")
    made = workshop.make(root)
    made.job(("n: [100]", "n: [100, 200]\n  tile: [8, 16]"), ("source:", "tags: [fast]\nsource:"))
    made.job(name="other")
    made.write("configs/broken.yaml", "x: [")
    (root / "runs" / RUN).mkdir(parents=True)
    folder = root / "bin"
    folder.mkdir()
    program = folder / "gpuregress"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gpuregress "$@"\n')
    program.chmod(0o755)
    # A completion gives up after two seconds of planning, which are not enough on a busy machine.
    case_names.names(project.find(root), seconds=600.0)
    return made


def environment(shop: Workshop, **more: str) -> dict[str, str]:
    path = f"{shop.root}/bin:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(Path(__file__).parents[2]), **more}


def asked(shop: Workshop, line: str, breaks: str = "=:") -> list[str]:
    """What the script of bash is given for a line."""
    variables = {COMPLETION: "bash_complete", "_GPUREGRESS_LINE": line, "_GPUREGRESS_WORDBREAKS": breaks}
    _, printed, errors = preloaded.run(["-m", "gpuregress"], shop.root, environment(shop, **variables), 120.0)
    assert errors == ""
    return [entry.partition(",")[2] for entry in printed.splitlines() if entry]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("gpuregress ru", ["run"]),
        ("gpuregress run o", ["other", "other/n=100"]),
        ("gpuregress run scale/n=2", ["200,tile=8", "200,tile=16"]),
        ("gpuregress -C . show scale/n=100,tile=1", ["16"]),
        ("gpuregress run other bro", ["broken"]),
        ("gpuregress nightly --tag ", ["fast"]),
        ("gpuregress run --device c", ["cpu", "cuda"]),
        ("gpuregress log ", [RUN]),
        ("gpuregress accept --run 2026", [RUN]),
        ("gpuregress nightly --install sy", ["systemd"]),
        ("gpuregress report --report sa", ["sarif="]),
        ("gpuregress show nobody", []),
    ],
)
def test_a_word_is_completed(shop: Workshop, line: str, expected: list[str]) -> None:
    assert [name for name in asked(shop, line) if name not in ("cuda:0", "cuda:1")] == expected


def test_outside_of_a_project_nothing_is_completed(shop: Workshop, tmp_path: Path) -> None:
    assert asked(shop, f"gpuregress -C {tmp_path} show x") == []


def test_of_many_cases_those_of_the_typed_job_are_offered(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "MOST_WITH_JOBS", 2)
    ctx = click.Context(main)
    ctx.params["directory"] = str(shop.root)
    assert [name for name in completion._cases(ctx, "") if "/" in name] == []
    assert len([name for name in completion._cases(ctx, "scale/") if "/" in name]) == 4


BASH = """\
eval "$(_GPUREGRESS_COMPLETE=bash_source gpuregress)"
complete -p gpuregress
COMP_LINE="$1" COMP_POINT=${#1} COMP_WORDBREAKS=$' \\t\\n"=:'
_gpuregress_completion gpuregress 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """\
autoload -Uz compinit; compinit -u -d "$ZDOTDIR/dump"
compadd() { print -rl -- "${completions[@]}" }
eval "$(_GPUREGRESS_COMPLETE=zsh_source gpuregress)"
words=(gpuregress run scale/n=2) CURRENT=3
_gpuregress_completion
"""


def in_shell(shop: Workshop, *command: str) -> list[str]:
    done = subprocess.run(
        command,
        env=environment(shop, ZDOTDIR=str(shop.root / "bin"), HOME=str(shop.root / "bin")),
        cwd=shop.root,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "rror" not in done.stderr, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_a_case_behind_an_equals_sign(shop: Workshop) -> None:
    first, *words = in_shell(shop, "bash", "--norc", "-c", BASH, "bash", "gpuregress run scale/n=2")
    assert "-F _gpuregress_completion gpuregress" in first
    assert words == ["200,tile=8", "200,tile=16"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_completes_a_case(shop: Workshop) -> None:
    words = in_shell(shop, "zsh", "-f", "-c", ZSH)
    assert words == ["scale/n=200,tile=8", "scale/n=200,tile=16"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_completes_a_case(shop: Workshop) -> None:
    script = "_GPUREGRESS_COMPLETE=fish_source gpuregress | source; complete --do-complete 'gpuregress run scale/n=2'"
    words = in_shell(shop, "fish", "--no-config", "-c", script)
    assert [word.partition("\t")[0] for word in words] == ["scale/n=200,tile=8", "scale/n=200,tile=16"]


def test_a_list_that_is_up_to_date_needs_no_plan(shop: Workshop) -> None:
    asked(shop, "gpuregress run sc")
    code = (
        "import os, sys\n"
        "from gpuregress.cli import main\n"
        "try: main(prog_name='gpuregress')\n"
        "except SystemExit: pass\n"
        "slow = {'rich', 'gpuregress.jobs.plan'}\n"
        "print(sorted(slow & set(sys.modules)))"
    )
    variables = {COMPLETION: "bash_complete", "_GPUREGRESS_LINE": "gpuregress run sc"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(shop, **variables),
        cwd=shop.root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert "plain,scale/n=100,tile=8" in done.stdout

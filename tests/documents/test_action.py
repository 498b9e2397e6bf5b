"""`action.yml`: its steps run here as shell, on the fake device; the steps of others (caches, uploads) do not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lab.revisions import git_projects
from tests.workshop import JOB, KERNEL, Workshop, accepted

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")


def value(text: str, inputs: dict[str, str], shop: Workshop) -> str:
    """A text with its expressions, as the runner has it."""

    def one(match: re.Match[str]) -> str:
        for name in match[1].split(" || "):
            section, _, key = name.partition(".")
            known = {"github.workspace": str(shop.root), "github.action_path": str(ROOT)}
            found = inputs[key] if section == "inputs" else known[name]
            if found:
                return found
        return ""

    return EXPRESSION.sub(one, text)


def step(name: str) -> dict[str, Any]:
    (found,) = (step for step in STEPS if step.get("name") == name)
    return found


def run_step(shop: Workshop, name: str, event: str, base: str = "", **given: str) -> tuple[int, str, dict[str, str]]:
    """Run a step: exit code, what it printed, its outputs."""
    inputs = {key: str(facts["default"]) for key, facts in ACTION["inputs"].items()} | given
    tools = shop.root.parent / "tools"
    tools.mkdir(exist_ok=True)
    texts = {
        "gpuregress": f'PYTHONPATH={ROOT} exec {sys.executable} -m tests.fake_main "$@"',
        "python": 'echo python "$@"',
    }
    for tool, command in texts.items():
        (tools / tool).write_text(f"#!/bin/bash\n{command}\n")
        (tools / tool).chmod(0o755)
    output = shop.root.parent / "output"
    output.write_text("")
    found = step(name)
    environment = {
        **os.environ,
        **{key: value(text, inputs, shop) for key, text in found.get("env", {}).items()},
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_NAME": event,
        "GITHUB_BASE_REF": base,
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(shop.root.parent / "summary.md"),
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", value(found["run"], inputs, shop)],
        cwd=shop.root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
    return done.returncode, done.stdout + done.stderr, outputs


@pytest.fixture
def project(fake_shop: Workshop) -> Workshop:
    """Two jobs on a topic branch, one of which it changes."""
    fake_shop.write("gpuregress.yaml", "")
    fake_shop.write(".gitignore", "runs/\ngpuregress.*ml\n.gpuregress-cache/\n__pycache__/\n!gpuregress.yaml\n")
    fake_shop.write("kernels/other.cu", KERNEL)
    fake_shop.write("configs/other.yaml", JOB.replace("scale.cu", "other.cu"))
    accepted(fake_shop)
    git_projects.start(fake_shop.root)
    git_projects.commit(fake_shop.root, "Begin")
    git_projects.git(fake_shop.root, "update-ref", "refs/remotes/origin/main", "HEAD")
    git_projects.git(fake_shop.root, "checkout", "-q", "-b", "topic")
    return fake_shop


def test_a_pull_request_runs_what_it_touches_and_annotates_failures(project: Workshop) -> None:
    code, printed, outputs = run_step(project, "Run the cases", "pull_request", base="main")
    assert (code, "nothing was run" in printed, outputs) == (0, True, {"artifact": "gpuregress"})
    project.write("configs/scale.yaml", JOB.replace("{float32: 2.0}", "{float32: 3.0}"))
    git_projects.commit(project.root, "Change a factor")
    code, printed, outputs = run_step(project, "Run the cases", "pull_request", base="main")
    assert code == 1
    assert "1 case in" in printed
    assert re.search(r"^::error .*scale/n=100", printed, re.MULTILINE)
    assert "scale" in (project.root.parent / "summary.md").read_text()
    assert (project.root / "gpuregress.html").is_file()
    assert (project.root / outputs["folder"] / "verdicts.jsonl").is_file()
    # A whole clone of one branch: git refuses to deepen it.
    git_projects.git(project.root, "clone", "-q", "--bare", ".", "../bare")
    git_projects.git(project.root, "remote", "add", "origin", "../bare")
    git_projects.git(project.root, "update-ref", "-d", "refs/remotes/origin/main")
    code, printed, _ = run_step(project, "Run the cases", "pull_request", base="main")
    assert (code, "1 case in" in printed, "::warning::" in printed) == (1, True, False)
    code, printed, _ = run_step(project, "Run the cases", "pull_request", base="unknown")
    assert "::warning::gpuregress runs all jobs" in printed
    assert "2 cases in" in printed


@pytest.mark.slow  # three runs
def test_a_night_and_a_push_run_all_and_a_shard_its_part(project: Workshop) -> None:
    code, printed, outputs = run_step(project, "Run the cases", "schedule")
    assert (code, "case in" in printed) == (0, False)  # a night is silent
    assert (project.root / outputs["folder"] / "results.json").is_file()
    code, printed, _ = run_step(project, "Run the cases", "push", options="-k scale*")
    assert (code, "1 case in" in printed) == (0, True)
    code, printed, outputs = run_step(project, "Run the cases", "schedule", shard="2/2")
    assert (code, "shard 2 of 2: 1 case in" in printed, outputs["artifact"]) == (0, True, "gpuregress-2-of-2")


def test_the_package_is_that_of_the_action_or_the_one_that_is_named(fake_shop: Workshop) -> None:
    assert run_step(fake_shop, "Install gpuregress", "push")[1] == f"python -m pip install {ROOT}\n"
    printed = run_step(fake_shop, "Install gpuregress", "push", package="gpuregress==9")[1]
    assert printed == "python -m pip install gpuregress==9\n"


def test_what_is_restored_is_saved_and_all_is_done_after_a_failure() -> None:
    restore, save = (step(f"{word} the compilation cache and the history") for word in ("Restore", "Save"))
    assert (restore["with"]["path"], restore["with"]["key"]) == (save["with"]["path"], save["with"]["key"])
    assert save["if"] == step("Upload the page and the results")["if"] == "always()"
    assert {f"inputs.{name}" for name in ACTION["inputs"]} >= set(re.findall(r"inputs\.[a-z-]+", str(STEPS)))

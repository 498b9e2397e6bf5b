"""Files at the root that tools read: they agree with pyproject.toml and with .ci/run."""

from __future__ import annotations

import fnmatch
import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.documents.snippets import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FORMS = sorted(path.name for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")


def load(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text())


def test_the_workflow_runs_every_python_that_is_supported() -> None:
    job = load(".github/workflows/ci.yml")["jobs"]["ci"]
    versions = job["strategy"]["matrix"]["python"]
    prefix = "Programming Language :: Python :: "
    assert [prefix + version for version in versions] == [
        name for name in PROJECT["classifiers"] if name.startswith(prefix + "3.")
    ]
    assert PROJECT["requires-python"] == f">={versions[0]}"
    assert job["steps"][-1] == {"run": ".ci/run"}


def test_the_hooks_before_a_commit_are_the_linters_of_ci() -> None:
    (repository,) = load(".pre-commit-config.yaml")["repos"]
    hooks = {" ".join(hook["entry"].split()[:2]).removesuffix(" --force-exclude") for hook in repository["hooks"]}
    script = (ROOT / ".ci" / "run").read_text()
    commands = [command.strip() for command in re.split(r"&&|[;{}\n]", script)]
    linters = {"ruff check", "ruff format", "mypy", "lint-imports"}
    assert hooks == linters
    assert [linter for linter in linters if not any(command.startswith(linter) for command in commands)] == []


def test_the_source_distribution_takes_every_file_at_the_root() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    manifest = [line.split() for line in (ROOT / "MANIFEST.in").read_text().splitlines() if not line.startswith("#")]
    folders = {words[1] for words in manifest if words[0] == "graft"} | {"gpuregress"}
    files = [word for words in manifest if words[0] == "include" for word in words[1:]]
    # setuptools takes these by itself.
    files += ["LICENSE", "pyproject.toml", "setup.py", "MANIFEST.in"]
    missing = []
    for name in tracked.splitlines():
        folder, inside, _ = name.partition("/")
        if inside and folder not in folders:
            missing.append(name)
        if not inside and not any(fnmatch.fnmatch(name, pattern) for pattern in files):
            missing.append(name)
    assert missing == []


def test_the_citation_has_the_version_and_the_licence_of_the_package() -> None:
    citation = load("CITATION.cff")
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])
    assert [reference["authors"][0]["family-names"] for reference in citation["references"]] == ["Langdon"]


@pytest.mark.parametrize("form", FORMS)
def test_an_issue_form_asks_for_the_doctor(form: str) -> None:
    body = load(f".github/ISSUE_TEMPLATE/{form}")["body"]
    fields = {field["id"]: field["attributes"]["label"] for field in body if field["type"] != "markdown"}
    assert "gpuregress doctor" in fields["doctor"]
    assert len(fields) == sum(field["type"] != "markdown" for field in body)


def test_each_user_of_the_container_has_a_cache(tmp_path: Path) -> None:
    lines = (ROOT / "Dockerfile").read_text().replace("\\\n", "").splitlines()
    (entry,) = [line.removeprefix("ENTRYPOINT ") for line in lines if line.startswith("ENTRYPOINT ")]
    for name, body in (("id", "echo 1234"), ("gpuregress", 'echo "$GPUREGRESS_CACHE" "$#" "$2"')):
        script = tmp_path / name
        script.write_text(f"#!/bin/sh\n{body}\n")
        script.chmod(0o755)
    for given, cache in (({}, "/var/cache/gpuregress/1234"), ({"GPUREGRESS_CACHE": "/c"}, "/c")):
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", **given}
        command = [*json.loads(entry), "run", "a b"]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        assert done.stdout == f"{cache} 2 a b\n"

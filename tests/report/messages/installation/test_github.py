from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuregress.gpu.records import replace
from gpuregress.report.messages.installation import services
from tests.report.messages.installation.nights import AWKWARD, NIGHT, in_folder


def job(text: str) -> Any:
    document = yaml.safe_load(text)
    assert document[True] == {"schedule": [{"cron": "0 2 * * *"}], "workflow_dispatch": None}  # `on` is a boolean
    return document["jobs"]["nightly"]


@pytest.mark.parametrize("name", AWKWARD)
def test_the_workflow_is_yaml_in_any_folder(tmp_path: Path, name: str) -> None:
    night = in_folder(tmp_path / name, repository=tmp_path)
    read = job(services.workflow(night))
    escaped = name.replace("${{", "${{ '${{' }}")
    assert read["defaults"]["run"]["working-directory"] == escaped
    assert "gpuregress nightly -k 'a*b c' --device cpu --html gpuregress.html" in [
        step.get("run") for step in read["steps"]
    ]


def test_secrets_are_those_of_the_repository() -> None:
    text = services.workflow(replace(NIGHT, secrets=("PING_KEY", "CHAT_URL")))
    assert job(text)["env"]["PING_KEY"] == "${{ secrets.PING_KEY }}"
    assert "set the secrets PING_KEY, CHAT_URL" in " ".join(
        services.github_plan(replace(NIGHT, secrets=("PING_KEY", "CHAT_URL"))).todo
    )


def test_what_a_failed_night_left_is_saved() -> None:
    steps = job(services.workflow(NIGHT))["steps"]
    after = steps[[step.get("run", "").startswith("gpuregress") for step in steps].index(True) + 1 :]
    assert [step["uses"].partition("@")[0] for step in after] == ["actions/cache/save", "actions/upload-artifact"]
    assert {step["if"] for step in after} == {"always()"}
    assert services.github_plan(NIGHT).files[0].path == Path("/srv/kernels/.github/workflows/gpuregress-nightly.yml")

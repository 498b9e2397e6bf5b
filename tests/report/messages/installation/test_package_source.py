"""The installation line of a CI server's file, by the record that pip left of the installation here (PEP 610)."""

from __future__ import annotations

import importlib.metadata
import json
import types
from typing import Any

import pytest
import yaml

from gpuregress import __version__
from tests.workshop import Workshop

COMMIT = "0f" * 20
GIT = {"url": "https://host.example/g.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}}


def installed(patch: pytest.MonkeyPatch, text: str | None) -> None:
    found = types.SimpleNamespace(read_text=lambda _name: text)
    patch.setattr(importlib.metadata, "distribution", lambda _name: found)


def line(shop: Workshop, scheduler: str, *more: str) -> str:
    done = shop.call("nightly", "--install", scheduler, *more)
    assert done.exit_code == 0, done.output
    document: Any = yaml.safe_load(done.stdout)
    lines = document["gpuregress-nightly"]["script"] if scheduler == "gitlab" else []
    if scheduler == "github":
        lines = [step.get("run", "") for step in document["jobs"]["nightly"]["steps"]]
    (found,) = (text for text in lines if " pip install " in text)
    return str(found)


@pytest.mark.parametrize("scheduler", ["github", "gitlab"])
@pytest.mark.parametrize(
    ("origin", "package"),
    [
        (None, f"gpuregress=={__version__}"),
        (GIT, f"git+https://host.example/g.git@{COMMIT}"),
        ({**GIT, "subdirectory": "py"}, f"'git+https://host.example/g.git@{COMMIT}#subdirectory=py'"),
        ({"url": "https://host.example/g-1.whl", "archive_info": {}}, "'gpuregress @ https://host.example/g-1.whl'"),
    ],
)
def test_a_server_installs_what_was_installed_here(
    fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch, scheduler: str, origin: dict[str, Any] | None, package: str
) -> None:
    installed(monkeypatch, None if origin is None else json.dumps(origin))
    assert line(fake_shop, scheduler) == f"python -m pip install {package}"


def test_a_wheel_of_the_repository_is_named_from_where_the_line_runs(
    fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    (fake_shop.root / ".git").mkdir()
    wheel = fake_shop.write("wheels/g 1.whl", "")
    installed(monkeypatch, json.dumps({"url": wheel.as_uri(), "archive_info": {}}))
    inner = Workshop(fake_shop.root / "inner")
    inner.write("configs/a.yaml", "")
    inner.write("gpuregress.yaml", "")
    assert line(inner, "github") == "python -m pip install './../wheels/g 1.whl'"
    assert line(inner, "gitlab") == "python -m pip install './wheels/g 1.whl'"


@pytest.mark.parametrize("text", [json.dumps({"url": "file:///elsewhere", "dir_info": {"editable": True}}), "{", "[1]"])
def test_what_a_server_cannot_install_is_asked_for(
    fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    installed(monkeypatch, text)
    assert "name with --from what pip installs there" in fake_shop.fails(2, "nightly", "--install", "github")
    assert line(fake_shop, "github", "--from", "gpuregress==9") == "python -m pip install gpuregress==9"
    assert fake_shop.call("nightly", "--install", "cron").exit_code == 0
    assert "--from is for CI servers" in fake_shop.fails(2, "nightly", "--install", "cron", "--from", "x")

"""What the documents at the root say is there, is there; and the README's job is the one that runs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from gpuregress import project
from gpuregress.cli import COMMANDS
from gpuregress.errors import JobErrors
from gpuregress.spec import reference
from gpuregress.spec.examples import SETTINGS_EXAMPLE

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    str(path.relative_to(ROOT)) for folder in (".", "docs", "configs/data") for path in (ROOT / folder).glob("*.md")
)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_relative_links_lead_somewhere(document: str) -> None:
    text = (ROOT / document).read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert [link for link in links if not (ROOT / document).parent.joinpath(link).exists()] == []


def test_the_readme_shows_the_first_job_as_it_is() -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    shown, job = yaml.safe_load(block), yaml.safe_load((ROOT / "configs" / "vector_add.yaml").read_text())
    assert shown == {key: job[key] for key in shown}
    assert {"source", "parameters", "buffers", "launches"} <= set(shown)


def test_the_readme_has_its_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert re.search(r"<!-- run -->\n\n {4}python3 -m venv .*gpuregress run\n", text)
    assert re.search(r"<!-- tests -->\n\n {4}python3 -m venv .*pytest", text)


def test_every_kernel_has_a_job() -> None:
    jobs = [yaml.safe_load(path.read_text()) for path in (ROOT / "configs").rglob("*.yaml")]
    used = {Path(job["source"]).name for job in jobs}
    assert {path.name for path in (ROOT / "kernels").glob("*.cu")} == used


@pytest.mark.parametrize("document", ["CHANGELOG.md", "docs/contract.md"])
def test_every_command_is_documented(document: str) -> None:
    text = (ROOT / document).read_text()
    assert [name for name in COMMANDS if not re.search(rf"`(gpuregress )?{name}\b", text)] == []


def test_the_architecture_names_every_room_and_none_that_is_not_there() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    drawn = set(re.findall(r"^ {6}(\w+)(?:/|\.py)\s", text, re.MULTILINE)) - {"conformance"}
    there = {path.stem for path in (ROOT / "gpuregress").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert drawn == {name for name in there if not name.startswith("__")}


def test_every_dependency_has_its_reason() -> None:
    text = (ROOT / "docs/architecture.md").read_text().lower()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["cuda"]]
    names = [re.split(r"[=<>;\[ ]", one)[0].lower() for one in wanted]
    # The table shortens NVIDIA's packages of one family: nvidia-cuda-nvrtc, -runtime, -crt, -cccl.
    assert [name for name in names if name not in text and f"-{name.rpartition('-')[2]}" not in text] == []


def test_the_reference_of_keys_is_what_the_models_say() -> None:
    """It is made anew by `gpuregress schema --markdown > docs/job-reference.md`."""
    assert (ROOT / "docs/job-reference.md").read_text() == reference.markdown()


def test_the_settings_of_the_contract_are_understood(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "contract.md").read_text()
    (block,) = [one for one in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if one.startswith("folders:")]
    (tmp_path / "gpuregress.yaml").write_text(block.replace("runs: runs", "runs: elsewhere"))
    found = project.find(tmp_path)
    assert found.runs == tmp_path / "elsewhere"
    assert found.settings.compare["float32"].rtol == 1e-6
    assert (found.settings.timeout, found.settings.memory, found.settings.keep_runs) == (30.0, 4 << 30, 30)


def test_every_setting_is_in_the_reference_and_is_understood(tmp_path: Path) -> None:
    (tmp_path / "gpuregress.yaml").write_text(SETTINGS_EXAMPLE)
    found = project.find(tmp_path)
    assert (found.settings.timeout, found.settings.memory) == (30.0, 4 << 30)
    (tmp_path / "gpuregress.yaml").write_text("x: 1\nfolders: {x: 1}\nlimits: {x: 1}\nretention: {x: 1}\n")
    with pytest.raises(JobErrors) as caught:
        project.find(tmp_path)
    offered = re.findall(r"the keys are: (.*)", str(caught.value))
    names = {name for line in offered for name in line.split(", ")}
    assert names <= {part for key in project.KEYS for part in key.split(".")}
    assert len(offered) == 4

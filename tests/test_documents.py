"""What the documents at the root say is there, is there; and the README's job is the one that runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "configs/data/README.md")


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

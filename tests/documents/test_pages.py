"""Claims of the documents about this repository: links, commands, modules, dependencies, lengths of lines."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from gpuregress.cli import COMMANDS, DOCUMENTATION
from gpuregress.foundation.errors import ExitCode, JobErrors
from gpuregress.jobs.spec import key_reference
from gpuregress.jobs.spec.key_reference import SETTINGS_EXAMPLE
from gpuregress.judge.verdict import EXIT_PRECEDENCE
from gpuregress.store import project
from tests.documents import generated
from tests.documents.snippets import PAGES, ROOT, Step, steps

DOCUMENTS = sorted(
    {
        *PAGES,
        *(
            str(path.relative_to(ROOT))
            for folder in (".", "configs/data", ".github")
            for path in (ROOT / folder).glob("*.md")
        ),
    }
)


def test_the_pages_of_every_folder_are_tested() -> None:
    folders = [str(Path(page).parent) for page in PAGES]
    assert {"docs/tutorials", "docs/how-to", "docs/reference", "docs/explanation", "docs/contributing"} <= set(folders)
    assert len(PAGES) > 60


EXIT_CODES = [code for name, code in vars(ExitCode).items() if name.isupper()]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_relative_links_lead_somewhere(document: str) -> None:
    text = (ROOT / document).read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert [link for link in links if not (ROOT / document).parent.joinpath(link).exists()] == []


def test_the_readme_shows_the_first_job_as_it_is() -> None:
    block = next(step.text for step in steps("README.md") if step.kind == "yaml")
    shown, job = yaml.safe_load(block), yaml.safe_load((ROOT / "configs" / "vector_add.yaml").read_text())
    assert shown == {key: job[key] for key in shown}
    assert {"source", "parameters", "buffers", "launches"} <= set(shown)


def test_the_readme_has_its_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert re.search(r"<!-- run -->\n\n {4}python3 -m venv .*gpuregress run\n", text)
    assert re.search(r"<!-- tests -->\n\n {4}python3 -m venv .*pytest", text)


def test_the_table_of_exit_codes_has_every_code() -> None:
    table, order = (
        (ROOT / "docs/reference/exit-codes.md").read_text().partition("## Exit codes")[2].split("Code 4 covers", 1)
    )
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)] == EXIT_CODES
    (codes,) = re.findall(r"the first in this order is used: ([\d, ]+)\.", order)
    assert [int(code) for code in codes.split(", ")] == list(EXIT_PRECEDENCE)


def test_every_kernel_has_a_job() -> None:
    jobs = [yaml.safe_load(path.read_text()) for path in (ROOT / "configs").rglob("*.yaml")]
    used = {Path(job["source"]).name for job in jobs if isinstance(job["source"], str)}
    assert {path.name for path in (ROOT / "kernels").glob("*.cu")} == {name for name in used if name.endswith(".cu")}
    assert all((ROOT / "kernels/include" / name).is_file() for name in used if name.endswith(".cuh"))


@pytest.mark.parametrize("document", ["CHANGELOG.md", "docs/contract.md", "docs/reference/commands.md"])
def test_every_command_is_documented(document: str) -> None:
    text = (ROOT / document).read_text()
    assert [name for name in COMMANDS if not re.search(rf"`(gpuregress )?{name}\b", text)] == []


@pytest.mark.parametrize("context", generated.contexts(), ids=COMMANDS)
def test_a_command_has_its_options_in_the_reference_and_its_manual_page(context: click.Context) -> None:
    """`python -m tests.documents.generated` writes both. The rest of them is as click formats it."""
    name = context.info_name
    text = (ROOT / "docs/reference/commands.md").read_text()
    (section,) = re.findall(rf"^## {name}$(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    rows = section.partition(f"<!-- options: {name} -->\n")[2].partition("<!-- end -->")[0]
    manual = (generated.SHARE / "man" / "man1" / f"gpuregress-{name}.1").read_text()
    options = [option for option in context.command.params if isinstance(option, click.Option)]
    assert rows.count("\n") - 2 == manual.count("\n.TP\n") == len(options)
    for option in options:
        first = " ".join((option.help or "").split())
        assert first.replace("|", r"\|") in rows
        assert generated.roff(first) in " ".join(manual.split())
        assert any(f"`{spelling}" in rows or f", {spelling}" in rows for spelling in option.opts)
    entry = COMMANDS[str(name)]
    assert f"| [`gpuregress {name}`](#{name}) | {entry.summary} |" in text
    assert (ROOT / "docs" / f"{entry.page}.md").is_file()


def test_every_help_has_an_example_and_says_where_to_read_on() -> None:
    for context in generated.contexts():
        epilog = context.command.epilog or ""
        assert re.match(r"Examples?: gpuregress ", epilog)
        assert f"More: {DOCUMENTATION}/{COMMANDS[str(context.info_name)].page}.md" in epilog


def test_the_addresses_of_the_help_are_those_of_the_project() -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    assert urls["Documentation"] == f"{DOCUMENTATION}/index.md"


@pytest.mark.parametrize("name", sorted(generated.completions()))
def test_the_installed_completion_is_that_of_the_program(name: str) -> None:
    expected = {line for line in generated.completions()[name].splitlines() if "gpuregress" in line.lower()}
    assert expected <= set((generated.SHARE / name).read_text().splitlines())


def test_the_architecture_names_every_room_and_none_that_is_not_there() -> None:
    text = (ROOT / "docs/contributing/architecture.md").read_text()
    drawn = set(re.findall(r"^ {6}(\w+)(?:/|\.py)\s", text, re.MULTILINE)) - {"conformance"}
    there = {path.stem for path in (ROOT / "gpuregress").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert drawn == {name for name in there if not name.startswith("__")}


def test_every_dependency_has_its_reason() -> None:
    text = (ROOT / "docs/contributing/architecture.md").read_text().lower()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["cuda"]]
    names = [re.split(r"[=<>;\[ ]", one)[0].lower() for one in wanted]
    # The table shortens NVIDIA's packages of one family: nvidia-cuda-nvrtc, -runtime, -crt, -cccl.
    assert [name for name in names if name not in text and f"-{name.rpartition('-')[2]}" not in text] == []


def test_the_reference_of_keys_is_what_the_models_say() -> None:
    """It is made anew by `gpuregress schema --markdown > docs/reference/job-keys.md`."""
    assert (ROOT / "docs/reference/job-keys.md").read_text() == key_reference.markdown()


def test_the_settings_of_the_page_are_understood(tmp_path: Path) -> None:
    (block,) = [step.text for step in steps("docs/reference/project.md") if step.kind == "yaml"]
    (tmp_path / "gpuregress.yaml").write_text(block.replace("runs: runs", "runs: elsewhere"))
    found = project.find(tmp_path)
    assert found.runs == tmp_path / "elsewhere"
    settings = found.settings
    assert settings.tolerances["float32"].rtol == 1e-6
    assert (settings.limits.timeout, settings.limits.memory, settings.retention.runs) == (30.0, 4 << 30, 30)


def test_every_setting_is_in_the_reference_and_is_understood(tmp_path: Path) -> None:
    (tmp_path / "gpuregress.yaml").write_text(SETTINGS_EXAMPLE)
    limits = project.find(tmp_path).settings.limits
    assert (limits.timeout, limits.memory) == (30.0, 4 << 30)
    (tmp_path / "gpuregress.yaml").write_text("x: 1\nfolders: {x: 1}\nlimits: {x: 1}\nretention: {x: 1}\n")
    with pytest.raises(JobErrors) as caught:
        project.find(tmp_path)
    offered = re.findall(r"the keys are: (.*)", str(caught.value))
    names = {name for line in offered for name in line.split(", ")}
    page = (ROOT / "docs/reference/job-keys.md").read_text().partition("## Settings")[2]
    assert names <= {part for key in re.findall(r"^\| `([\w.]+)` \|", page, re.MULTILINE) for part in key.split(".")}
    assert len(offered) == 4


def anchors(document: str) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", (ROOT / document).read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", PAGES)
def test_links_to_a_heading_lead_to_one(document: str) -> None:
    text = (ROOT / document).read_text()
    links = re.findall(r"\]\((?![a-z]+://)([^)#]*)#([^)]+)\)", text)
    here = (ROOT / document).parent
    targets = [((here / page).resolve().relative_to(ROOT) if page else document, anchor) for page, anchor in links]
    assert [(page, anchor) for page, anchor in targets if anchor not in anchors(str(page))] == []


def prose(document: str) -> str:
    """The text of a page without its code."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / document).read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`]*`", "", text)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_by_name_are_defined_and_html_leads_somewhere(document: str) -> None:
    text = prose(document)
    names = {name.lower() for name in re.findall(r"^\[([^\]]+)\]: ", text, re.MULTILINE)}
    used = [name or shown for shown, name in re.findall(r"\[([^\[\]]+)\]\[([^\[\]]*)\]", text)]
    assert [name for name in used if " ".join(name.lower().split()) not in names] == []
    targets = re.findall(r"(?:href|src|srcset)=\"([^\"]+)\"", text)
    assert [target for target in targets if not (ROOT / document).parent.joinpath(target).exists()] == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = {"README.md"}, ["README.md"]
    while waiting:
        page = waiting.pop()
        for link in re.findall(r"\]\(([^)#]+\.md)", (ROOT / page).read_text()):
            target = str((ROOT / page).parent.joinpath(link).resolve().relative_to(ROOT))
            if target in PAGES and target not in reached:
                reached.add(target)
                waiting.append(target)
    assert sorted(reached) == PAGES


TABLES = (
    "docs/reference/job-keys.md",
    "docs/reference/cpu-instructions.md",
    "docs/explanation/founding-texts.md",
    "docs/contributing/evidence.md",
)
"""Pages that are written by a program, and are as wide as it writes them."""


@pytest.mark.parametrize("document", sorted({*PAGES, "CONTRIBUTING.md", "SECURITY.md"} - {*TABLES}))
def test_no_line_is_longer_than_100_characters(document: str) -> None:
    lines = dict(enumerate((ROOT / document).read_text().splitlines(), 1))
    if document != "README.md":
        for step in steps(document):
            # What a command prints is as long as it is, and so are files to copy.
            if step.kind == "console" or "--install" in step.argument:
                for number in range(step.line, step.line + step.text.count("\n") + 1):
                    del lines[number]
    assert {number: line for number, line in lines.items() if len(line) > 100 and not line.startswith("| ")} == {}


POINTS = {
    "docs/how-to/from-kernel-tuner.md": (1, 17),
    "docs/explanation/best-practices.md": (18, 39),
    "docs/explanation/langdon.md": (40, 69),
}
"""The first and the last point of the founding texts that a page shows."""


def test_the_founding_texts_are_69_points_each_with_its_lines_and_test() -> None:
    text = (ROOT / "docs/explanation/founding-texts.md").read_text()
    rows = re.findall(r"^\| (\d+) \| (.+) \| (.+) \| `(tests/[\w/]+\.py)` \|$", text, re.MULTILINE)
    assert [int(number) for number, *_ in rows] == list(range(1, 70))
    assert [row for row in rows if not (ROOT / row[3]).is_file()] == []


@pytest.mark.parametrize("page", POINTS)
def test_every_point_is_shown_on_its_page(page: str) -> None:
    first, last = POINTS[page]
    text = (ROOT / page).read_text()
    shown = {int(number) for group in re.findall(r"\((\d+(?:, \d+)*)\)|# (\d+(?:, \d+)*)(?::|$)", text, re.MULTILINE)
             for number in re.findall(r"\d+", "".join(group))}  # fmt: skip
    assert {*range(first, last + 1)} - shown == set()


@pytest.mark.parametrize(("document", "most"), [("README.md", 100), ("CHANGELOG.md", 70)])
def test_what_a_stranger_reads_first_is_short(document: str, most: int) -> None:
    """The changelog says what users gain; the pages say how it works."""
    assert len((ROOT / document).read_text().splitlines()) <= most


@pytest.mark.parametrize("document", PAGES)
def test_source_files_that_a_page_names_exist(document: str) -> None:
    names = re.findall(r"`([\w/]+/\w+\.py)`", (ROOT / document).read_text())
    roots = [ROOT, ROOT / "gpuregress", ROOT / "gpuregress" / "virtual_gpu"]
    assert [name for name in names if not any((root / name).exists() for root in roots)] == []


def test_the_glossary_names_modules_that_exist() -> None:
    entries = re.findall(r"^- \*\*(.+?)\*\*: (.*?)(?=^- |^#|\Z)", GLOSSARY, re.MULTILINE | re.DOTALL)
    assert len(entries) == GLOSSARY.count("\n- ")
    modules = {term: re.findall(r"`([\w/]+(?:/|\.py))`", text) for term, text in entries}
    assert [term for term, names in modules.items() if not names] == []
    assert [name for names in modules.values() for name in names if not (ROOT / "gpuregress" / name).exists()] == []
    terms = [term.lower() for term, _ in entries]
    assert terms == sorted(set(terms))


GLOSSARY = (ROOT / "docs" / "contributing" / "glossary.md").read_text()


def skipped(page: str) -> list[Step]:
    return [step for step in steps(page) if step.kind == "skipped"]


def test_few_blocks_are_excepted_from_execution() -> None:
    """Each needs something that a test does not have; a new one needs its reason here, too."""
    excepted = {page: len(skipped(page)) for page in PAGES if skipped(page)}
    assert excepted == {
        "docs/how-to/ci.md": 7,
        "docs/how-to/cpp-programs.md": 2,
        "docs/how-to/install.md": 2,
        "docs/how-to/gpu.md": 1,
        "docs/tutorials/capture.md": 2,
        "docs/tutorials/programs.md": 1,
        "README.md": 1,
    }

"""The files of `--report`, `--json`, `--junit` and `--html`."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import pytest

from gpuregress.report import formats
from tests.workshop import RUN, Workshop


def test_json_on_stdout_is_nothing_but_json(fake_shop: Workshop) -> None:
    result = fake_shop.call(*RUN, "--json", "-")
    assert json.loads(result.stdout)["version"] == 1
    assert "scale/n=100" in result.stderr


def test_junit_has_a_suite_a_job_and_a_case_a_case(fake_shop: Workshop) -> None:
    fake_shop.job(("n: [100]", "n: [100, 200]"))
    target = fake_shop.root / "junit.xml"
    fake_shop.call(*RUN, "--junit", str(target))
    root = ET.parse(target).getroot()
    (suite,) = root.iter("testsuite")
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("scale", "2", "2")
    assert [case.get("name") for case in suite.iter("testcase")] == ["scale/n=100", "scale/n=200"]


def test_html_stands_alone(fake_shop: Workshop) -> None:
    target = fake_shop.root / "page.html"
    fake_shop.call(*RUN, "--html", str(target))
    page = target.read_text()
    assert "scale/n=100" in page
    assert not re.search(r"https?://|<script src|<link", page)
    again = fake_shop.call("report")
    assert again.exit_code == 0
    assert "scale/n=100" in again.stdout


def test_every_format_is_written_and_told_again(fake_shop: Workshop) -> None:
    folder = fake_shop.root / "reports"
    options = [word for name in formats.FORMATS for word in ("--report", f"{name}={folder / name}")]
    assert fake_shop.call(*RUN, *options).exit_code == 1
    texts = {name: (folder / name).read_text() for name in formats.FORMATS}
    silent = [name for name, text in texts.items() if "no baseline yet" not in text]
    assert silent == ["lcov"]  # it has lines and how often they ran, and no verdicts
    assert fake_shop.call("report", *options).exit_code == 0
    assert {name: (folder / name).read_text() for name in formats.FORMATS} == texts


def test_a_report_on_stdout_is_alone_there(fake_shop: Workshop) -> None:
    printed = fake_shop.call(*RUN, "--report", "tap=-")
    assert printed.stdout.startswith("TAP version 14\n1..1\nnot ok 1 - scale/n=100\n")
    assert "scale/n=100" in printed.stderr


@pytest.mark.parametrize("name", formats.FORMATS)
def test_a_report_of_an_earlier_run_does_not_remain(fake_shop: Workshop, name: str) -> None:
    target = fake_shop.root / "report"
    target.write_text("green")
    fake_shop.fails(2, *RUN, "--report", f"{name}={target}", "--nonsense")
    assert "No such option" in target.read_text()
    target.write_text("green")
    fake_shop.fails(5, *RUN, f"--report={name}={target}", "-k", "nobody")
    assert "no case is left" in target.read_text()


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ("sarf=x", "'sarf' is not a format; expected FORMAT=FILE, with codequality, github"),
        ("sarif", "no file: expected sarif=FILE"),
        ("sarif=", "it is empty"),
        ("sarif=configs", "configs is a folder"),
    ],
)
def test_a_report_without_format_or_file_is_refused(
    fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch, value: str, printed: str
) -> None:
    monkeypatch.chdir(fake_shop.root)
    assert printed in fake_shop.fails(2, *RUN, "--report", value)


def test_two_reports_cannot_share_a_file(fake_shop: Workshop) -> None:
    message = fake_shop.fails(2, *RUN, "--report", "tap=-", "--junit", "-")
    assert "--junit and --report tap cannot both go to stdout" in message

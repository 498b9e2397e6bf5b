"""The files of `--json`, `--junit` and `--html`."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

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
    assert not re.search(r"https?://|<script|<link", page)
    again = fake_shop.call("report")
    assert again.exit_code == 0
    assert "scale/n=100" in again.stdout

"""`gpuregress report`: a run told again, as a page or as JSON."""

from __future__ import annotations

import json

from tests.workshop import RUN, Workshop, change


def test_a_run_is_told_again_as_json_and_as_a_page(fake_shop: Workshop) -> None:
    fake_shop.call(*RUN)
    document = json.loads(fake_shop.call("report", "--json").stdout)
    assert [case["verdict"] for case in document["cases"]] == ["new"]
    page = fake_shop.root / "page.html"
    assert fake_shop.call("report", "-o", str(page)).exit_code == 0
    assert "scale/n=100" in page.read_text()


def test_an_earlier_run_is_told_by_its_name(fake_shop: Workshop) -> None:
    fake_shop.call(*RUN)
    first = (fake_shop.root / "runs/latest").resolve().name
    change(fake_shop)
    fake_shop.call(*RUN)
    assert json.loads(fake_shop.call("report", first, "--json").stdout)["run"] == first

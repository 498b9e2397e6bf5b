"""`gpuregress list`: the cases and what is accepted."""

from __future__ import annotations

import json

from tests.workshop import Workshop, accepted


def test_list_names_baselines_without_a_case(fake_shop: Workshop) -> None:
    fake_shop.job(("n: [100]", "n: [100, 200]"))
    accepted(fake_shop)
    fake_shop.job()
    assert "the baseline scale/n=200 has no case any more" in fake_shop.call("list").stderr
    assert "no case any more" not in fake_shop.call("list", "scale").stderr


def test_cases_are_listed_with_the_revision_of_their_baseline(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    (entry,) = json.loads(fake_shop.call("list", "--json").stdout)
    assert (entry["case"], entry["revision"], entry["baseline_revision"]) == ("scale/n=100", "1.4", "1.4")
    assert "scale/n=100" in fake_shop.call("list").stdout
    assert "no case" in fake_shop.fails(5, "list", "-k", "other*")
    fake_shop.job(name="second")
    fake_shop.job(name="third")
    both = json.loads(fake_shop.call("list", "--json", "-k", "scale/*", "-k", "third*").stdout)
    assert [entry["job"] for entry in both] == ["scale", "third"]


def test_a_known_failure_is_listed_with_its_day(fake_shop: Workshop) -> None:
    fake_shop.job(("launches:", "known_failing: {until: 2099-12-24, why: the card}\nlaunches:"))
    assert "known failing until 2099-12-24" in fake_shop.call("list").stdout
    (entry,) = json.loads(fake_shop.call("list", "--json").stdout)
    assert entry["known_failing"] == "2099-12-24"

"""`gpuregress diff` on one screen: what, how many, the worst, what it looks like, where, side by side."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.workshop import RUN, Workshop, accepted, change


def dump(shop: Workshop, name: str, values: list[float], shape: str) -> Path:
    return shop.write(name, f"# gpuregress 1 float32 [{shape}]\n" + "".join(f"{value}\n" for value in values))


@pytest.fixture
def before(shop: Workshop) -> Path:
    return dump(shop, "x.1", [float(value) for value in range(1000)], "1000")


def test_the_screen(shop: Workshop, before: Path) -> None:
    values = [float(value) for value in range(1000)]
    values[500:510] = [value + 4.0 for value in values[500:510]]
    after = dump(shop, "x.2", values, "1000")
    result = shop.call("diff", "--raw", str(before), str(after))
    assert result.exit_code == 1
    out = result.stdout
    assert len(out.splitlines()) <= 24
    assert "x.2: 10 of 1000 differ" in out
    assert "in order   the bits of 10 of 1000 differ" in out
    assert "any order  other values, too" in out
    assert re.search(r"^ +looks like ", out, re.MULTILINE)
    assert "all 10 differing elements are off by +4" in out
    assert re.search(r"^ +·+█+·+$", out, re.MULTILINE)
    assert re.search(r"^ +element +x\.1 +x\.2 +absolute +relative +ulp$", out, re.MULTILINE)
    assert re.search(r"^ +\[500\] +500\.0 +504\.0 +4 ", out, re.MULTILINE)
    assert "… and 2 more" in out


def test_the_same_values_in_other_places_are_told(shop: Workshop, before: Path) -> None:
    after = dump(shop, "x.2", [float(value) for value in reversed(range(1000))], "1000")
    assert "any order  the same values, in other places" in shop.call("diff", "--raw", str(before), str(after)).stdout


def test_the_strip_is_as_wide_as_the_screen(shop: Workshop, before: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    after = dump(shop, "x.2", [0.0] * 1000, "1000")
    monkeypatch.setenv("COLUMNS", "60")
    out = shop.call("diff", "--raw", str(before), str(after)).stdout
    (strip,) = re.findall(r"^ +([·▁▂▃▄▅▆▇█]+)$", out, re.MULTILINE)
    assert len(strip) == 56


def test_two_dimensions_are_a_map_and_json_has_all_of_it(shop: Workshop) -> None:
    values = [1.0] * 1024
    first = dump(shop, "m.1", values, "32,32")
    values[8 * 32 + 8] = 2.0
    second = dump(shop, "m.2", values, "32,32")
    out = shop.call("diff", "--raw", str(first), str(second)).stdout
    rows = re.findall(r"^ +([·█]{32})$", out, re.MULTILINE)
    assert len(rows) == 12
    assert [row.count("█") for row in rows] == [0] * 3 + [1] + [0] * 8
    document = json.loads(shop.call("diff", "--raw", "--json", str(first), str(second)).stdout)
    (comparison,) = document["cases"][0]["buffers"][0]["comparisons"]
    assert comparison["numbers"]["picture"]["heat_map"]["shape"] == [12, 32]
    assert (comparison["differing"], comparison["multiset_same"]) == (1, False)


def test_what_is_the_same_takes_a_line(shop: Workshop, before: Path) -> None:
    assert "x.1: every bit of 1000 elements the same" in shop.call("diff", "--raw", str(before), str(before)).stdout


def test_of_many_cases_with_one_of_the_two_revisions_a_few_are_named(shop: Workshop) -> None:
    shop.job(("n: [100]", f"n: {list(range(1, 31))}"))
    text = "# gpuregress 1 float32 [1]\n1.0\n"
    for number in range(1, 31):
        shop.write(f"baselines/scale/n={number}/out.1", text)
    shop.write("baselines/scale/n=1/out.2", text)
    lines = shop.call("diff", "1", "2").stderr.splitlines()
    assert len(lines) == 9
    assert lines[-1] == "note: and 21 more of this kind, which --json lists"
    assert len(json.loads(shop.call("diff", "1", "2", "--json").stdout)["notes"]) == 29


def test_diff_of_two_revisions_under_the_rules_and_raw(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    change(fake_shop, factor="2.000001")
    fake_shop.call(*RUN)
    assert fake_shop.call("diff", "1.4", "1.5").exit_code == 1
    fake_shop.write(
        "configs/scale.yaml", (fake_shop.root / "configs/scale.yaml").read_text() + "compare: {out: {rtol: 1.0e-5}}\n"
    )
    assert fake_shop.call("diff", "1.4", "1.5").exit_code == 0
    raw = fake_shop.call("diff", "--raw", "--json", "1.4", "1.5")
    assert raw.exit_code == 1
    assert json.loads(raw.stdout)["cases"][0]["buffers"][0]["of"] == 100
    assert "1.4" in fake_shop.fails(5, "diff", "1.4", "9.9")


def test_diff_of_two_files(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    dump = fake_shop.root / "baselines/scale/n=100/out.1.4"
    other = fake_shop.write("other", dump.read_text().replace("\n2.0\n", "\n2.5\n"))
    assert fake_shop.call("diff", "--raw", str(dump), str(dump)).exit_code == 0
    assert "1 of 100" in fake_shop.call("diff", "--raw", str(dump), str(other)).stdout

"""Each pattern is found where a real kernel has the bug, run on the CPU device; and none where there is no pattern."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.diagnose.kernel_bugs import BUGS, Bug
from tests.workshop import Workshop

ROOT = Path(__file__).parents[2]
RUN = ("run", "--device", "cpu", "--jobs", "1")


def source(bug: Bug) -> str:
    return bug.top + (ROOT / "kernels" / f"{bug.kernel}.cu").read_text()


def planted(bug: Bug) -> str:
    text = source(bug)
    assert text.count(bug.right) >= 1, f"{bug.name}: {bug.right!r} is not in {bug.kernel}.cu"
    return text.replace(bug.right, bug.wrong)


def write(shop: Workshop, bug: Bug, name: str, text: str) -> None:
    """Write a bug's source and the job that runs it."""
    shop.write(f"kernels/{name}.cu", text)
    head = f"source: ../kernels/{name}.cu\ncompile: {{include: [{ROOT / 'kernels/include'}]}}\n"
    shop.write(f"configs/{bug.name}.yaml", head + bug.job)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The verdicts on all broken kernels against what the right ones left, by job."""
    shop = Workshop(tmp_path_factory.mktemp("bugs"))
    for bug in BUGS:  # those of one kernel share its right source, which is compiled once
        write(shop, bug, bug.name if bug.top else bug.kernel, source(bug))
    fixed = shop.call(*RUN)
    assert fixed.exit_code == 1, fixed.output
    assert shop.call("accept").exit_code == 0
    assert shop.call(*RUN).exit_code == 0
    for bug in BUGS:
        write(shop, bug, f"planted_{bug.name}", planted(bug))
    broken = shop.call(*RUN)
    assert broken.exit_code == 1, broken.output
    document = json.loads((shop.root / "runs/latest/results.json").read_text())
    return {case["job"]: case for case in document["cases"]}


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_what_the_bug_looks_like(ran: dict[str, dict[str, Any]], bug: Bug) -> None:
    case = ran[bug.name]
    assert case["verdict"] == "differ"
    (buffer,) = case["buffers"]
    (comparison,) = [one for one in buffer["comparisons"] if one["against"] == "baseline"]
    actual = [(finding["pattern"], finding["message"]) for finding in comparison["findings"]]
    if not bug.pattern:
        assert actual == []
        return
    message = actual[0][1] if bug.first else dict(actual).get(bug.pattern, "")
    assert bug.pattern == (actual[0][0] if bug.first else bug.pattern), actual
    for words in bug.words:
        assert words in message, actual


def test_every_pattern_of_the_list_is_planted() -> None:
    planted = {bug.pattern for bug in BUGS}
    assert planted >= {
        "never written",
        "tail",
        "blocks",
        "lane",
        "stride",
        "shift",
        "factor",
        "offset",
        "sign",
        "permutation",
        "zeros",
        "bit",
        "wrap-around",
        "rounding",
        "tile",
        "nan",
        "byte order",
        "precision",
        "loop count",
    }

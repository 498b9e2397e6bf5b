"""Each pattern is found where a real kernel has the bug, run on the CPU device; and none where there is no pattern."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.judge.diagnose.kernel_bugs import BUGS, FLOATS, Bug
from tests.workshop import Workshop

ROOT = Path(__file__).parents[3]
RUN = ("run", "--device", "cpu", "--jobs", "1")


def source(bug: Bug) -> str:
    return bug.top + (ROOT / "kernels" / f"{bug.kernel}.cu").read_text()


def planted(bug: Bug) -> str:
    text = source(bug)
    assert text.count(bug.right) >= 1, f"{bug.name}: {bug.right!r} is not in {bug.kernel}.cu"
    return text.replace(bug.right, bug.wrong)


ADDITIONS = [bug for bug in BUGS if bug.job == FLOATS]
"""Bugs of one kernel and one job: they are launches of one case, each with an output of its own."""


def write(shop: Workshop, *, broken: bool) -> None:
    """Write the sources, right ones or broken ones, and the jobs that run them.

    Bugs of one kernel share its right source, and all additions one broken source, so that fewer are compiled.
    """
    for bug in BUGS:
        if bug not in ADDITIONS:
            name = f"planted_{bug.name}" if broken else bug.name if bug.top else bug.kernel
            shop.write(f"kernels/{name}.cu", planted(bug) if broken else source(bug))
            head = f"source: ../kernels/{name}.cu\ncompile: {{include: [{ROOT / 'kernels/include'}]}}\n"
            shop.write(f"configs/{bug.name}.yaml", head + bug.job)
    job = yaml.safe_load(FLOATS)
    (launch,), output, names = job["launches"], job["buffers"].pop("out"), [bug.name for bug in ADDITIONS]
    kernels = {bug.name: f"vector_add_{bug.name}" if broken else "vector_add" for bug in ADDITIONS}
    texts = [planted(bug).replace("vector_add", kernels[bug.name]) for bug in ADDITIONS]
    name = "additions" if broken else "vector_add"
    shop.write(f"kernels/{name}.cu", "\n".join(texts) if broken else (ROOT / "kernels/vector_add.cu").read_text())
    job["source"] = f"../kernels/{name}.cu"
    job["buffers"] |= {f"out_{name}": output for name in names}
    job["launches"] = [
        {**launch, "kernel": f"{kernels[name]}<float>", "args": [f"out_{name}", *launch["args"][1:]]} for name in names
    ]
    shop.write("configs/additions.yaml", yaml.safe_dump(job))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The verdicts on all broken kernels against what the right ones left, by job."""
    shop = Workshop(tmp_path_factory.mktemp("bugs"))
    write(shop, broken=False)
    fixed = shop.call(*RUN)
    assert fixed.exit_code == 1, fixed.output
    assert shop.call("accept").exit_code == 0
    write(shop, broken=True)
    broken = shop.call(*RUN)
    assert broken.exit_code == 1, broken.output
    document = json.loads((shop.root / "runs/latest/results.json").read_text())
    return {case["job"]: case for case in document["cases"]}


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_what_the_bug_looks_like(ran: dict[str, dict[str, Any]], bug: Bug) -> None:
    case = ran["additions" if bug in ADDITIONS else bug.name]
    assert case["verdict"] == "differ"
    (buffer,) = [one for one in case["buffers"] if bug not in ADDITIONS or one["name"] == f"out_{bug.name}"]
    assert buffer["verdict"] == "differ"
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

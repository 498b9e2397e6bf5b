"""Command `gpuregress mutate`: its lines, its JSON, its exit codes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gpuregress.cli.examine import mutation_lines
from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import Case
from gpuregress.gpu.records import replace
from gpuregress.lab.mutating import mutate
from gpuregress.lab.mutating.campaign import MutateRequest, MutationReport, TriedMutant
from tests.workshop import Workshop

SURVIVOR = TriedMutant(
    "barrier-removed",
    "kernels/scale.cu",
    7,
    "`f();` → nothing",
    "--- a/k\n+++ b/k\n@@ -1 +1 @@\n-f();\n+;\n",
    "no case noticed",
    hint="threads meet",
)
EQUAL = TriedMutant("constant", "kernels/scale.cu", 8, "`1` → `2`", "", "equal PTX")
KILLED = TriedMutant("boundary", "kernels/scale.cu", 4, "`i < n` → `i <= n`", "", "1 of 100 differ", "scale", "differ")
REPORT = MutationReport(1, "scale", 2, 0.5, 9, 3, 7, (KILLED,), (SURVIVOR, EQUAL), (), (), 1, 0, 1.25, ("x: {ulp: 2}",))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[MutateRequest]:
    found: list[MutateRequest] = []

    def answer(_project: Any, cases: Sequence[Case], request: MutateRequest, **_more: Any) -> MutationReport:
        found.append(request)
        if cases[0].job == "unlike":
            raise UsageError("the unchanged kernel must pass")
        return replace(REPORT, job=cases[0].job)

    monkeypatch.setattr(mutate, "mutate", answer)
    return found


def test_survivors_with_their_diff_then_the_score(shop: Workshop, asked: list[MutateRequest]) -> None:
    result = shop.call("mutate", "scale", "--limit", "3", "--seed", "7", "--fresh")
    assert (result.exit_code, asked) == (0, [MutateRequest(3, 7, fresh=True)])
    assert result.stdout.splitlines() == [
        "survived: no case noticed: barrier-removed in kernels/scale.cu:7: `f();` → nothing",
        "    @@ -1 +1 @@",
        "    -f();",
        "    +;",
        "    threads meet",
        "",
        "x: {ulp: 2}",
        "scale: 3 mutants of 9 (seed 7), 2 cases: 1 killed, 0 timed out, 1 survived; not counted: 1 equivalent",
        "score 50% in 1.2 s",
    ]


@pytest.mark.usefixtures("asked")
def test_json_to_a_file_and_to_stdout(shop: Workshop, tmp_path: Path) -> None:
    target = tmp_path / "m.json"
    assert shop.call("mutate", "scale", "--json", str(target)).exit_code == 0
    document = json.loads(target.read_text())
    assert [one["operator"] for one in document["killed"]] == ["boundary"]
    assert [one["reason"] for one in document["survived"]] == ["no case noticed", "equal PTX"]
    assert (document["timed_out"], document["score"], document["version"]) == ([], 0.5, 1)
    assert json.loads(shop.call("mutate", "scale", "--json", "-").stdout) == document


@pytest.mark.usefixtures("asked")
def test_a_score_for_ci(shop: Workshop) -> None:
    assert shop.call("mutate", "scale", "--min-score", "50%").exit_code == 0
    assert "the score is below 51%: scale" in shop.fails(1, "mutate", "scale", "--min-score", "0.51")
    assert "is not a share" in shop.fails(2, "mutate", "scale", "--min-score", "80")


def test_several_jobs_of_which_some_cannot_be_tried(shop: Workshop, asked: list[MutateRequest], tmp_path: Path) -> None:
    shop.job(name="other")
    shop.job(name="unlike")
    shop.write("configs/wrong.yaml", "sauce: x\n")
    target = tmp_path / "m.json"
    result = shop.call("mutate", "scale", "unlike", "other", "wrong", "--min-score", "0.9", "--json", str(target))
    assert (result.exit_code, len(asked)) == (2, 3)
    assert [line for line in result.stdout.splitlines() if "mutants" in line] == [
        f"{job}: 3 mutants of 9 (seed 7), 2 cases: 1 killed, 0 timed out, 1 survived; not counted: 1 equivalent"
        for job in ("other", "scale")
    ]
    assert "unlike: the unchanged kernel must pass\n" in result.stderr
    assert "wrong: configs/wrong.yaml: " in result.stderr
    assert "the score is below 90%: other, scale\n" in result.stderr
    document = json.loads(target.read_text())
    assert [one["job"] for one in document["jobs"]] == ["other", "scale"]
    assert [one["job"] for one in document["refused"]] == ["wrong", "unlike"]
    assert shop.call("mutate", "scale", "other").exit_code == 0


@pytest.mark.usefixtures("shop")
def test_races_that_the_job_does_not_look_for_are_told_apart() -> None:
    racing = replace(REPORT, racing=1, score_with_races=1.0)
    *_, counts, score = mutation_lines(racing)
    assert "1 survived (1 of them noticed with --check races)" in counts
    assert score.startswith("score 50% (100% with `checks: {device: [races]}`) in ")


def test_a_job_without_a_baseline(fake_shop: Workshop) -> None:
    text = fake_shop.fails(2, "mutate", "scale")
    assert "nothing would notice a mutant: scale/n=100 has no baseline and no reference" in text
    assert "no job" in fake_shop.fails(2, "mutate", "other")

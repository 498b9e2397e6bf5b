"""Parameters with values of the command line: which cases are planned, and what is said of the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.errors import JobErrors, NothingToDo, UsageError
from gpuregress.jobs import plan
from gpuregress.jobs.plan import CaseOverrides
from gpuregress.jobs.spec.overrides import of_mapping, of_texts
from gpuregress.store import project
from tests.workshop import Workshop

SPACE = (
    ("  n: [100]\n", "  n: [100, 200]\n  block: [32, 64]\nwhere: [n % 4 == 0]\nagree: [block]\n"),
    ("ceil(n / 32)", "ceil(n / block)"),
    ("block: [32]\n    args", "block: [block]\n    args"),
)


def planned(shop: Workshop, *texts: str, select: tuple[str, ...] = ("scale",), **more: Any) -> plan.Plan:
    overrides = CaseOverrides(parameters=of_texts(texts), **more)
    return plan.make(project.find(shop.root), select, overrides=overrides)


def names(made: plan.Plan) -> list[str]:
    return [case.name.removeprefix("scale/") for case in made.cases]


def test_values_of_the_job_stay_its_own_cases_and_others_are_overridden(shop: Workshop) -> None:
    shop.job(*SPACE)
    made = planned(shop, "block=[32, 2 ** 7]", "n=100.0")
    assert {case.name: case.settings.overridden for case in made.cases} == {
        "scale/n=100,block=32": (),
        "scale/n=100,block=128": ("block",),
    }
    assert made.cases[1].launches[0].block == (128, 1, 1)
    assert planned(shop, "n=[100, 12]").cases[-1].settings.overridden == ("n",)


def test_a_case_of_the_job_is_planned_beside_those_that_must_agree_with_it(shop: Workshop) -> None:
    shop.job(*SPACE)
    made = planned(shop, "block=[96, 128]", partners=True)
    others = [f"n={n},block={block}" for n in (100, 200) for block in (96, 128)]
    assert names(made) == [*others, "n=100,block=32", "n=200,block=32"]
    assert [bool(case.settings.is_partner) for case in made.cases] == [False] * 4 + [True] * 2
    assert made.notes[0] == "scale: the cases of --set are compared with scale/n=100,block=32 (agree)"
    some = planned(shop, "block=96", partners=True, select=("scale/n=200*",))
    assert names(some) == ["n=200,block=96", "n=200,block=32"]
    assert names(planned(shop, "block=[64, 96]", "n=100", partners=True)) == ["n=100,block=64", "n=100,block=96"]


def test_a_selector_names_a_case_of_the_job_or_one_with_other_values(shop: Workshop) -> None:
    shop.job(*SPACE)
    for selector in ("scale/n=200,block=64", "scale/n=200,block=96"):
        assert names(planned(shop, "block=96", select=(selector,))) == ["n=200,block=96"]
    with pytest.raises(UsageError, match="there is no case"):
        planned(shop, "block=96", select=("scale/n=300,block=64",))


def test_values_that_where_does_not_allow_are_named(shop: Workshop) -> None:
    shop.job(*SPACE)
    made = planned(shop, "n=[7, 8]", "block=32")
    assert names(made) == ["n=8,block=32"]
    assert made.notes == ("scale: --set n=7 makes no case: `where` demands n % 4 == 0",)
    with pytest.raises(NothingToDo, match="--set n=7 makes no case: `where` demands n % 4 == 0"):
        planned(shop, "n=7")


def test_jobs_without_the_parameter_are_left_out_unless_all_are(shop: Workshop) -> None:
    shop.job(*SPACE)
    shop.job(name="other")
    made = planned(shop, "block=128", select=())
    assert {case.job for case in made.cases} == {"scale"}
    assert made.notes == ("left out, without a parameter block for --set: other",)
    assert planned(shop, "block=128", select=("scale", "other")).cases == made.cases
    with pytest.raises(UsageError, match="none of the 2 jobs has a parameter 'blok'; did you mean 'block'"):
        planned(shop, "blok=128", select=())
    with pytest.raises(UsageError, match="other has no parameter 'block'; the parameters are: n"):
        planned(shop, "block=128", select=("other",))
    shop.job(("  n: [100]\n", "  m: [1]\n"), ("[n]", "[100]"), ("n / 32", "4"), (": n}", ": 100}"))
    with pytest.raises(UsageError, match="no job has all of the parameters n, m"):
        planned(shop, "n=128", "m=2", select=())


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (("n",), "expected NAME=VALUE"),
        (("n=",), "it has no value"),
        (("n=*",), "quotes"),
        (("n=[]",), "got none"),
        (("n={a: 1}",), "got a mapping"),
        (("n=1", "n=2"), "given twice"),
    ],
)
def test_values_that_no_job_can_have(texts: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        of_texts(texts)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n=[8, 8]", r"scale.yaml:3: parameters.n: --set n=\[8, 8\]: duplicate value 8"),
        ("n=1 / 0", "--set n=1 / 0: .*division by zero"),
        ("block=n", "'n' uses the parameter 'n'"),
        ("n={text: '100'}", "both '100' in the names of cases"),
        ("block=2048", r"2048 threads.*\(in case n=100,block=2048\)"),
    ],
)
def test_values_that_this_job_cannot_have(shop: Workshop, text: str, message: str) -> None:
    shop.job(*SPACE)
    with pytest.raises(JobErrors, match=message):
        planned(shop, text)


def test_python_gives_the_same_values_and_a_text_that_can_be_read_again() -> None:
    overrides = of_mapping({"n": (1, 2), "real": "double", "fast": True})
    assert [override.values for override in overrides] == [(1, 2), ("double",), (True,)]
    assert [override.values for override in of_texts([override.text for override in overrides])] == [
        override.values for override in overrides
    ]


def test_show_takes_other_values(shop: Workshop, tmp_path: Path) -> None:
    shop.job(*SPACE)
    shown = shop.call("show", "scale/n=100,block=32", "--set", "block=128")
    assert shown.exit_code == 0, shown.output
    assert "<<<(1,1,1),(128,1,1),0>>>" in shown.stdout
    assert "set       block by --set: the case has no baseline" in shown.stdout

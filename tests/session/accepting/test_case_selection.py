from __future__ import annotations

import pytest

from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import MadeOf, Outcome, Verdict
from gpuregress.session.accepting import select_cases
from gpuregress.session.runs.results import FinishedCase
from tests import fakes

VERDICTS = (Verdict("a", "a/n=1", "new"), Verdict("a", "a/n=2", "pass"), Verdict("b", "b/n=1", "differ"))


def names(*selectors: str) -> list[str]:
    case = fakes.case("double", name="b/n=1", path="/project/configs/b.yaml")
    finished = {"b/n=1": FinishedCase(case, VERDICTS[2], Outcome("b/n=1", "done"), MadeOf("00"))}
    return [one.case for one in select_cases(VERDICTS, finished, selectors)]


@pytest.mark.parametrize(
    ("selectors", "selected"),
    [
        ((), ["a/n=1", "a/n=2", "b/n=1"]),
        (("a",), ["a/n=1", "a/n=2"]),
        (("b/n=1", "a/n=1"), ["b/n=1", "a/n=1"]),
        (("*/n=1",), ["a/n=1", "b/n=1"]),
        (("/project/configs/b.yaml",), ["b/n=1"]),
        (("a/n=1", "a"), ["a/n=1", "a/n=2"]),
    ],
)
def test_cases_are_selected_by_name_job_glob_and_file(selectors: tuple[str, ...], selected: list[str]) -> None:
    assert names(*selectors) == selected


def test_a_selector_without_a_case_names_those_that_ran() -> None:
    with pytest.raises(UsageError, match="no case of that run is called 'c'; it ran: a/n=1, a/n=2, b/n=1"):
        names("a", "c")

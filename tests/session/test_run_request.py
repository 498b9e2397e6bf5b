from __future__ import annotations

import pytest

from gpuregress.session.run_request import RunRequest


@pytest.mark.parametrize(
    "narrower", [{"selectors": ("a",)}, {"name_glob": "*"}, {"tags": ("a",)}, {"rerun_failed": True}]
)
def test_a_request_takes_all_cases_unless_something_selects(narrower: dict[str, object]) -> None:
    assert RunRequest(device="cpu", repeat=3).takes_all
    assert not RunRequest(**narrower).takes_all  # type: ignore[arg-type] # keyword by keyword


def test_a_night_and_a_run_of_several_named_jobs_keep_going_after_a_wrong_one() -> None:
    assert [RunRequest(kind="run").keeps_going, RunRequest(kind="nightly").keeps_going] == [False, True]
    assert [RunRequest(("a",)).keeps_going, RunRequest(("a", "b")).keeps_going] == [False, True]

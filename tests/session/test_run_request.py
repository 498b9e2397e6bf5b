from __future__ import annotations

import pytest

from gpuregress.session.run_request import RunRequest


@pytest.mark.parametrize(
    "narrower", [{"selectors": ("a",)}, {"name_glob": "*"}, {"tags": ("a",)}, {"rerun_failed": True}]
)
def test_a_request_takes_all_cases_unless_something_selects(narrower: dict[str, object]) -> None:
    assert RunRequest(device="cpu", repeat=3).takes_all
    assert not RunRequest(**narrower).takes_all  # type: ignore[arg-type] # keyword by keyword


def test_only_a_nightly_run_keeps_going_after_a_wrong_job() -> None:
    assert [RunRequest(kind="run").keeps_going, RunRequest(kind="nightly").keeps_going] == [False, True]

from __future__ import annotations

from gpuregress.foundation.records import CaseSettings, to_json


def test_the_first_schedule_makes_the_dumps() -> None:
    assert CaseSettings().main_schedule == "forward"
    assert CaseSettings(schedules=("reverse", "forward")).main_schedule == "reverse"


def test_settings_that_are_not_given_have_no_key() -> None:
    assert to_json(CaseSettings(retries=2)) == {"retries": 2}

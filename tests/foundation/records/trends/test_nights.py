from __future__ import annotations

import pytest

from gpuregress.foundation.records import (
    EarlierVerdict,
    LackingDevice,
    NightChanges,
    NightFailure,
    NightRemark,
    Since,
    from_json,
    to_json,
)


def test_changes_survive_json() -> None:
    still = NightFailure(
        "a", "differ", "b: 3 of 8 differ", "differ: tail", Since("n", "2026-11-20T02:00:00Z", "8eb", 3)
    )
    changes = NightChanges("n", still=(still,), near=(NightRemark("b", "81 %"),), lacking=(LackingDevice("cuda", 2),))
    assert from_json(NightChanges, to_json(changes)) == changes
    assert to_json(NightChanges()) == {}


@pytest.mark.parametrize(
    ("changes", "is_news"),
    [
        (NightChanges(slower=(NightRemark("a", "1.4"),)), False),
        (NightChanges(slower=(NightRemark("a", "1.4", is_new=True),)), True),
        (NightChanges(near=(NightRemark("a", "81 %"),)), False),
        (NightChanges(near=(NightRemark("a", "81 %", is_new=True),)), True),
        (NightChanges(lacking=(LackingDevice("cuda", 2, is_new=True),)), True),
        (NightChanges(fixed=(NightFailure("a", "differ"),)), True),
        (NightChanges(no_turn=("a",)), True),
    ],
)
def test_what_is_new_is_news(changes: NightChanges, *, is_news: bool) -> None:
    assert changes.is_news == is_news


@pytest.mark.parametrize(("verdict", "failed"), [("pass", False), ("new", False), ("skip", False), ("missing", True)])
def test_only_failures_have_failed(verdict: str, *, failed: bool) -> None:
    assert EarlierVerdict("n", "", verdict).has_failed == failed

from __future__ import annotations

from gpuregress.foundation.records import PastResult
from gpuregress.gpu.records import replace

RESULT = PastResult("1", "nightly", "2026-11-20T02:00:00Z", "cpu", "a", "pass", "", "1.1", 0.5)


def test_a_short_commit_shows_whether_the_work_tree_had_changes() -> None:
    assert RESULT.short_commit == ""
    clean = replace(RESULT, commit="8eb0c1fabc")
    assert clean.short_commit == "8eb0c1f"
    assert replace(clean, dirty=True).short_commit == "8eb0c1f+"
    assert replace(RESULT, dirty=True).short_commit == ""

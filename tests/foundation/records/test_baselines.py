from __future__ import annotations

from gpuregress.foundation.records import Acceptance, AcceptedBy, Baseline, MadeOf


def test_the_last_acceptance_is_reported_with_a_short_digest() -> None:
    first = Acceptance("1.4", "a" * 64, "2026-11-20T10:00:00Z", "ada", "first", "run1")
    last = Acceptance("1.5", "b" * 64, "2026-11-21T10:00:00Z", "bo", "faster", "run2")
    accepted = Baseline("reduce", "", "1.5", MadeOf(""), {}, (first, last)).accepted
    assert accepted == AcceptedBy("1.5", "b" * 16, "2026-11-21T10:00:00Z", "bo", "faster", "run2")

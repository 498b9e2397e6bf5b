from __future__ import annotations

from typing import Any

import pytest

from gpuregress.foundation.document import units


@pytest.mark.parametrize(
    ("value", "seconds"), [(30, 30.0), ("30s", 30.0), ("2 min", 120.0), ("500ms", 0.5), ("1h", 3600)]
)
def test_seconds(value: Any, seconds: float) -> None:
    assert units.seconds(value) == seconds


@pytest.mark.parametrize("value", [0, -1, "30", "30x", "s", True, None, float("nan"), "999999999h", [], 10**400])
def test_no_seconds(value: Any) -> None:
    with pytest.raises(ValueError, match="invalid time"):
        units.seconds(value)


@pytest.mark.parametrize(("value", "size"), [(100, 100), ("4GiB", 4 << 30), ("512MB", 512_000_000), ("1.5 KiB", 1536)])
def test_size(value: Any, size: int) -> None:
    assert units.size(value) == size


@pytest.mark.parametrize("value", [0, "0B", "4GB8", "4 gib", "-1MB", True, float("inf"), "99999999TiB", 10**400])
def test_no_size(value: Any) -> None:
    with pytest.raises(ValueError, match="invalid size"):
        units.size(value)


@pytest.mark.parametrize(
    ("count", "text"), [(5, "5 bytes"), (10240, "10.0 KiB"), (4 << 30, "4.0 GiB"), (3 << 40, "3.0 TiB")]
)
def test_size_text(count: int, text: str) -> None:
    assert units.size_text(count) == text


def test_a_value_that_is_not_a_scalar_is_named_by_its_kind() -> None:
    given: Any = {"seconds": 3}
    with pytest.raises(ValueError, match=r"^invalid time \(a mapping\); expected seconds, or"):
        units.seconds(given)


@pytest.mark.parametrize(("value", "seconds"), [("90d", 90 * 86400), ("12w", 84 * 86400), ("36 h", 129600)])
def test_age(value: str, seconds: float) -> None:
    assert units.age(value) == seconds


@pytest.mark.parametrize("value", [90, 90.0, "90", "90s", "5min", "0d", "1 year", None, [], "99999999d"])
def test_no_age(value: Any) -> None:
    with pytest.raises(ValueError, match="invalid age"):
        units.age(value)


@pytest.mark.parametrize(("number", "text"), [(21600.0, "6 h"), (5400.0, "90 min"), (2.5, "2.5 s"), (61.0, "61 s")])
def test_a_time_is_told_in_its_largest_unit(number: float, text: str) -> None:
    assert units.seconds_text(number) == text

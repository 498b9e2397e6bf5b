from __future__ import annotations

from gpuregress.store.history import seals


def test_a_seal_shows_any_change() -> None:
    values = ("R1", "a", 0.5, None, b"x")
    assert seals.seal(values) == seals.seal(list(values))
    assert len({seals.seal((*values[:n], "other", *values[n + 1 :])) for n in range(5)} | {seals.seal(values)}) == 6
    assert -(1 << 63) <= seals.seal(values) < 1 << 63


def test_rows_of_version_1_have_no_seal() -> None:
    assert seals.is_old("", ("R1",))
    assert not seals.is_old("0" * 32, ("R1",))

"""Elements that hold their initial value: poison, unset shared memory, zeros, NaN."""

from __future__ import annotations

import numpy as np

from tests.judge.diagnose.planted import LINE, POISON, findings, first, launch, noise


def test_the_last_partial_block_was_never_written() -> None:
    e = noise("float32", (1000,))
    a = e.copy()
    a[896:] = np.frombuffer(POISON, np.float32)[0]
    pattern, message = first(e, a, LINE, poison=POISON)
    assert pattern == "never written"
    assert message == (
        "all 104 differing elements still hold the poison: never written (elements 896 to 999; the last partial "
        "block, 7, with 104 of 128 threads at work)"
    )
    assert "exactly the last, partial block (7, 104 of 128 threads)" in findings(e, a, LINE)["tail"]


def test_a_launch_that_is_a_block_short() -> None:
    e = noise("float32", (1000,))
    a = e.copy()
    a[768:] = np.frombuffer(POISON, np.float32)[0]
    short = launch((3, 1, 1), (256, 1, 1))
    _, message = first(e, a, short, poison=POISON)
    assert message == (
        "all 232 differing elements still hold the poison: never written (elements 768 to 999; the launch's 3 blocks "
        "of 256 threads end there)"
    )
    assert "end there" not in first(e, np.where(np.arange(1000) == 5, a[-1], e), short, poison=POISON)[1]


def test_shared_memory_that_was_read_before_it_was_written() -> None:
    e = np.arange(6144, dtype=np.int32)
    a = np.where(e % 32 > e // 96 % 32, -1, e)  # above each tile's diagonal
    pattern, message = first(e, a, unset=b"\xff")
    assert pattern == "read too early"
    assert "a missing __syncthreads()?" in message
    assert "read too early" not in findings(e, a)  # another device: nothing is known of its shared memory
    assert "read too early" not in findings(e, np.where(e == 7, -1, e), unset=b"\xff")


def test_poison_is_named_even_where_other_things_are_wrong() -> None:
    e = noise("float64", (500,))
    a = noise("float64", (500,), 1)
    a[17] = np.frombuffer(POISON * 2, np.float64)[0]
    assert findings(e, a, poison=POISON)["never written"].startswith("1 of 500 differing elements still hold")


def test_poison_of_another_phase() -> None:
    """One byte wide elements see the pattern from where they stand."""
    e = np.zeros(64, np.uint8)
    a = e.copy()
    a[10:20] = np.frombuffer(POISON * 16, np.uint8)[10:20]
    assert "all 10 differing" in findings(e, a, poison=POISON)["never written"]
    a[10:20] = np.roll(a[10:20], 1)
    assert "never written" not in findings(e, a, poison=POISON)


def test_zeros_for_values() -> None:
    e = noise("float32", (1000,))
    a = e.copy()
    a[[3, 500, 700]] = 0
    assert first(e, a) == ("zeros", "all 3 differing elements are 0 instead of a value")


def test_nan_spreading() -> None:
    e = noise("float32", (20, 50))
    a = e.copy()
    a[3] = np.nan
    assert first(e, a)[1] == "all 50 differing elements are NaN: spread along row 3"
    a = e.copy()
    a[:, 9] = np.nan
    assert first(e, a)[1].endswith("spread along column 9")
    a = e.reshape(-1).copy()
    a[800:] = np.nan
    assert first(e.reshape(-1), a)[1].endswith("spread from element 800 to the end")

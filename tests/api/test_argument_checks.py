"""Errors that name the argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpuregress.api import signature as checks


def test_values_are_taken_as_python_has_them() -> None:
    assert checks.whole("repeat", np.int64(3), 1) == 3
    assert (checks.seconds("timeout", 2), checks.seconds("timeout", "2min")) == (2.0, 120.0)
    assert checks.items("options", "-w", str) == ("-w",)
    assert checks.items("options", ["-w", "-G"], str) == ("-w", "-G")
    assert checks.mapping("defines", None) == {}
    assert checks.mapping("defines", {"N": 3}) == {"N": 3}
    assert checks.extents("grid", 4) == checks.extents("grid", (np.int32(4), 1)) == (4, 1, 1)
    assert checks.extents("grid", np.array([4, 2])) == (4, 2, 1)


@pytest.mark.parametrize(
    ("check", "error", "words"),
    [
        (lambda: checks.whole("repeat", 1.5, 1), TypeError, "repeat is 1.5: expected a whole number"),
        (lambda: checks.whole("repeat", 0, 1), ValueError, "repeat is 0: expected at least 1"),
        (lambda: checks.seconds("timeout", None), TypeError, "timeout is None: expected a number of seconds"),
        (lambda: checks.seconds("timeout", True), TypeError, "timeout is True"),
        (lambda: checks.seconds("timeout", 0), ValueError, "timeout: invalid time limit 0"),
        (lambda: checks.seconds("timeout", float("nan")), ValueError, "timeout: invalid time"),
        (lambda: checks.seconds("timeout", "soon"), ValueError, "timeout: invalid time 'soon'"),
        (lambda: checks.text("name", 3), TypeError, "name is 3: expected text"),
        (lambda: checks.text("name", " "), ValueError, "name is empty"),
        (lambda: checks.items("options", 3, str), TypeError, "options is 3: expected text, or a list of it"),
        (lambda: checks.items("options", ["-w", 3], str), TypeError, "expected text, or a list"),
        (lambda: checks.mapping("defines", ["N"]), TypeError, r"defines is \['N'\]: expected a dict"),
        (lambda: checks.mapping("defines", {3: 4}), TypeError, "a name in defines is 3: expected text"),
        (lambda: checks.extents("grid", "12"), TypeError, "grid is '12': expected one to three whole numbers"),
        (lambda: checks.extents("grid", None), TypeError, "grid is None: expected one to three whole numbers"),
        (lambda: checks.extents("grid", [[1]]), TypeError, r"grid is \[\[1\]\]"),
        (lambda: checks.extents("grid", ()), ValueError, r"grid is \(\): expected one to three numbers"),
        (lambda: checks.extents("grid", (1, 2, 3, 4)), ValueError, "expected one to three numbers of at least 1"),
    ],
)
def test_an_argument_that_means_nothing_is_named(check: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        check()

"""Right values at wrong indices."""

from __future__ import annotations

import numpy as np

from tests.judge.diagnose.planted import LINE, findings, first, noise


def test_permutations() -> None:
    e = noise("float32", (12, 20))
    assert first(e, e.T.reshape(12, 20))[1].endswith("other places: transposed")
    assert first(e, e.reshape(-1)[::-1].reshape(12, 20))[1].endswith("other places: reversed")
    a = e.reshape(-1).copy()
    a[50:90] = np.random.default_rng(0).permutation(a[50:90])
    assert first(e.reshape(-1), a)[1].endswith("other places: another order")
    a = e.reshape(-1).copy()
    a[[5, 9]] = a[[9, 5]]
    assert first(e.reshape(-1), a) == ("permutation", "elements 5 and 9 are swapped")


def test_shift() -> None:
    e = noise("float32", (1000,))
    a = np.concatenate([[np.float32(0)], e[:-1]]).astype(np.float32)
    pattern, message = first(e, a)
    assert pattern == "shift"
    assert message.startswith("shifted up by 1: actual[i] is expected[i - 1]")
    a = np.concatenate([e[128:], noise("float32", (128,), 9)])
    assert findings(e, a, LINE) == {}, "872 of 1000 are too few"
    a = np.concatenate([e[128:], e[872:]])
    assert "expected[i + 128]" in findings(e, a, LINE)["shift"]

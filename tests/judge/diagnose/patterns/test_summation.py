"""Missing terms of sums and products."""

from __future__ import annotations

import numpy as np

from tests.judge.diagnose.planted import findings, noise


def test_a_missing_term() -> None:
    x = noise("float32", (64 * 100,))
    e = x.reshape(100, 64).sum(axis=1)
    a = x.reshape(100, 64)[:, :63].sum(axis=1)
    actual = findings(e, a, inputs={"x": x})
    assert actual["loop count"] == (
        "all 100 differences are one term, the last of each chunk of 64 of x: a loop runs once too few"
    )
    extra = e + np.append(x[64::64], 0).astype(np.float32)
    extra[-1] = e[-1]
    assert "the one after the end" in findings(e, extra, inputs={"x": x})["loop count"]
    assert "too often" in findings(e, extra, inputs={"x": x})["loop count"]


def test_sums_of_some_terms() -> None:
    x = noise("float32", (32 * 64,))
    chunks = x.reshape(64, 32)
    e = chunks.sum(axis=1)
    few = findings(e, chunks[:, [0, 1, 2, 4, 8, 16]].sum(axis=1), inputs={"x": x})
    assert few["terms"].startswith(
        "all 64 differing elements are sums of terms 0, 1, 2, 4, 8, 16 alone, of each chunk of 32 of x: 26 missing"
    )
    most = findings(e, e - chunks[:, 3] - chunks[:, 9] + chunks[:, 5], inputs={"x": x})
    assert "sums of all terms but 3, 9 and 5 more than once" in most["terms"]
    assert "terms" not in findings(e, noise("float32", (64,), 5), inputs={"x": x})
    assert "terms" not in findings(e * 2, chunks[:, :6].sum(axis=1), inputs={"x": x}), "the baseline is another sum"


def test_a_missing_term_of_a_matrix_product() -> None:
    one, two = noise("float32", (30, 20)), noise("float32", (20, 40), 1)
    actual = findings(one @ two, one[:, :19] @ two[:19])
    assert "one term of the inner loop" in actual["loop count"]
    assert "loop count" not in findings(one @ two, one[:, :17] @ two[:17])

from __future__ import annotations

from gpuregress.foundation.records import Dump


def test_elements_are_counted() -> None:
    assert Dump("x", "/x.1", "float32", (4, 3, 2), "", "").count == 24

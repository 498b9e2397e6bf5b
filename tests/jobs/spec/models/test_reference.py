from __future__ import annotations

from typing import Any

import pytest

from gpuregress.foundation.document.forms import FormErrors
from gpuregress.jobs.spec.models.reference import ReferenceSpec

LAUNCH = {"kernel": "k", "grid": [1], "block": [1]}


def test_either_form() -> None:
    assert ReferenceSpec.of("gold.py:f").python == "gold.py:f"
    for text in ("ans.npy", "data/ans.npz:y", "baseline:reduce/n=8/sum", "run:latest/reduce/sum", "a.py.npy"):
        assert ReferenceSpec.of(text).file == text
    kernels = ReferenceSpec.of({"source": "naive.cu", "launches": [LAUNCH]})
    assert kernels.launches is not None
    assert kernels.launches[0].kernel == "k"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "expected path.py:function"),
        ("gold.py", "expected path.py:function"),
        ("gold", "expected path.py:function"),
        ({}, "none is given"),
        ({"python": "a.py:f", "launches": [LAUNCH]}, "python: and launches: are given"),
        ({"python": "a.py:f", "file": "a.npy"}, "python: and file: are given"),
        ({"python": "a.py:f", "source": "k.cu"}, "belong to launches:"),
        ({"file": "a.npy", "buffer": "y64"}, "source, compile and buffer belong to launches:, and file: is given"),
    ],
)
def test_what_is_no_reference(given: Any, message: str) -> None:
    with pytest.raises(FormErrors, match=message):
        ReferenceSpec.of(given)

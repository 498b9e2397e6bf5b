from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Document
from gpuregress.jobs.spec.expressions import Value
from gpuregress.jobs.spec.resolve.scope import Scope, resolved_dtype

NAMES: dict[str, Value] = {"real": "unsigned long long", "bits": 32, "lanes": 4, "odd": "float*"}


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("{real}", "uint64"),
        ("float{bits}", "float32"),
        ("float{lanes}", "float4"),
        ("{id:int32,key:{real}}", "{id:int32,key:uint64}"),
        ("{id:int32,score:float32}", "{id:int32,score:float32}"),
        ("float32", "float32"),
    ],
)
def test_dtypes(text: str, dtype: str) -> None:
    scope = Scope(NAMES, Problems(Document(Path("job.yaml"), {}, {})))
    assert resolved_dtype(scope, text, ("buffers", "x", "dtype")) == dtype
    assert not len(scope.problems)


@pytest.mark.parametrize("text", ["{odd}", "{id:int32,key:{odd}}", "{rael}{real}", "int{lanes * 3}"])
def test_what_is_no_type(text: str) -> None:
    scope = Scope(NAMES, Problems(Document(Path("job.yaml"), {}, {})), "odd=x")
    assert resolved_dtype(scope, text, ("buffers", "x", "dtype")) is None
    assert len(scope.problems) == 1

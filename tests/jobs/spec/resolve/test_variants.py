from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Document
from gpuregress.foundation.records import Source
from gpuregress.gpu.records import replace
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.job import JobSpec
from gpuregress.jobs.spec.resolve import variants
from gpuregress.jobs.spec.resolve.scope import Scope

SOURCE = Source("/p/k.cu", ("-DX",), arch="sm_90")


def combinations(given: Any, **compiled: Any) -> tuple[Source, Any, list[str]]:
    buffers = {"x": {"dtype": "float32", "shape": [1]}}
    launches = [{"kernel": "k", "grid": [1], "block": [1]}]
    data = {"source": "k.cu", "buffers": buffers, "launches": launches, "variants": given, "compile": compiled}
    document = Document(Path("job.yaml"), data, {})
    problems = Problems(document)
    file = JobFile(document, JobSpec.of(data), (), frozenset())
    path = compiled.get("source", SOURCE)
    (source,), varied = variants.combinations(file, Scope({}, problems), (path,))
    if varied is not None:
        varied = replace(varied, sources={name: one for name, (one,) in varied.sources.items()})  # type: ignore[misc]  # flat, to be compared
    return source, varied, [error.message for error in problems.errors]


def test_every_combination_is_a_source_named_by_what_differs_from_the_first() -> None:
    given = {"fmad": ["on", "off"], "fast_math": ["off", "on"], "arch": ["sm_80", "sm_90"]}
    source, varied, errors = combinations(given)
    assert not errors
    assert (source.options, source.arch) == (("-DX",), "sm_80")
    assert varied.first == "fmad=on,fast_math=off,arch=sm_80"
    assert list(varied.sources) == [
        "arch=sm_90",
        "fast_math=on",
        "fast_math=on,arch=sm_90",
        "fmad=off",
        "fmad=off,arch=sm_90",
        "fmad=off,fast_math=on",
        "fmad=off,fast_math=on,arch=sm_90",
    ]
    last = varied.sources["fmad=off,fast_math=on,arch=sm_90"]
    assert (last.options, last.arch) == (("-DX", "--fmad=false", "--use_fast_math"), "sm_90")
    assert not varied.must_agree


def test_the_first_value_is_the_cases_own() -> None:
    source, varied, _ = combinations({"fmad": ["off", "on"], "differences": "fail"})
    assert source.options == ("-DX", "--fmad=false")
    assert varied.sources["fmad=on"].options == ("-DX",)
    assert varied.must_agree


@pytest.mark.parametrize(
    ("given", "compiled", "said"),
    [
        ({"arch": ["sm_80", "sm_90"]}, {"arch": "sm_80"}, "compile.arch is, too"),
        ({"fmad": ["on", "off"]}, {"options": ["--fmad=false"]}, "'--fmad=false' is set by variants.fmad"),
        ({"fast_math": ["on", "off"]}, {"options": ["-use_fast_math"]}, "is set by variants.fast_math"),
    ],
)
def test_settings_that_contradict_compile(given: Any, compiled: Any, said: str) -> None:
    _, _, errors = combinations(given, **compiled)
    assert said in errors[0]


def test_what_is_not_compiled_has_no_variants() -> None:
    document = Document(Path("job.yaml"), {}, {})
    job = JobSpec.of(
        {
            "source": "k.ptx",
            "buffers": {"x": {"dtype": "float32", "shape": [1]}},
            "launches": [{"kernel": "k", "grid": [1], "block": [1]}],
            "variants": {"fmad": ["on", "off"]},
        }
    )
    problems = Problems(document)
    variants.combinations(JobFile(document, job, (), frozenset()), Scope({}, problems), (Source("/p/k.ptx"),))
    assert "has no effect: k.ptx is taken as it is" in problems.errors[0].message


def test_each_compiled_source_of_several_is_varied() -> None:
    data = {
        "source": "k.cu",
        "buffers": {"x": {"dtype": "float32", "shape": [1]}},
        "launches": [{"kernel": "k", "grid": [1], "block": [1]}],
        "variants": {"fmad": ["on", "off"]},
    }
    document = Document(Path("job.yaml"), data, {})
    problems = Problems(document)
    file = JobFile(document, JobSpec.of(data), (), frozenset())
    given = (Source("/p/k.cu"), Source("/p/two.cu", ("-DX",)), Source("/p/three.ptx"))
    own, varied = variants.combinations(file, Scope({}, problems), given)
    assert own == given
    assert varied is not None
    assert [source.options for source in varied.sources["fmad=off"]] == [
        ("--fmad=false",),
        ("-DX", "--fmad=false"),
        (),
    ]
    assert not problems.errors

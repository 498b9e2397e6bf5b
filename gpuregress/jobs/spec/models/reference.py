"""Models of references: a Python function, a file, or trusted kernels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from gpuregress.foundation.document.forms import Spec, doc
from gpuregress.foundation.document.problems import show
from gpuregress.jobs.spec.models.compilation import CompileSpec
from gpuregress.jobs.spec.models.launch import LaunchSpec
from gpuregress.jobs.spec.models.rules import RuleSpec
from gpuregress.jobs.spec.models.values import FUNCTION_SCHEMA, Constant, Expr, FunctionPath, Name, Text

_FORMS = ("python", "file", "launches")
_OF_LANGUAGE = ("language", "signature", "constants", "num_warps", "num_stages", "num_ctas")
_OF_LAUNCHES = ("source", "compile", "buffer", *_OF_LANGUAGE)
_FILE = re.compile(r"^(baseline:|run:)|^(?![\s\S]*\.py(:|$))[\s\S]*\.")
"""A text that is a file: an earlier result, or a name with a suffix other than `.py`."""


class ReferenceSpec(Spec, frozen=True):
    """A gold standard: a Python function of the inputs, a file, or trusted kernels on the same inputs."""

    short_forms: ClassVar[tuple[Mapping[str, Any], ...]] = (
        FUNCTION_SCHEMA,
        {"$comment": "a file", "type": "string", "pattern": _FILE.pattern},
    )
    schema_extra: ClassVar[Mapping[str, Any]] = {
        "oneOf": [{"required": [form]} for form in _FORMS],
        "dependentRequired": {name: ["launches"] for name in _OF_LAUNCHES},
    }

    python: Annotated[FunctionPath | None, doc("module.py:function, f(inputs, case), relative to the job")] = None
    file: Annotated[Text | None, doc("any file that a fill can read, relative to the job")] = None
    source: Annotated[Text | None, doc("source of the kernels; default: the job's own")] = None
    compile: Annotated[CompileSpec | None, doc("compilation of the source; default: the job's own")] = None
    language: Annotated[
        Literal["triton", "numba"] | None, doc("the language of source, where it is in Python; default: the job's own")
    ] = None
    signature: Annotated[dict[Name, Text] | None, doc("as the job's, for the reference's kernel")] = None
    constants: Annotated[dict[Name, Constant] | None, doc("as the job's, for the reference's kernel")] = None
    num_warps: Annotated[Expr | None, doc("as the job's, for the reference's kernel")] = None
    num_stages: Annotated[Expr | None, doc("as the job's, for the reference's kernel")] = None
    num_ctas: Annotated[Expr | None, doc("as the job's, for the reference's kernel")] = None
    launches: Annotated[
        Annotated[list[LaunchSpec], Meta(min_length=1)] | None,
        doc("launches on freshly filled buffers; the buffer then holds the gold standard"),
    ] = None
    buffer: Annotated[
        Name | None, doc("the buffer that the launches leave the gold standard in, as a float64 twin; default: the own")
    ] = None
    compare: Annotated[RuleSpec | None, doc("the rule for this comparison; default: the buffer's own")] = None
    improves: Annotated[
        Literal[True, False], doc("true: report whether the result is more or less accurate than the accepted one")
    ] = False

    @classmethod
    def as_mapping(cls, value: Any) -> Any:
        """Take the short forms of the mapping."""
        if isinstance(value, str):
            return {"file" if _FILE.search(value) else "python": value}
        if not isinstance(value, dict):
            wanted = "path.py:function, a file, {python: path.py:function, compare: …} or {source: …, launches: …}"
            raise ValueError(f"expected {wanted}, got {show(value)}")
        given = [form for form in _FORMS if form in value]
        if len(given) != 1:
            what = f"{' and '.join(f'{form}:' for form in given)} are given" if given else "none is given"
            raise ValueError(f"a reference is one of python:, file: and launches:, and {what}")
        if given != ["launches"] and any(name in value for name in _OF_LAUNCHES):
            wrong = [name for name in _OF_LANGUAGE if name in value]
            text = f"{wrong[0]} belongs" if wrong else "source, compile and buffer belong"
            raise ValueError(f"{text} to launches:, and {given[0]}: is given")
        return value

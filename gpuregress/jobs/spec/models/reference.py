"""Models of references: a Python function, a file, or trusted kernels."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from gpuregress.foundation.document.problems import show
from gpuregress.jobs.spec.models.base import Spec
from gpuregress.jobs.spec.models.compilation import CompileSpec
from gpuregress.jobs.spec.models.launch import LaunchSpec
from gpuregress.jobs.spec.models.rules import RuleSpec
from gpuregress.jobs.spec.models.values import Constant, Expr, FunctionPath, Name, Text

_FORMS = ("python", "file", "launches")
_OF_LANGUAGE = ("language", "signature", "constants", "num_warps", "num_stages", "num_ctas")
_OF_LAUNCHES = ("source", "compile", "buffer", *_OF_LANGUAGE)
_FILE = re.compile(r"^(baseline:|run:)|^(?![\s\S]*\.py(:|$))[\s\S]*\.")
"""A text that is a file: an earlier result, or a name with a suffix other than `.py`."""


class ReferenceSpec(Spec):
    """A gold standard: a Python function of the inputs, a file, or trusted kernels on the same inputs."""

    python: FunctionPath | None = Field(None, description="module.py:function, f(inputs, case), relative to the job")
    file: Text | None = Field(None, description="any file that a fill can read, relative to the job")
    source: Text | None = Field(None, description="source of the kernels; default: the job's own")
    compile: CompileSpec | None = Field(None, description="compilation of the source; default: the job's own")
    language: Literal["triton", "numba"] | None = Field(
        None, description="the language of source, where it is in Python; default: the job's own"
    )
    signature: dict[Name, Text] | None = Field(None, description="as the job's, for the reference's kernel")
    constants: dict[Name, Constant] | None = Field(None, description="as the job's, for the reference's kernel")
    num_warps: Expr | None = Field(None, description="as the job's, for the reference's kernel")
    num_stages: Expr | None = Field(None, description="as the job's, for the reference's kernel")
    num_ctas: Expr | None = Field(None, description="as the job's, for the reference's kernel")
    launches: Annotated[list[LaunchSpec], Field(min_length=1)] | None = Field(
        None, description="launches on freshly filled buffers; the buffer then holds the gold standard"
    )
    buffer: Name | None = Field(
        None, description="the buffer that the launches leave the gold standard in, as a float64 twin; default: the own"
    )
    compare: RuleSpec | None = Field(None, description="the rule for this comparison; default: the buffer's own")
    improves: Literal[True, False] = Field(
        False, description="true: report whether the result is more or less accurate than the accepted one"
    )

    @model_validator(mode="before")
    @classmethod
    def _forms(cls, value: Any) -> Any:
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

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Any:
        schema = handler.resolve_ref_schema(handler(core))
        function = next(option for option in schema["properties"]["python"]["anyOf"] if option.get("type") == "string")
        mapping = {
            **schema,
            "oneOf": [{"required": [form]} for form in _FORMS],
            "dependentRequired": {name: ["launches"] for name in _OF_LAUNCHES},
        }
        file = {"$comment": "a file", "type": "string", "pattern": _FILE.pattern}
        schema.clear()
        return {"anyOf": [function, file, mapping], "description": cls.__doc__}

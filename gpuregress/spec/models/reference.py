"""Models of references: a Python function, or trusted kernels."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from gpuregress.document.problems import show
from gpuregress.spec.models.base import Spec
from gpuregress.spec.models.compilation import CompileSpec
from gpuregress.spec.models.launch import LaunchSpec
from gpuregress.spec.models.rules import RuleSpec
from gpuregress.spec.models.values import FunctionPath, Text


class ReferenceSpec(Spec):
    """A gold standard: a Python function of the inputs, or trusted kernels on the same inputs."""

    python: FunctionPath | None = Field(None, description="module.py:function, f(inputs, case), relative to the job")
    source: Text | None = Field(None, description="source of the kernels; default: the job's own")
    compile: CompileSpec | None = Field(None, description="compilation of the source; default: the job's own")
    launches: Annotated[list[LaunchSpec], Field(min_length=1)] | None = Field(
        None, description="launches on freshly filled buffers; the buffer then holds the gold standard"
    )
    compare: RuleSpec | None = Field(None, description="the rule for this comparison; default: the buffer's own")

    @model_validator(mode="before")
    @classmethod
    def _forms(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"python": value}
        if not isinstance(value, dict):
            wanted = "path.py:function, {python: path.py:function, compare: …} or {source: …, launches: …}"
            raise ValueError(f"expected {wanted}, got {show(value)}")
        if ("python" in value) == ("launches" in value):
            given = "both are given" if "python" in value else "neither is given"
            raise ValueError(f"a reference is either python: or launches:, and {given}")
        if "python" in value and ("source" in value or "compile" in value):
            raise ValueError("source and compile belong to launches:, and python: is given")
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Any:
        schema = handler.resolve_ref_schema(handler(core))
        function = next(option for option in schema["properties"]["python"]["anyOf"] if option.get("type") == "string")
        mapping = {
            **schema,
            "oneOf": [{"required": ["python"]}, {"required": ["launches"]}],
            "dependentRequired": {"source": ["launches"], "compile": ["launches"]},
        }
        schema.clear()
        return {"anyOf": [function, mapping], "description": cls.__doc__}

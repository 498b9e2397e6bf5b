"""Models of how a source is compiled."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema, model_validator

from gpuregress.foundation.document.problems import show
from gpuregress.gpu import architecture_names as architectures
from gpuregress.jobs.spec import templates
from gpuregress.jobs.spec.expressions import parse
from gpuregress.jobs.spec.models.base import Spec
from gpuregress.jobs.spec.models.values import NAME_SCHEMA, TEXT_MAPPING_SCHEMA, Name, PlainTextSpec, Text


def _define(value: Any) -> int | float | str | PlainTextSpec:
    if value is None or value == "":
        return PlainTextSpec(text="")
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, dict) and list(value) == ["text"] and isinstance(value["text"], str):
        return PlainTextSpec(text=value["text"])
    if isinstance(value, str):
        try:
            parse(value)
        except ValueError as error:
            if templates.is_template(value):
                return PlainTextSpec(text=value)
            raise ValueError(f"{error}; other text is written {{text: {value}}}") from None
        return value
    if isinstance(value, int | float):
        return value
    raise ValueError(f"expected a number, an expression or {{text: …}}, got {show(value)}")


DEFINE_SCHEMA = {
    "$comment": "expression, or `{text: …}` for any other text",
    "anyOf": [*({"type": kind} for kind in ("number", "string", "boolean", "null")), TEXT_MAPPING_SCHEMA],
}
Define = Annotated[int | float | str | PlainTextSpec, PlainValidator(_define), WithJsonSchema(DEFINE_SCHEMA)]


_ARCH_SCHEMA = {
    "type": "string",
    "pattern": rf"^sm_({'|'.join(map(str, architectures.KNOWN))})[af]?$|\{{[^{{}}]+\}}",
}


def _arch(text: str) -> str:
    problem = None if templates.is_template(text) else architectures.problem(text)
    if problem:
        raise ValueError(problem)
    return text


class MacrosSpec(Spec):
    """Macros: `all` parameters, a list of parameters and mappings, or a mapping from macros to their values."""

    groups: list[MacroGroupSpec] = Field([])

    @model_validator(mode="before")
    @classmethod
    def _forms(cls, value: Any) -> Any:
        """`all`, `[tile, {FAST: 1}]` and `{FAST: 1}` become groups, in order."""
        if isinstance(value, dict):
            return {"groups": [{"given": value}]}
        if value == "all":
            return {"groups": [{"parameter": "all"}]}
        if not isinstance(value, list) or not all(isinstance(item, str | dict) for item in value):
            wanted = "all, a mapping such as {TILE: tile}, or a list of parameters and mappings"
            raise ValueError(f"expected {wanted}, got {show(value)}")
        return {"groups": [{"parameter": item} if isinstance(item, str) else {"given": item} for item in value]}


class MacroGroupSpec(Spec):
    """Some of the macros: a parameter (`all`: every one), or those of a mapping."""

    parameter: str = ""
    given: dict[Name, Define] = Field({})


_MAPPING_SCHEMA = {"type": "object", "patternProperties": {NAME_SCHEMA["pattern"]: DEFINE_SCHEMA}}
_MACROS_SCHEMA = {
    "$comment": "`all`, a mapping: macro → its value, or a list of parameters and mappings",
    "anyOf": [
        {"const": "all"},
        _MAPPING_SCHEMA,
        {"type": "array", "items": {"anyOf": [{"type": "string"}, _MAPPING_SCHEMA]}},
    ],
}
Macros = Annotated[MacrosSpec, WithJsonSchema(_MACROS_SCHEMA)]


class CompileSpec(Spec):
    """Compilation of the source."""

    options: list[Text] = Field([], description="options for NVRTC, for example -lineinfo")
    include: list[Text] = Field([], description="include folders, relative to the job")
    defines: Macros = Field(
        MacrosSpec.model_validate({}),
        description="macros: `all` passes every parameter as -DNAME=VALUE; `[tile, {FAST: 1}]` some, and others",
    )
    contract: Literal["pinned", "native"] = Field(
        "pinned", description="pinned: ptxas never fuses a*b+c; native: it may"
    )
    host_code: Literal["blank", "keep"] = Field(
        "blank", description="blank: host code is removed before NVRTC compiles the source; keep: it is not"
    )
    arch: Annotated[str, AfterValidator(_arch), WithJsonSchema(_ARCH_SCHEMA)] = Field(
        "sm_90", description="the architecture to compile for"
    )

"""Models of how a source is compiled."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from gpuregress.foundation.document.forms import Reads, Spec, doc, plain_text
from gpuregress.foundation.document.problems import show
from gpuregress.gpu import architectures
from gpuregress.jobs.spec import templates
from gpuregress.jobs.spec.expressions import parse
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
Define = Annotated[int | float | str | PlainTextSpec, Reads(_define, DEFINE_SCHEMA)]


_ARCH_SCHEMA = {
    "type": "string",
    "pattern": rf"^sm_({'|'.join(map(str, architectures.KNOWN))})[af]?$|\{{[^{{}}]+\}}",
}


def _arch(value: Any) -> str:
    text = plain_text(value)
    problem = None if templates.is_template(text) else architectures.problem(text)
    if problem:
        raise ValueError(problem)
    return text


class MacrosSpec(Spec, frozen=True):
    """Macros: `all` parameters, a list of parameters and mappings, or a mapping from macros to their values."""

    is_named: ClassVar[bool] = False

    groups: list[MacroGroupSpec] = []

    @classmethod
    def adapted_schema(cls, mapping: dict[str, Any]) -> dict[str, Any]:
        """The forms of a file; the groups are how they travel."""
        return {**_MACROS_SCHEMA, "description": mapping["description"]}

    @classmethod
    def as_mapping(cls, value: Any) -> Any:
        """`all`, `[tile, {FAST: 1}]` and `{FAST: 1}` become groups, in order."""
        if isinstance(value, dict):
            return {"groups": [{"given": value}]}
        if value == "all":
            return {"groups": [{"parameter": "all"}]}
        if not isinstance(value, list) or not all(isinstance(item, str | dict) for item in value):
            wanted = "all, a mapping such as {TILE: tile}, or a list of parameters and mappings"
            raise ValueError(f"expected {wanted}, got {show(value)}")
        return {"groups": [{"parameter": item} if isinstance(item, str) else {"given": item} for item in value]}


class MacroGroupSpec(Spec, frozen=True):
    """Some of the macros: a parameter (`all`: every one), or those of a mapping."""

    is_named: ClassVar[bool] = False

    parameter: str = ""
    given: dict[Name, Define] = {}


_MAPPING_SCHEMA = {
    "type": "object",
    "patternProperties": {NAME_SCHEMA["pattern"]: DEFINE_SCHEMA},
    "additionalProperties": False,
}
_MACROS_SCHEMA = {
    "$comment": "`all`, a mapping: macro → its value, or a list of parameters and mappings",
    "anyOf": [
        {"const": "all"},
        _MAPPING_SCHEMA,
        {"type": "array", "items": {"anyOf": [{"type": "string"}, _MAPPING_SCHEMA]}},
    ],
}


class CompileSpec(Spec, frozen=True):
    """Compilation of the source."""

    options: Annotated[list[Text], doc("options for NVRTC, for example -lineinfo")] = []
    include: Annotated[list[Text], doc("include folders, relative to the job")] = []
    defines: Annotated[
        MacrosSpec, doc("macros: `all` passes every parameter as -DNAME=VALUE; `[tile, {FAST: 1}]` some, and others")
    ] = MacrosSpec()
    contract: Annotated[Literal["pinned", "native"], doc("pinned: ptxas never fuses a*b+c; native: it may")] = "pinned"
    host_code: Annotated[
        Literal["blank", "keep"], doc("blank: host code is removed before NVRTC compiles the source; keep: it is not")
    ] = "blank"
    arch: Annotated[str, Reads(_arch, _ARCH_SCHEMA), doc("the architecture to compile for")] = "sm_90"

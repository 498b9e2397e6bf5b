"""Models of how a source is compiled, and of the variants of its settings."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from gpuregress.foundation.document.forms import Reads, Spec, doc, plain_text
from gpuregress.foundation.document.keys import show
from gpuregress.gpu import architectures
from gpuregress.jobs.spec import templates
from gpuregress.jobs.spec.expressions import parse
from gpuregress.jobs.spec.models.values import NAME_SCHEMA, TEXT_MAPPING_SCHEMA, Name, PlainTextSpec, Switch, Text


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


_ARCHITECTURES = rf"^sm_({'|'.join(map(str, architectures.KNOWN))})[af]?$"


def _listed_arch(value: Any) -> str:
    problem = architectures.problem(str(value))
    if problem:
        raise ValueError(problem)
    return str(value)


def _arch(value: Any) -> str:
    text = plain_text(value)
    return text if templates.is_template(text) else _listed_arch(text)


ListedArch = Annotated[str, Reads(_listed_arch, {"type": "string", "pattern": _ARCHITECTURES})]
Arch = Annotated[str, Reads(_arch, {"type": "string", "pattern": rf"{_ARCHITECTURES}|\{{[^{{}}]+\}}"})]


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
    arch: Annotated[Arch, doc("the architecture to compile for")] = "sm_90"


# --- model of the variants of a case: compiler settings in whose combinations it is built and compared ----------------


AXES = ("fmad", "fast_math", "arch")
"""The settings that vary, in the order of the names of combinations."""


Switches = Annotated[list[Switch], Meta(min_length=1)]


class VariantsSpec(Spec, frozen=True):
    """Compiler settings. The case is built in every combination and compared with the first one."""

    fmad: Annotated[Switches | None, doc("whether the compiler fuses a*b+c into an fma (-fmad)")] = None
    fast_math: Annotated[Switches | None, doc("whether it takes fast instructions (--use_fast_math)")] = None
    arch: Annotated[Annotated[list[ListedArch], Meta(min_length=1)] | None, doc("architectures to compile for")] = None
    differences: Annotated[
        Literal["report", "fail"],
        doc("report: print what changes; fail: each buffer must keep its rule in every combination"),
    ] = "report"

    def check(self) -> None:
        """Refuse keys that do not fit together."""
        for name in AXES:
            values = getattr(self, name) or []
            if len(set(values)) < len(values):
                raise ValueError(f"{name} lists a value twice: {', '.join(values)}")
        if all(len(getattr(self, name) or ()) < 2 for name in AXES):
            raise ValueError("has one combination, and nothing to compare: give a list of two, such as fmad: [on, off]")

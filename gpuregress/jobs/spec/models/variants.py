"""Model of the variants of a case: compiler settings in whose combinations it is built and compared."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from gpuregress.foundation.document.problems import show
from gpuregress.gpu import architecture_names as architectures
from gpuregress.jobs.spec.models.base import Spec

AXES = ("fmad", "fast_math", "arch")
"""The settings that vary, in the order of the names of combinations."""


def _switch(value: Any) -> str:
    """YAML 1.2 reads `on` as text, and an editor may write true."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if value not in ("on", "off"):
        raise ValueError(f"expected on or off, got {show(value)}")
    return str(value)


Switch = Annotated[str, PlainValidator(_switch), WithJsonSchema({"enum": ["on", "off", True, False]})]
Switches = Annotated[list[Switch], Field(min_length=1)]


def _arch(value: Any) -> str:
    problem = architectures.problem(str(value))
    if problem:
        raise ValueError(problem)
    return str(value)


_ARCHITECTURES = rf"^sm_({'|'.join(map(str, architectures.KNOWN))})[af]?$"
Arch = Annotated[str, PlainValidator(_arch), WithJsonSchema({"type": "string", "pattern": _ARCHITECTURES})]


class VariantsSpec(Spec):
    """Compiler settings. The case is built in every combination and compared with the first one."""

    fmad: Switches | None = Field(None, description="whether the compiler fuses a*b+c into an fma (-fmad)")
    fast_math: Switches | None = Field(None, description="whether it takes fast instructions (--use_fast_math)")
    arch: Annotated[list[Arch], Field(min_length=1)] | None = Field(None, description="architectures to compile for")
    differences: Literal["report", "fail"] = Field(
        "report", description="report: tell what changes; fail: each buffer must keep its rule in every combination"
    )

    @model_validator(mode="after")
    def _combinations(self) -> VariantsSpec:
        for name in AXES:
            values = getattr(self, name) or []
            if len(set(values)) < len(values):
                raise ValueError(f"{name} lists a value twice: {', '.join(values)}")
        if all(len(getattr(self, name) or ()) < 2 for name in AXES):
            raise ValueError("has one combination, and nothing to compare: give a list of two, as fmad: [on, off]")
        return self

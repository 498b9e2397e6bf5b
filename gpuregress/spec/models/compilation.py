"""Models of how a source is compiled."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema

from gpuregress.document.problems import show
from gpuregress.spec.expressions import parse
from gpuregress.spec.models.base import Spec
from gpuregress.spec.models.values import Name, Text
from gpuregress.toolchain import architectures


class PlainTextSpec(Spec):
    """Text that is not an expression."""

    text: str = Field(description="passed to the compiler unchanged")


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
            raise ValueError(f"{error}; other text is written {{text: {value}}}") from None
        return value
    if isinstance(value, int | float):
        return value
    raise ValueError(f"expected a number, an expression or {{text: …}}, got {show(value)}")


Define = Annotated[
    int | float | str | PlainTextSpec,
    PlainValidator(_define),
    WithJsonSchema(
        {
            "$comment": "expression, or `{text: …}` for any other text",
            "anyOf": [
                *({"type": kind} for kind in ("number", "string", "boolean", "null")),
                {
                    "type": "object",
                    "properties": {"text": {"type": "string"}},
                    "required": ["text"],
                    "additionalProperties": False,
                },
            ],
        }
    ),
]


_ARCH_SCHEMA = {"type": "string", "pattern": f"^sm_({'|'.join(map(str, architectures.KNOWN))})[af]?$"}


def _arch(text: str) -> str:
    problem = architectures.problem(text)
    if problem:
        raise ValueError(problem)
    return text


class CompileSpec(Spec):
    """Compilation of the source."""

    options: list[Text] = Field([], description="options for NVRTC, for example -lineinfo")
    include: list[Text] = Field([], description="include folders, relative to the job")
    defines: dict[Name, Define] = Field({}, description="macro → its value, an expression: -DTILE=128")
    contract: Literal["pinned", "native"] = Field(
        "pinned", description="pinned: ptxas never fuses a*b+c; native: it may"
    )
    arch: Annotated[str, AfterValidator(_arch), WithJsonSchema(_ARCH_SCHEMA)] = Field(
        "sm_90", description="the architecture to compile for"
    )

"""Models of launches and their arguments."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from gpuregress.foundation import dtypes
from gpuregress.foundation.document.problems import show, suggestion
from gpuregress.jobs.spec import templates
from gpuregress.jobs.spec.models.base import Spec
from gpuregress.jobs.spec.models.values import LITERAL_SCHEMA, Constant, Expr, LiteralValue, Name, SourceText, Text
from gpuregress.toolchain import cxx_types


def dtype_hint(name: str) -> str:
    """Suggest a dtype for an unknown name: `; C's float is 'float32'`."""
    known = cxx_types.dtype_of_type(name)
    if known is not None:
        return f"; C's {name} is {known!r}"
    return suggestion(name, dtypes.known_names())


Extents = Annotated[list[Expr], Field(min_length=1, max_length=3)]


class GridSpec(Spec):
    """Blocks along x, y, z; or ceil(problem / product of its divisors) along each axis."""

    blocks: Extents | None = None
    problem: Extents | None = Field(None, description="the problem's size along x, y, z")
    divide: Annotated[list[list[Expr]], Field(max_length=3)] = Field([], description="the divisors along each axis")

    @model_validator(mode="before")
    @classmethod
    def _forms(cls, value: Any) -> Any:
        if isinstance(value, list):
            return {"blocks": value}
        if not isinstance(value, dict):
            wanted = "a list of 1 to 3 numbers or {problem: [...], divide: [...]}"
            raise ValueError(f"expected {wanted}, got {show(value)}")
        if "problem" not in value:
            raise ValueError("the problem's size is missing: {problem: [n, m], divide: [[block_x], [block_y]]}")
        if isinstance(value.get("divide"), list) and isinstance(value["problem"], list):
            given, axes = len(value["divide"]), len(value["problem"])
            if given > axes:
                raise ValueError(f"divide has {given} axes and problem has {axes}")
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Any:
        schema = handler.resolve_ref_schema(handler(core))
        blocks = schema["properties"].pop("blocks")
        schema["required"] = ["problem"]
        mapping = dict(schema)
        extents = next(option for option in blocks["anyOf"] if option.get("type") == "array")
        schema.clear()
        return {"anyOf": [extents, mapping], "description": cls.__doc__}


def _pointer(value: Any) -> dict[str, Any]:
    """The forms of a pointer: to a buffer with a tensor map, and to that map in global memory."""
    if isinstance(value, str):
        return {"kind": "buffer", "buffer": value, "as_pointer": True}
    if isinstance(value, dict) and list(value) == ["tensormap"] and isinstance(value["tensormap"], str):
        return {"kind": "buffer", "buffer": value["tensormap"], "in_memory": True}
    wanted = "a buffer's name, as {pointer: x}, or its tensor map, as {pointer: {tensormap: x}}"
    raise ValueError(f"pointer takes {wanted}; got {show(value)}")


class ArgumentSpec(Spec):
    """An argument of a kernel: a buffer's name, {dtype: value}, null, {struct: [...]}, {pointer: x, offset: 64}."""

    kind: Literal["buffer", "scalar", "null", "struct"]
    buffer: str = ""
    dtype: str = ""
    values: list[LiteralValue] = Field([])
    fields: list[ArgumentSpec] = Field([])
    as_pointer: bool = False
    in_memory: bool = False
    offset: Expr = 0

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Any:
        """The forms that a file has; the fields are how they travel."""
        travelling = handler.resolve_ref_schema(handler(core))
        members = {"type": "array", "items": travelling["properties"]["fields"]["items"], "minItems": 1}
        struct = {
            "type": "object",
            "properties": {"struct": {**members, "description": "its members, in order"}},
            "required": ["struct"],
            "additionalProperties": False,
        }
        pointer = {
            "type": "object",
            "properties": {
                "pointer": {
                    "description": "the address of a buffer with a tensor map, or of that map in global memory",
                    "anyOf": [
                        {"type": "string"},
                        {
                            "type": "object",
                            "properties": {"tensormap": {"type": "string", "description": "the buffer of the map"}},
                            "required": ["tensormap"],
                            "additionalProperties": False,
                        },
                    ],
                },
                "offset": {
                    "description": "bytes from the buffer's beginning",
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                },
            },
            "required": ["pointer"],
            "additionalProperties": False,
        }
        options = [{"type": "null"}, {"$comment": "a buffer's name", "type": "string"}, _SCALAR_SCHEMA, struct, pointer]
        return {"anyOf": options, "description": cls.__doc__}

    @model_validator(mode="before")
    @classmethod
    def _forms(cls, value: Any) -> Any:
        if value is None:
            return {"kind": "null"}
        if isinstance(value, str):
            return {"kind": "buffer", "buffer": value}
        if isinstance(value, dict) and set(value) == {"pointer", "offset"}:
            if not isinstance(value["pointer"], str):
                raise ValueError("offset counts bytes of a buffer, as {pointer: x, offset: 64}, not of a tensor map")
            return {**_pointer(value["pointer"]), "offset": value["offset"]}
        if isinstance(value, dict) and len(value) == 1:
            ((name, inner),) = value.items()
            if name == "pointer":
                return _pointer(inner)
            if name == "struct":
                if not isinstance(inner, list) or not inner:
                    raise ValueError("struct takes a list of arguments, as {struct: [x, {int32: n}]}")
                return {"kind": "struct", "fields": inner}
            return {"kind": "scalar", "dtype": name, "values": _scalar_values(name, inner)}
        hint = f"; write {{int32: {value}}}" if isinstance(value, int) and not isinstance(value, bool) else ""
        hint = f"; write {{float32: {value}}}" if isinstance(value, float) else hint
        hint = f"; write {{bool: {show(value)}}}" if isinstance(value, bool) else hint
        raise ValueError(
            f"expected a buffer's name, {{dtype: value}}, null or {{struct: [...]}}, got {show(value)}{hint}"
        )


_SCALAR_SCHEMA = {
    "$comment": "`{dtype: value}`",
    "type": "object",
    "patternProperties": {
        f"^({'|'.join(dtypes.known_names())})$|\\{{[^{{}}]+\\}}": {
            "anyOf": [*LITERAL_SCHEMA["anyOf"], {"type": "array", "items": LITERAL_SCHEMA, "minItems": 1}]
        }
    },
    "additionalProperties": False,
    "minProperties": 1,
    "maxProperties": 1,
    "description": "a scalar: dtype → its value, or a list of its parts",
}


def _scalar_values(name: str, inner: Any) -> list[Any]:
    values = inner if isinstance(inner, list) else [inner]
    if templates.is_template(str(name)):
        return values
    try:
        element = dtypes.parse(name)
    except ValueError:
        raise ValueError(f"unknown dtype {name!r}{dtype_hint(name)}") from None
    problem = count_problem(element, len(values))
    if problem:
        raise ValueError(problem)
    return values


def count_problem(element: dtypes.ElementType, count: int) -> str | None:
    """Explain why an argument has a wrong number of values; None if it is right."""
    if count == len(element.parts):
        return None
    wanted = "one value" if len(element.parts) == 1 else f"a list of {len(element.parts)} values"
    return f"{element.name} takes {wanted}, not {count}"


def _language_fills(schema: dict[str, Any]) -> None:
    """Leave out the keys that a language fills in: `JobSpec` asks for them where there is none."""
    schema["required"] = [name for name in schema["required"] if name not in ("kernel", "block")]


class LaunchSpec(Spec):
    """One launch of one kernel, or a step that is repeated."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=_language_fills)

    kernel: Annotated[str, Field(min_length=1, max_length=1000)] = Field(
        description="its C++ name, with namespace and template arguments: block_sum<float>; of an overloaded one also "
        "with the types of its parameters, scale(float*, int); or its mangled name; with language, the function of "
        "source"
    )
    grid: GridSpec = Field(description="blocks along x, y, z, or {problem: …, divide: …}")
    block: Extents = Field(description="threads along x, y, z; Triton fills them in")
    shared: Expr = Field(0, description="dynamic shared memory, bytes")
    args: list[ArgumentSpec] = Field([], description="in the kernel's order")
    repeat: Expr = Field(1, description="the number of repetitions; `step` counts 0, 1, … in expressions")
    source: SourceText | None = Field(
        None, description="the kernel's own source file, relative to the job; default: the job's source"
    )
    signature: dict[Name, Text] | None = Field(None, description="as the job's, for this kernel")
    constants: dict[Name, Constant] | None = Field(None, description="as the job's, for this kernel")
    num_warps: Expr | None = Field(None, description="as the job's, for this kernel")
    num_stages: Expr | None = Field(None, description="as the job's, for this kernel")
    num_ctas: Expr | None = Field(None, description="as the job's, for this kernel")
    swap: list[Annotated[list[Name], Field(min_length=2, max_length=2)]] = Field(
        [], description="pairs of buffers that exchange their memory after each step"
    )

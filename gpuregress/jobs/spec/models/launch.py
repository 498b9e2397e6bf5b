"""Models of launches with their arguments, and of device functions under test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from gpuregress.foundation import dtypes
from gpuregress.foundation.document.forms import Spec, doc
from gpuregress.foundation.document.keys import show
from gpuregress.foundation.wording import suggestion
from gpuregress.jobs.spec import templates
from gpuregress.jobs.spec.models.values import (
    LITERAL_SCHEMA,
    Constant,
    Expr,
    LiteralValue,
    MemberName,
    Name,
    SourceText,
    Text,
)
from gpuregress.toolchain import cxx_types

PYTHON_SETTINGS = ("signature", "constants", "num_warps", "num_stages", "num_ctas")
"""The keys for kernels in Python that a job, a launch and a reference may have."""


def dtype_hint(name: str) -> str:
    """Suggest a dtype for an unknown name: `; C's float is 'float32'`."""
    known = cxx_types.dtype_of_type(name)
    if known is not None:
        return f"; C's {name} is {known!r}"
    return suggestion(name, dtypes.known_names())


Extents = Annotated[list[Expr], Meta(min_length=1, max_length=3)]


class GridSpec(Spec, frozen=True):
    """Blocks along x, y, z; or ceil(problem / product of its divisors) along each axis."""

    blocks: Extents | None = None
    problem: Annotated[Extents | None, doc("the problem's size along x, y, z")] = None
    divide: Annotated[Annotated[list[list[Expr]], Meta(max_length=3)], doc("the divisors along each axis")] = []

    @classmethod
    def as_mapping(cls, value: Any) -> Any:
        """Take the short forms of the mapping."""
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
    def adapted_schema(cls, mapping: dict[str, Any]) -> dict[str, Any]:
        """Either the blocks, or a mapping."""
        properties = dict(mapping["properties"])
        extents = properties.pop("blocks")
        mapping = {**mapping, "properties": properties, "required": ["problem"]}
        return {"anyOf": [extents, mapping], "description": mapping["description"]}


def _pointer(value: Any) -> dict[str, Any]:
    """The forms of a pointer: to a buffer with a tensor map, and to that map in global memory."""
    if isinstance(value, str):
        return {"kind": "buffer", "buffer": value, "as_pointer": True}
    if isinstance(value, dict) and list(value) == ["tensormap"] and isinstance(value["tensormap"], str):
        return {"kind": "buffer", "buffer": value["tensormap"], "in_memory": True}
    wanted = "a buffer's name, such as {pointer: x}, or its tensor map, such as {pointer: {tensormap: x}}"
    raise ValueError(f"pointer takes {wanted}; got {show(value)}")


def _members(members: Mapping[str, Any]) -> dict[str, Any]:
    """Name each element of a member that is an array: `dims: [a, b]` are `dims[0]` and `dims[1]`."""
    named: dict[str, Any] = {}
    for name, member in members.items():
        if isinstance(member, list):
            for number, element in enumerate(member):
                named[f"{name}[{number}]"] = element
        else:
            named[name] = member
    return named


class ArgumentSpec(Spec, frozen=True):
    """An argument of a kernel: a buffer's name, {dtype: value}, null, {struct: {...}}, {pointer: x, offset: 64}."""

    kind: Literal["buffer", "scalar", "null", "struct"]
    buffer: str = ""
    dtype: str = ""
    values: list[LiteralValue] = []
    fields: list[ArgumentSpec] = []
    struct: dict[MemberName, ArgumentSpec] = {}
    as_pointer: bool = False
    in_memory: bool = False
    offset: Expr = 0

    @classmethod
    def adapted_schema(cls, mapping: dict[str, Any]) -> dict[str, Any]:
        """The forms that a file has; the fields are how they travel."""
        member = mapping["properties"]["fields"]["items"]
        elements = {"type": "array", "items": member, "minItems": 1}
        (pattern,) = mapping["properties"]["struct"]["patternProperties"]
        by_name = {
            "type": "object",
            "patternProperties": {pattern: {"anyOf": [member, elements]}},
            "additionalProperties": False,
            "minProperties": 1,
        }
        members = {"anyOf": [elements, by_name], "description": "its members by name, or all of them in order"}
        struct = {
            "type": "object",
            "properties": {"struct": members},
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
        return {"anyOf": options, "description": mapping["description"]}

    @classmethod
    def as_mapping(cls, value: Any) -> Any:
        """Take the short forms of the mapping."""
        if value is None:
            return {"kind": "null"}
        if isinstance(value, str):
            return {"kind": "buffer", "buffer": value}
        if isinstance(value, dict) and set(value) == {"pointer", "offset"}:
            if not isinstance(value["pointer"], str):
                raise ValueError("offset counts bytes of a buffer, as in {pointer: x, offset: 64}, not of a tensor map")
            return {**_pointer(value["pointer"]), "offset": value["offset"]}
        if isinstance(value, dict) and len(value) == 1:
            ((name, inner),) = value.items()
            if name == "pointer":
                return _pointer(inner)
            if name == "struct":
                if isinstance(inner, dict) and inner:
                    return {"kind": "struct", "struct": _members(inner)}
                if not isinstance(inner, list) or not inner:
                    raise ValueError("struct takes its members by name, as in {struct: {data: x, count: {int32: n}}}")
                return {"kind": "struct", "fields": inner}
            return {"kind": "scalar", "dtype": name, "values": _scalar_values(name, inner)}
        hint = f"; write {{int32: {value}}}" if isinstance(value, int) and not isinstance(value, bool) else ""
        hint = f"; write {{float32: {value}}}" if isinstance(value, float) else hint
        hint = f"; write {{bool: {show(value)}}}" if isinstance(value, bool) else hint
        raise ValueError(
            f"expected a buffer's name, {{dtype: value}}, null or {{struct: {{...}}}}, got {show(value)}{hint}"
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


class LaunchSpec(Spec, frozen=True):
    """One launch of one kernel, or a step that is repeated."""

    schema_extra: ClassVar[Mapping[str, Any]] = {"required": []}
    """A language fills in `kernel` and `block`, or takes `dim`: `JobSpec` asks for them where there is none."""

    kernel: Annotated[
        Annotated[str, Meta(min_length=1, max_length=1000)],
        doc(
            "its C++ name, with namespace and template arguments: block_sum<float>; of an overloaded one also "
            "with the types of its parameters, scale(float*, int); or its mangled name; with language, the function of "
            "source"
        ),
    ]
    grid: Annotated[GridSpec, doc("required but with dim: blocks along x, y, z, or {problem: …, divide: …}")]
    block: Annotated[Extents, doc("threads along x, y, z; Triton fills them in")]
    dim: Annotated[
        Annotated[list[Expr], Meta(min_length=1, max_length=4)] | None,
        doc("with language: warp, in place of grid and block: the dim of wp.launch, threads along each axis"),
    ] = None
    shared: Annotated[Expr, doc("dynamic shared memory, bytes")] = 0
    args: Annotated[list[ArgumentSpec], doc("in the kernel's order")] = []
    repeat: Annotated[Expr, doc("the number of repetitions; `step` counts 0, 1, … in expressions")] = 1
    source: Annotated[
        SourceText | None, doc("the kernel's own source file, relative to the job; default: the job's source")
    ] = None
    signature: Annotated[dict[Name, Text] | None, doc("as the job's, for this kernel")] = None
    constants: Annotated[dict[Name, Constant] | None, doc("as the job's, for this kernel")] = None
    num_warps: Annotated[Expr | None, doc("as the job's, for this kernel")] = None
    num_stages: Annotated[Expr | None, doc("as the job's, for this kernel")] = None
    num_ctas: Annotated[Expr | None, doc("as the job's, for this kernel")] = None
    swap: Annotated[
        list[Annotated[list[Name], Meta(min_length=2, max_length=2)]],
        doc("pairs of buffers that exchange their memory after each step"),
    ] = []


# --- models of a device function under test, and of the devices whose results are compared ----------------------------


CallScope = Literal["thread", "block"]
Twins = Annotated[list[Literal["host", "cpu", "cuda"]], Meta(min_length=1)]


class FunctionSpec(Spec, frozen=True):
    """A `__device__` function, which is called once for each element of the buffer `result`."""

    short_forms: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"$comment": "a function's name", "type": "string", "minLength": 1, "maxLength": 1000},
    )

    name: Annotated[
        Annotated[str, Meta(min_length=1, max_length=1000)],
        doc("its C++ name, with namespace, template arguments and, for an overload, parameter types"),
    ]
    scope: Annotated[CallScope, doc("block: all threads of a block make one call together")] = "thread"
    block: Annotated[Extents | None, doc("threads of a block along x, y, z; default: [256]")] = None
    blocks: Annotated[Expr | None, doc("for scope: block, the number of calls; default: the elements of result")] = None
    shared: Annotated[Expr, doc("dynamic shared memory, bytes")] = 0
    shared_arrays: Annotated[
        dict[Name, Expr], doc("for scope: block, pointer parameter → the elements of shared memory that it is given")
    ] = {}

    @classmethod
    def as_mapping(cls, value: Any) -> Any:
        """Take the short forms of the mapping."""
        if isinstance(value, str):
            return {"name": value}
        if not isinstance(value, dict):
            raise ValueError(f"expected a function, such as clampz<float>, or {{name: …, scope: …}}, got {show(value)}")
        return value

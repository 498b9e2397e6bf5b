"""Models of a device function under test, and of the devices whose results are compared."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from gpuregress.foundation.document.problems import show
from gpuregress.jobs.spec.models.base import Spec
from gpuregress.jobs.spec.models.launch import Extents
from gpuregress.jobs.spec.models.values import Expr, Name

CallScope = Literal["thread", "block"]
Twins = Annotated[list[Literal["host", "cpu", "cuda"]], Field(min_length=1)]


class FunctionSpec(Spec):
    """A `__device__` function, which is called once for each element of the buffer `result`."""

    name: Annotated[str, Field(min_length=1, max_length=1000)] = Field(
        description="its C++ name, with namespace, template arguments and, for an overload, parameter types"
    )
    scope: CallScope = Field("thread", description="block: all threads of a block make one call together")
    block: Extents | None = Field(None, description="threads of a block along x, y, z; default: [256]")
    blocks: Expr | None = Field(
        None, description="for scope: block, the number of calls; default: the elements of result"
    )
    shared: Expr = Field(0, description="dynamic shared memory, bytes")
    shared_arrays: dict[Name, Expr] = Field(
        {}, description="for scope: block, pointer parameter → the elements of shared memory that it is given"
    )

    @model_validator(mode="before")
    @classmethod
    def _forms(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"name": value}
        if not isinstance(value, dict):
            raise ValueError(f"expected a function, such as clampz<float>, or {{name: …, scope: …}}, got {show(value)}")
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Any:
        schema = handler.resolve_ref_schema(handler(core))
        mapping = dict(schema)
        text = {"$comment": "a function's name", "type": "string", "minLength": 1, "maxLength": 1000}
        schema.clear()
        return {"anyOf": [text, mapping], "description": cls.__doc__}

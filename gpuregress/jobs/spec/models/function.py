"""Models of a device function under test, and of the devices whose results are compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from gpuregress.foundation.document.forms import Spec, doc
from gpuregress.foundation.document.problems import show
from gpuregress.jobs.spec.models.launch import Extents
from gpuregress.jobs.spec.models.values import Expr, Name

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

"""Models of buffers that kernels read as textures or surfaces."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

import msgspec

from gpuregress.foundation.document.forms import Reads, Spec, doc
from gpuregress.foundation.document.problems import show

MODES = ("wrap", "clamp", "mirror", "border")


def _modes(value: Any) -> list[Any]:
    """One mode for all axes, or a list of them along x, y, z."""
    given = value if isinstance(value, list) else [value]
    wrong = next((mode for mode in given if mode not in MODES), None)
    if wrong is not None or not given:
        what = show(wrong) if given else "an empty list"
        raise ValueError(f"expected one of {', '.join(MODES)}, or a list of them along x, y, z; got {what}")
    return given


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError(f"expected true or false, got {show(value)}")


_MODES_SCHEMA = {
    "anyOf": [{"enum": list(MODES)}, {"type": "array", "items": {"enum": list(MODES)}, "minItems": 1, "maxItems": 3}]
}


def _surface(value: Any) -> bool | str:
    if isinstance(value, bool) or value == "layered":
        return cast("bool | str", value)
    raise ValueError(f"expected true, false or layered, got {show(value)}")


Modes = Annotated[list[str], Reads(_modes, _MODES_SCHEMA)]
Flag = Annotated[bool, Reads(_flag, {"type": "boolean"})]

Surface = Annotated[bool | str, Reads(_surface, {"enum": [True, False, "layered"]})]


class TextureSpec(Spec, frozen=True):
    """Texture object of a buffer. Kernels get a cudaTextureObject_t in place of a pointer."""

    filter: Annotated[Literal["point", "linear"], doc("linear interpolates between the nearest elements")] = "point"
    address: Annotated[Modes, doc("mode for coordinates outside; a list: along x, y, z")] = msgspec.field(
        default_factory=lambda: ["clamp"]
    )
    normalized: Annotated[Flag, doc("coordinates go from 0 to 1 (wrap and mirror need it)")] = False
    read: Annotated[
        Literal["element", "normalized_float"],
        doc("normalized_float: 8- and 16-bit integers become 0 to 1, or -1 to 1"),
    ] = "element"
    kind: Annotated[
        Literal["plain", "layered", "cube", "cube-layered"],
        doc("layered for tex1DLayered, tex2DLayered; cube for texCubemap, with six faces"),
    ] = "plain"
    memory: Annotated[Literal["array", "linear"], doc("array for tex1D, tex2D, tex3D; linear for tex1Dfetch")] = "array"

    @classmethod
    def as_mapping(cls, value: Any) -> Any:
        """Take the short forms of the mapping."""
        if not isinstance(value, dict):
            raise ValueError(f"expected a mapping, such as {{filter: linear}} or {{}}, got {show(value)}")
        return value

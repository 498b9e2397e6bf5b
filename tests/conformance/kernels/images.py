"""Images that kernels of the suite sample: what they hold, and how they are read.

Above a kernel, behind `// images:`, one entry for each, separated by semicolons: the element's type and channels, the
extents along x, y, z (the layers, or faces, last), and words: address modes (`wrap`, or `wrap/mirror` along x, y),
`linear` filtering, `normalized` coordinates, `share` (integers as parts of their largest), `memory` (linear memory, for
tex1Dfetch), `surface`, `layered`, `cube`, `cube-layered`. For instance

    // images: uint8*4 19x13 border; float32*1 16x16x4 wrap/mirror/clamp normalized; uint16*2 8x8 surface

The kernel takes the handles, in this order, as a third parameter: a struct.
"""

from __future__ import annotations

import math
import re
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.records import Texture
from gpuregress.gpu.descriptors import TextureDescription

Image = npt.NDArray[Any]
_ENTRY = re.compile(r"(?P<dtype>\w+)\*(?P<channels>[124]) (?P<extents>\d+(?:x\d+)*)(?P<words>(?: \S+)*)")
_MODES = ("clamp", "wrap", "mirror", "border")
_Kind = Literal["plain", "layered", "cube", "cube-layered"]
_KINDS: tuple[_Kind, ...] = ("layered", "cube", "cube-layered")
_LAYERED_ROW = 2


def parse(text: str) -> tuple[TextureDescription, ...]:
    """The images of a comment, in order."""
    return tuple(_entry(" ".join(item.split())) for item in text.split(";") if item.strip())


def _entry(text: str) -> TextureDescription:
    match = _ENTRY.fullmatch(text)
    assert match is not None, f"no image: {text!r}"
    sides = [int(side) for side in match["extents"].split("x")]
    words = match["words"].split()
    modes = next((word.split("/") for word in words if word.split("/")[0] in _MODES), ["clamp"])
    rest = {word for word in words if word.split("/")[0] not in _MODES}
    kind: _Kind = next((item for item in _KINDS if item in rest), "plain")
    assert rest <= {"linear", "normalized", "share", "memory", "surface", kind}, f"no words for an image: {rest}"
    if kind == "layered" and len(sides) == _LAYERED_ROW:
        sides.insert(1, 0)
    x, y, z = (*sides, 0, 0)[:3]
    first, second, third = ((modes * 3 if len(modes) == 1 else modes) + ["clamp"] * 3)[:3]
    sampler = Texture(
        filter="linear" if "linear" in rest else "point",
        address=(first, second, third),
        normalized="normalized" in rest,
        read="normalized_float" if "share" in rest else "element",
        memory="linear" if "memory" in rest else "array",
        surface="surface" in rest,
        kind=kind,
    )
    return TextureDescription(match["dtype"], int(match["channels"]), (x, y, z), sampler)


def content(description: TextureDescription, number: int) -> Image:
    """What an image holds: random elements; among floats also the largest, -0 and, of 16 bits, subnormal ones.

    Args:
        description: of the image.
        number: among its kernel's, so that no two hold the same.
    """
    random, kind = np.random.default_rng(number + 1), np.dtype(description.format)
    shape = (math.prod(max(1, extent) for extent in description.extents), description.channels)
    if kind.kind != "f":
        return random.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, kind, endpoint=True)
    actual = random.normal(0, 100, shape).astype(kind)
    special = [-0.0, np.inf, np.finfo(kind).max, 1.0] + ([6e-8] if kind == np.float16 else [])
    actual.reshape(-1)[: len(special)] = special
    return actual

"""PTX kernels that sample a texture at a place for each thread, and one call that launches them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.records import Texture
from gpuregress.gpu.descriptors import TextureDescription
from tests.virtual_gpu.running import Running

Array = npt.NDArray[Any]
_GEOMETRIES = {
    "1d": "tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f1}];",
    "2d": "tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f1, %f2}];",
    "3d": "tex.3d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f1, %f2, %f3, %f3}];",
    "cube": "tex.cube.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f1, %f2, %f3, %f3}];",
}
_KERNEL = """
.visible .entry at_GEOMETRY(.param .u64 texture, .param .u64 places, .param .u64 out)
{
    .reg .b64 %rd<8>; .reg .b32 %r<2>; .reg .f32 %f<8>;
    ld.param.u64 %rd1, [texture]; ld.param.u64 %rd2, [places]; ld.param.u64 %rd3, [out];
    mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %rd4, %r1, 16;
    add.s64 %rd5, %rd2, %rd4;
    add.s64 %rd6, %rd3, %rd4;
    ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd5];
    SAMPLE
    st.global.v4.f32 [%rd6], {%f4, %f5, %f6, %f7};
    ret;
}
"""
_HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


class Sampling:
    """A device with the kernels.

    Args:
        folder: where they are written.
    """

    def __init__(self, folder: Path) -> None:
        kernels = [_KERNEL.replace("GEOMETRY", name).replace("SAMPLE", text) for name, text in _GEOMETRIES.items()]
        self._running = Running(folder, _HEAD + "".join(kernels))

    def __call__(self, geometry: str, image: Array, places: Array, **sampler: Any) -> npt.NDArray[np.uint32]:
        """The bits of the four registers at each place.

        Args:
            geometry: `1d`, `2d`, `3d`, `cube`.
            image: the slowest axis first; one channel.
            places: (n, axes), float32.
            sampler: as in `records.Texture`.
        """
        extents = (*image.shape[::-1], 0, 0)[:3]
        width, height, depth = extents
        kind = {"kind": "cube"} if geometry == "cube" else {}
        description = TextureDescription(
            image.dtype.name,
            1,
            (width, height, depth),
            Texture(**sampler, **kind),  # type: ignore[arg-type]
        )
        handle = self._running.device.texture(self._running.put("image", np.ascontiguousarray(image)), description)
        padded = np.zeros((len(places), 4), np.float32)
        padded[:, : places.shape[1]] = places
        out = self._running.put("out", np.zeros_like(padded))
        given = (np.uint64(handle), self._running.put("places", padded), out)
        self._running.launch(f"at_{geometry}", len(places), 1, *given)
        return out.read().view(np.uint32).reshape(-1, 4)

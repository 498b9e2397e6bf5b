from __future__ import annotations

from gpuregress.virtual_gpu.parallel.affine import AddressMap, KernelLaunch
from gpuregress.virtual_gpu.runtime.memory import AddressSpace
from gpuregress.virtual_gpu.runtime.textures import Textures


def test_the_box_of_a_launch_has_the_range_of_each_coordinate() -> None:
    launch = KernelLaunch(None, (5, 4, 3), (32, 2, 1), b"", AddressMap(AddressSpace(), Textures(), {}))
    assert launch.blocks == 60
    assert {name: launch.box[name] for name in ("tid.x", "ntid.x", "ctaid.y", "nctaid.z")} == {
        "tid.x": (0, 31),
        "ntid.x": (32, 32),
        "ctaid.y": (0, 3),
        "nctaid.z": (3, 3),
    }

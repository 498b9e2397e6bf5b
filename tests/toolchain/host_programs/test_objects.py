from __future__ import annotations

from gpuregress.toolchain.host_programs.objects import HostArray, axes, dim3
from gpuregress.toolchain.host_programs.scalars import constant


def test_copies_in_a_circle_end() -> None:
    host, device = HostArray("h", None, ""), HostArray("d", None, "")
    host.source, device.source = device, host
    assert device.origins() == (device, host)


def test_what_a_dim3_does_not_say_is_one() -> None:
    sizes = axes(dim3((constant(16), constant(4))))
    assert sizes is not None
    assert [one.number for one in sizes] == [16, 4, 1]
    assert axes(None) is None

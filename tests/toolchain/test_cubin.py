from __future__ import annotations

import pytest

from gpuregress.foundation.records import Parameter
from gpuregress.toolchain import cubin, cubin_linker
from tests.toolchain.sample import PTX


def test_a_cubin_tells_its_kernels_and_variables() -> None:
    linked = cubin_linker.link(PTX, "sm_90", "k.ptx")
    module = cubin.parse(linked.cubin)
    assert [(p.size, p.kind) for p in module.entries["k"].parameters] == [(8, "word"), (4, "struct"), (24, "struct")]
    assert module.entries["k"].parameters[2] == Parameter(24, 8, "struct")
    assert linked.resources["k"]["registers"] > 0
    assert linked.resources["k"]["spill"] == 0
    assert module.arch == "sm_90"


@pytest.mark.parametrize("data", [b"", b"\x7fELF\x02\x01" + bytes(80), b"#!/bin/sh\n" * 20])
def test_what_is_no_cubin_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="it is"):
        cubin.parse(data)


def test_a_cubin_cut_short_is_refused() -> None:
    data = cubin_linker.link(PTX, "sm_90", "k.ptx").cubin
    for length in (70, len(data) // 2, len(data) - 8):
        with pytest.raises(ValueError, match="cut short"):
            cubin.parse(data[:length])

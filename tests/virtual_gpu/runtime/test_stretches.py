"""Rows of traces."""

from __future__ import annotations

from gpuregress.virtual_gpu.runtime.probe_sites import Stretch, TracedAccess


def test_a_row_has_a_key_iterations_addresses_and_the_branch() -> None:
    access = TracedAccess(0, "load", 4)
    assert Stretch("k", (), (access, access)).words == 4
    assert Stretch("k", (), (access,), branch=0).words == 4

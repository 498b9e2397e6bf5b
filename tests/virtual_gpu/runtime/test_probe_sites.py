"""Kinds of probes and their counters."""

from __future__ import annotations

from typing import get_args

from gpuregress.virtual_gpu.runtime.probe_sites import COUNTERS, ProbeKind


def test_each_kind_has_its_counters() -> None:
    assert set(COUNTERS) == set(get_args(ProbeKind))

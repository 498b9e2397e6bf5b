"""Temporary folder that all processes of one session of pytest-xdist share."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest


def of_session(config: pytest.Config) -> Path:
    """Return a folder that the processes of this session share, and no other session."""
    factory = getattr(config, "_tmp_path_factory", None)
    if factory is None:  # -p no:tmpdir
        return Path(tempfile.mkdtemp(prefix="gpuregress-pytest-"))
    base: Path = factory.getbasetemp()
    return base.parent if hasattr(config, "workerinput") else base

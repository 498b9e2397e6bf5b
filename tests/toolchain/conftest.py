from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpuregress.foundation.records import Source

Write = Callable[..., Source]


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has a cache of its own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("GPUREGRESS_CACHE", str(folder))
    return folder


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a source file and describes it: `write("__global__ void k() {}", kernels=("k",))`."""

    def write_source(text: str, name: str = "k.cu", **settings: object) -> Source:
        path = tmp_path / "kernels" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return Source(str(path), **settings)  # type: ignore[arg-type] # the settings are Source's own

    return write_source

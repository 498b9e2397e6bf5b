from __future__ import annotations

import os

import pytest

from gpuregress.execution import device_registry as registry


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One cache for all processes of the session, unless one was carried here with programs built elsewhere."""
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    os.environ.setdefault("GPUREGRESS_CACHE", str(folder / "cache"))


@pytest.fixture
def gpu() -> str:
    """A GPU's name; skips where there is none."""
    names = [name for name in registry.available() if name.startswith("cuda")]
    if not names:
        pytest.skip("no NVIDIA GPU, or no pycuda, on this machine")
    return names[0]

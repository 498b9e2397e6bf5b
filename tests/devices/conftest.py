from __future__ import annotations

import pytest

from gpuregress.execution import device_registry as registry


@pytest.fixture(scope="module", autouse=True)
def llvm_passes(without_llvm_passes: None) -> None:
    """None: what devices have in common does not depend on them."""


@pytest.fixture
def gpu() -> str:
    """A GPU's name; skips where there is none."""
    names = [name for name in registry.available() if name.startswith("cuda")]
    if not names:
        pytest.skip("no NVIDIA GPU, or no pycuda, on this machine")
    return names[0]

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def llvm_passes(without_llvm_passes: None) -> None:
    """None: what devices have in common does not depend on them."""

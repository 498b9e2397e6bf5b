"""What the tests of the virtual GPU share."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def llvm_passes(without_llvm_passes: None) -> None:
    """None, but in the modules that override this: they test what LLVM makes of the facts that we give it."""

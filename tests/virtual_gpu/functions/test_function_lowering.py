"""Lowering of functions: golden LLVM IR."""

from __future__ import annotations

import pytest

from tests.virtual_gpu.golden.record import FOLDER, NAMES, body


@pytest.mark.parametrize("name", NAMES)
def test_ptx_becomes_this_ir(name: str) -> None:
    """A change that is meant: `python -m tests.virtual_gpu.golden.record`, and read the diff."""
    assert body(name) == (FOLDER / f"{name}.ll").read_text()

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.store.baselines import BaselineStore


@pytest.fixture
def store(tmp_path: Path) -> BaselineStore:
    return BaselineStore(tmp_path / "baselines")

from __future__ import annotations

import functools
import sys
from pathlib import Path

import pytest

from gpuregress.session.request import Machinery
from tests.cli import workshop


@pytest.fixture
def shop(tmp_path: Path) -> workshop.Workshop:
    return workshop.make(tmp_path)


@pytest.fixture
def fake_shop(shop: workshop.Workshop, monkeypatch: pytest.MonkeyPatch) -> workshop.Workshop:
    """A project whose cases run on the fake device: everything but the device is real."""
    command = (sys.executable, "-m", "tests.fake_worker")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))  # `tests` is found from any folder
    monkeypatch.setattr("gpuregress.session.session.Machinery", functools.partial(Machinery, command=command))
    return shop

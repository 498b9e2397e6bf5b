"""The user's home folder, where there is one and where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation import user_home
from gpuregress.foundation.errors import HarnessError


def test_the_home_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert user_home.home() == Path("/somewhere")
    assert user_home.configuration() == Path("/somewhere/.config")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/elsewhere")
    assert user_home.configuration() == Path("/elsewhere")


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", fail)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert user_home.home() is None
    with pytest.raises(HarnessError, match="no home folder: set HOME or XDG_CONFIG_HOME"):
        user_home.configuration()
    monkeypatch.setenv("XDG_CONFIG_HOME", "/elsewhere")
    assert user_home.configuration() == Path("/elsewhere")

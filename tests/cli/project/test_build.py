"""`gpuregress build`: programs compiled into a cache."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.workshop import Workshop


@pytest.mark.parametrize("arch", ["$(id)", "sm_70", "sm_90 "])
def test_an_architecture_that_is_none(shop: Workshop, arch: str) -> None:
    shop.job()
    assert "sm_90" in shop.fails(2, "build", "--arch", arch)


def test_what_is_built_is_found_by_a_machine_without_a_compiler(
    shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "unused"))
    result = shop.call("build", "--ptx-only", "--json", "--cache", str(tmp_path / "built"))
    document = json.loads(result.stdout)
    assert (result.exit_code, document["programs"], document["errors"]) == (0, 1, [])
    assert len(list((tmp_path / "built").rglob("*.ptx"))) == 1

"""`gpuregress doctor`: the table, the remedies and the exit code."""

from __future__ import annotations

import json

import pytest

from gpuregress.session import doctor
from tests.workshop import Workshop

WELL = doctor.HealthCheck("both", "python", "3.11", well=True)
LACKING = doctor.HealthCheck("cuda", "driver", "not installed", well=False, mend="install the driver")


@pytest.mark.parametrize(("devices", "code"), [(("cpu",), 0), ((), 4)])
def test_the_exit_code_says_whether_some_device_can_run(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, devices: tuple[str, ...], code: int
) -> None:
    monkeypatch.setattr(doctor, "examine", lambda _configs: doctor.Health((WELL, LACKING), devices))
    result = shop.call("doctor")
    assert result.exit_code == code
    assert f"can run on: {devices[0] if devices else 'nothing'}" in result.stdout
    assert result.stdout.partition("to mend:")[2].split()[:6] == [
        "piece",
        "command",
        "driver",
        "install",
        "the",
        "driver",
    ]
    document = json.loads(shop.call("doctor", "--json").stdout)
    assert [piece["name"] for piece in document["pieces"]] == ["python", "driver"]


def test_this_machine_runs_on_the_cpu(shop: Workshop) -> None:
    assert "cpu" in json.loads(shop.call("doctor", "--json").stdout)["devices"]

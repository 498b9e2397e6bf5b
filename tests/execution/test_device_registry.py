from __future__ import annotations

import pytest

from gpuregress.execution import device_registry as registry
from gpuregress.execution.cuda import prerequisites
from gpuregress.foundation.errors import DeviceError, UsageError


@pytest.mark.parametrize(
    ("name", "expected"),
    [("cpu", ("cpu", 0)), ("cuda", ("cuda", 0)), ("cuda:0", ("cuda", 0)), ("cuda:12", ("cuda", 12))],
)
def test_names(name: str, expected: tuple[str, int]) -> None:
    assert registry.parse(name) == expected


@pytest.mark.parametrize("name", ["", "gpu", "cuda:", "cuda:-1", "cpu:0", "cuda0", "auto"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="there are cpu, cuda and cuda:N"):
        registry.open_device(name)


def test_all_cards_are_listed_behind_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prerequisites, "usable_gpus", lambda: 2)
    assert registry.available() == ("cpu", "cuda:0", "cuda:1")


def test_without_pycuda_the_message_says_what_to_install() -> None:
    if prerequisites.usable_gpus():
        pytest.skip("there is a GPU here")
    with pytest.raises(DeviceError, match=r"pip install|driver"):
        registry.open_device("cuda:0")

from __future__ import annotations

import pytest

from gpuregress.execution import device_registry as registry
from gpuregress.execution.cluster.members import Devices
from gpuregress.execution.cuda import nvml, prerequisites
from gpuregress.foundation.errors import DeviceError, UsageError
from gpuregress.gpu.records import replace
from gpuregress.session import device_slots
from tests import fakes


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(registry, "available", lambda: ("cpu", "cuda:0", "cuda:1"))


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "available", lambda: ("cpu",))


def test_the_cpu_has_a_worker_a_core_or_as_many_as_asked() -> None:
    assert len(device_slots.select("cpu").slots) >= 1
    assert [slot.label for slot in device_slots.select("cpu", 3).slots] == ["cpu"] * 3


@pytest.mark.usefixtures("gpus")
def test_cuda_is_every_card_one_worker_each() -> None:
    choice = device_slots.select("cuda")
    assert (choice.kind, choice.name) == ("cuda", "cuda:0, cuda:1")
    assert [slot.environment["CUDA_VISIBLE_DEVICES"] for slot in choice.slots] == ["0", "1"]
    assert {slot.device for slot in choice.slots} == {"cuda:0"}


@pytest.mark.usefixtures("gpus")
def test_one_card_can_be_named() -> None:
    choice = device_slots.select("cuda:1")
    assert [slot.label for slot in choice.slots] == ["cuda:1"]


@pytest.mark.usefixtures("gpus")
def test_auto_takes_the_gpus_and_says_why() -> None:
    choice = device_slots.select("auto")
    assert choice.kind == "cuda"
    assert "2 GPUs" in choice.why


@pytest.mark.usefixtures("gpus")
def test_the_users_own_choice_of_cards_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,GPU-abc")
    assert [slot.environment["CUDA_VISIBLE_DEVICES"] for slot in device_slots.select("cuda").slots] == ["5", "GPU-abc"]


@pytest.mark.usefixtures("no_gpu")
def test_auto_without_a_gpu_is_the_cpu() -> None:
    assert device_slots.select("auto").kind == "cpu"


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("wanted", ["cuda", "cuda:0"])
def test_a_gpu_that_is_not_there_is_an_error_that_says_what_helps(wanted: str) -> None:
    with pytest.raises(DeviceError, match="doctor"):
        device_slots.select(wanted)


@pytest.mark.parametrize("wanted", ["gpu", "cuda:", "cuda:x", "CPU", "cpu:0", ""])
def test_a_device_of_no_such_name_is_a_usage_error(wanted: str) -> None:
    with pytest.raises(UsageError, match="cuda"):
        device_slots.select(wanted)


def test_cards_of_another_architecture_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "available", lambda: ("cpu", "cuda:0", "cuda:1", "cuda:2"))
    monkeypatch.setattr(
        prerequisites, "architectures", lambda: {"cuda:0": "sm_90", "cuda:1": "sm_80", "cuda:2": "sm_90"}
    )
    choice = device_slots.select("cuda")
    assert [slot.label for slot in choice.slots] == ["cuda:0", "cuda:2"]
    assert (choice.arch, choice.why) == ("sm_90", "cuda:1 is left out: not sm_90 as cuda:0")
    assert device_slots.select("cuda:1").arch == "sm_80"
    assert len(device_slots.select("cuda", jobs=4).slots) == 4


def test_devices_of_a_cluster_are_slots_with_their_hosts() -> None:
    selected = device_slots.of_cluster(Devices("cuda", "sm_90", "2 GPUs"), ("cuda:0@a", "cuda:1@a"))
    assert (selected.kind, selected.name, selected.arch, selected.is_remote) == ("cuda", "cuda", "sm_90", True)
    assert [slot.label for slot in selected.slots] == ["cuda:0@a", "cuda:1@a"]
    assert selected.slot("cuda:0@joined-later").label == "cuda:0@joined-later"


def test_a_case_of_another_card_is_not_for_this_gpu() -> None:
    case = fakes.case("double")
    other = replace(case, source=replace(case.source, card="sm_80"))
    gpu = device_slots.DeviceSelection("cuda", "cuda:0", "", (), "sm_90")
    cpu = device_slots.DeviceSelection("cpu", "cpu", "", ())
    assert gpu.lack(other) == "its job has `card: sm_80`, and the GPU is sm_90"
    assert (gpu.lack(case), cpu.lack(other)) == ("", "")
    assert cpu.lack(replace(case, devices=("cuda",))) == "its job runs on cuda only"


def test_only_the_cards_that_are_used_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def cards(numbers: object = None) -> tuple[dict[str, str], ...]:
        asked.append(numbers)
        return ({"uuid": "GPU-0"}, {"uuid": "GPU-1", "name": "NVIDIA X"})

    monkeypatch.setattr(nvml, "cards", cards)
    monkeypatch.setattr(registry, "available", lambda: ("cpu", "cuda:0", "cuda:1"))
    monkeypatch.setattr(prerequisites, "architectures", lambda: {"cuda:0": "sm_90", "cuda:1": "sm_90"})
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert device_slots.select("cuda:1").cards == {"cuda:1": {"uuid": "GPU-1", "name": "NVIDIA X"}}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-1")
    assert device_slots.select("cuda:0").cards == {"cuda:0": {"uuid": "GPU-1", "name": "NVIDIA X"}}
    assert asked == [{1}, None]

from __future__ import annotations

import importlib.util

import pytest

from gpuregress.execution.cuda import nvml, prerequisites


def _with(monkeypatch: pytest.MonkeyPatch, status: int | None, count: int = 0) -> None:
    monkeypatch.setattr(prerequisites, "_cuda", lambda: (status, count))
    monkeypatch.setattr(prerequisites, "_managed", lambda: None)


@pytest.mark.parametrize(
    ("status", "count", "piece", "mend"),
    [
        (None, 0, "driver", "install NVIDIA's driver"),
        (34, 0, "driver", "LD_LIBRARY_PATH"),
        (803, 0, "driver", "reboot"),
        (100, 0, "gpu", "nvidia-smi"),
        (0, 0, "gpu", "nvidia-smi"),
        (999, 0, "driver", "nvidia-smi"),
    ],
)
def test_each_lack_has_what_mends_it(
    monkeypatch: pytest.MonkeyPatch, status: int | None, count: int, piece: str, mend: str
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    _with(monkeypatch, status, count)
    prerequisite = prerequisites.prerequisites()[0]
    assert (prerequisite.piece, prerequisite.needed) == (piece, True)
    assert prerequisite.problem
    assert mend in prerequisite.mend
    assert prerequisites.explain_init("whatever") == f"{prerequisite.problem}: {prerequisite.mend}"


def test_a_card_hidden_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    _with(monkeypatch, 100)
    assert prerequisites.prerequisites()[0].mend == "unset CUDA_VISIBLE_DEVICES"


def test_nothing_is_wrong_where_all_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    _with(monkeypatch, 0, 2)
    monkeypatch.setattr(nvml, "cards", lambda: ({"compute_mode": "default", "persistence": "on"},) * 2)
    assert not [
        prerequisite
        for prerequisite in prerequisites.prerequisites()
        if prerequisite.problem and prerequisite.piece != "pycuda"
    ]


def test_modes_of_the_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "cards", lambda: ({}, {"compute_mode": "prohibited", "persistence": "off"}))
    mends = [prerequisite.mend for prerequisite in prerequisites.prerequisites()]
    assert "sudo nvidia-smi -i 1 -c DEFAULT" in mends
    assert "sudo nvidia-smi -i 1 -pm 1" in mends


def test_no_pycuda_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    _with(monkeypatch, 0, 4)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert prerequisites.usable_gpus() == 0
    assert "pip install 'gpuregress[cuda]'" in prerequisites.explain_import(ImportError("no module"))
    assert "cuda.h, cudaProfiler.h and curand.h" in prerequisites.explain_import(ImportError("no module"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    assert prerequisites.usable_gpus() == 4
    assert "no NVIDIA driver" in prerequisites.explain_import(
        ImportError("libcuda.so.1: cannot open shared object file")
    )


def test_the_visible_cards() -> None:
    cards = ("sm_90", "sm_80", "sm_75")
    assert prerequisites._visible(cards, None) == cards
    assert prerequisites._visible(cards, "2, 0") == ("sm_75", "sm_90")
    for only_cuda_knows in ("", "3", "0,-1", "0,0", "GPU-1", "MIG-1"):
        assert prerequisites._visible(cards, only_cuda_knows) is None
    assert prerequisites._visible((), None) is None


def test_cards_are_counted_without_starting_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prerequisites, "_managed", lambda: ("sm_90", "sm_80"))
    monkeypatch.setattr(prerequisites, "_cuda", lambda: pytest.fail("CUDA was started"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    assert prerequisites.usable_gpus() == 2
    assert prerequisites.architectures() == {"cuda:0": "sm_90", "cuda:1": "sm_80"}

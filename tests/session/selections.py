"""Device selections of tests: one GPU, the CPU."""

from __future__ import annotations

from gpuregress.execution.workers.worker_process import DeviceSlot
from gpuregress.session.device_slots import DeviceSelection

GPU = DeviceSelection("cuda", "cuda:1", "", (DeviceSlot("cuda:0", "cuda:1", {"CUDA_VISIBLE_DEVICES": "1"}),), "sm_86")


CPU = DeviceSelection("cpu", "cpu", "", (DeviceSlot("cpu", "cpu"),))

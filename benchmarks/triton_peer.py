"""Kernels run by Triton's interpreter (TRITON_INTERPRET=1), for the benchmark `triton`.

The interpreter wants tensors; those of numpy suffice, so PyTorch is not needed.

    python -P triton_peer.py INPUT.npz OUTPUT.npz
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


class Storage:
    """The memory of an array, which the interpreter copies to the host and back."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def cpu(self) -> Storage:
        return self

    def copy_(self, _other: Storage) -> None:
        """The host's memory is the device's."""


class Tensor:
    """An array as the interpreter takes it: what it uses of PyTorch's tensors."""

    def __init__(self, array: Any, dtype: str) -> None:
        self.array, self.dtype = array, dtype

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def untyped_storage(self) -> Storage:
        return Storage(self.array)

    def new_empty(self, _count: int, device: str) -> Tensor:
        del device
        return Tensor(self.array, self.dtype)

    def set_(self, storage: Storage, *_: Any) -> None:
        self.array = storage.array

    def storage_offset(self) -> int:
        return 0

    def size(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    def stride(self) -> tuple[int, ...]:
        return tuple(size // self.array.itemsize for size in self.array.strides)


def main(source: str, target: str) -> None:
    with np.load(source) as given:
        task = json.loads(str(given["task"]))
        arrays = {name: given[name].copy() for name in given.files if name != "task"}
    spec = importlib.util.spec_from_file_location("kernels_of_the_benchmark", task["file"])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    kernel = getattr(module, task["kernel"])
    args = [Tensor(arrays[item], task["dtypes"][item]) if isinstance(item, str) else item for item in task["args"]]
    start = time.perf_counter()
    kernel[tuple(task["grid"])](*args, **task["constants"])
    seconds = time.perf_counter() - start
    np.savez(target, seconds=seconds, **arrays)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
    sys.stdout.flush()
    assert Path(sys.argv[2]).is_file()

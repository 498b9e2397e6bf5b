"""A replay notes what the kernel touches, and compares with the card's result."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from gpuregress.foundation.records import to_json
from gpuregress.gpu.records import replace
from gpuregress.lab.capture.replay import process
from gpuregress.lab.capture.replay.launch import Patch, ReplayMemory, Request, read_answer
from tests.lab.capture.conftest import FAKE


def request(folder: Path) -> Request:
    """saxpy on arrays at 512 and 8192 of one allocation."""
    n, pool = 1001, np.arange(16384, dtype=np.float32)
    (folder / "before").write_bytes(pool.tobytes())
    pool[2048 : 2048 + n] += np.float32(0.5) * pool[128 : 128 + n]
    (folder / "after").write_bytes(pool.tobytes())
    return Request(
        str(FAKE / "kernels.ptx"), "_Z5saxpyIfEvT_PKS0_PS0_i", (4, 1, 1), (256, 1, 1), 0,
        (np.float32(0.5).tobytes().hex(), bytes(8).hex(), bytes(8).hex(), n.to_bytes(4, "little").hex()),
        (0, 8, 16, 24),
        (ReplayMemory("pool", str(folder / "before"), 0, 65536, "", str(folder / "after")),),
        (Patch(8, 0, 512), Patch(16, 0, 8192)), True,
    )  # fmt: skip


def test_touched_bytes_and_equal_bits(tmp_path: Path) -> None:
    answer = process.replay(request(tmp_path))
    assert answer.read == (((512, 4516), (8192, 12196)),)
    assert answer.written == (((8192, 12196),),)
    assert answer.is_equal


def test_differences_and_faults_are_answers(tmp_path: Path) -> None:
    given = request(tmp_path)
    wrong = np.fromfile(tmp_path / "after", np.uint8)
    wrong[9001] ^= 1
    (tmp_path / "after").write_bytes(wrong.tobytes())
    answer = process.replay(replace(given, notes=False))
    assert (answer.differing, answer.first, answer.read) == ((1,), (9001,), ((),))
    path = tmp_path / "request.json"
    short = replace(
        given,
        notes=False,
        memories=(ReplayMemory("pool", str(tmp_path / "before"), 0, 8192),),
        patches=(Patch(8, 0, 512), Patch(16, 0, 4096)),
    )
    path.write_text(
        json.dumps(
            to_json(
                replace(short, grid=(5, 1, 1), parameters=(*short.parameters[:3], (1100).to_bytes(4, "little").hex()))
            )
        )
    )
    process.main([str(path)])
    assert read_answer(path.with_suffix(".answer")).is_fault

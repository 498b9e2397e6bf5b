"""Arrivals of bulk copies: a wait of the reader's own, or one of a thread that it comes behind."""

from __future__ import annotations

import numpy as np
import pytest

from tests.checks.planted import detection
from tests.devices.cpu.running import Running
from tests.devices.cpu.runtime.checks.test_bulk_notes import _HEAD

ARRIVE = 'asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0];}" :: "r"(AT(&next)) : "memory");'
BODIES = {
    "own_wait": "wait(&bar, 0); z[t] = s[95 - t];",
    "none_racy": "if (t < 32) wait(&bar, 0); z[t] = s[95 - t];",
    "behind_barrier": "if (t == 70) wait(&bar, 0); __syncthreads(); z[t] = s[95 - t];",
    "behind_the_warp": "if (t % 32 == 7) wait(&bar, 0); __syncwarp(); z[t] = s[95 - t];",
    "behind_another_mbarrier": f"if (t < 32) {{ wait(&bar, 0); {ARRIVE} }} else wait(&next, 0); z[t] = s[95 - t];",
    "behind_arrival_of_none_racy": f"if (t < 32) {{ {ARRIVE} wait(&bar, 0); }} else wait(&next, 0); z[t] = s[95 - t];",
    "overwritten_racy": "if (t < 32) wait(&bar, 0); s[95 - t] = t; z[t] = s[95 - t];",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    head = (
        "__shared__ __align__(128) int s[96]; __shared__ __align__(8) long long bar, next; int t = threadIdx.x;"
        'if (!t) { init(&bar); asm volatile("mbarrier.init.shared.b64 [%0], 32;" :: "r"(AT(&next)) : "memory"); }'
        "s[t] = 0; __syncthreads(); if (t == 40) load(s + 32, x, &bar);"
    )
    signature = 'extern "C" __global__ void {}(int* z, const int* x) {{ '
    text = _HEAD + "\n".join(f"{signature.format(name)} {head} {body} }}" for name, body in BODIES.items())
    return Running(tmp_path_factory.mktemp("deliveries"), text, is_small=True, checks=("races",))


@pytest.mark.parametrize("kernel", BODIES)
def test_a_thread_comes_behind_a_wait(program: Running, kernel: str) -> None:
    z = program.put("z", np.zeros(96, np.int32))
    x = program.put("x", np.arange(64, dtype=np.int32))
    messages = [finding.message for finding in program.launch(kernel, 1, 96, z, x).findings]
    assert bool(messages) == kernel.endswith("racy"), messages


def test_the_text_names_the_thread_that_has_issued_the_copy() -> None:
    (said,) = detection.run("copies", planted=True, names=("copies_bulk_other_waits",), checks=("races",))
    (finding,) = said[1]
    assert "asynchronous copy by thread (0,0,0) of block (0,0,0)" in finding.text
    assert "with no wait for the copy" in finding.text

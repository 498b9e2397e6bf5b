from __future__ import annotations

import re

from gpuregress.virtual_gpu.compilation.translate import llvm_text
from tests.virtual_gpu.running import ptx_of

SOURCE = r"""
extern "C" __global__ void wait(int n) {
  if (n) asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
}
"""


def test_a_fault_in_python_leaves_the_kernel() -> None:
    text = llvm_text(ptx_of(SOURCE), ["wait"])
    calls = re.findall(r"call i64 %\S+\(i64 (\d+), ptr", text)
    assert calls == ["65536", "65536", "65538"]
    assert text.count("answered:") + text.count("answered.1:") == 2

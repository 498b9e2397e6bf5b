from __future__ import annotations

from gpuregress.foundation.records import CompiledLaunch, Entry, PythonKernel, from_json, to_json


def test_the_words_of_a_kernel_are_its_options() -> None:
    kernel = PythonKernel("triton", "k", {"x": "*fp32"}, {"BLOCK": 64, "FAST": True}, {"num_warps": 4})
    assert kernel.words == ("x: *fp32", "BLOCK=64", "FAST=True", "num_warps=4")


def test_a_kernel_and_its_launch_survive_json() -> None:
    kernel = PythonKernel("triton", "k", {"x": "*fp32"}, {"a": 64, "b": True, "c": 0.5, "d": "tl.float16", "e": None})
    assert from_json(PythonKernel, to_json(kernel)) == kernel
    entry = Entry("k", (), CompiledLaunch((128, 1, 1), 16, hidden=(0, 0)))
    assert from_json(Entry, to_json(entry)) == entry
    assert to_json(CompiledLaunch()) == {}

from __future__ import annotations

import pytest

from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import Argument, Buffer, CompiledDescriptor
from gpuregress.gpu.descriptors import TensorMap
from gpuregress.gpu.records import replace
from gpuregress.jobs.plan.compiled_launches import descriptor_fields

X = Argument("buffer", buffer="x")
BUFFER = Buffer("x", "float16", (100, 136))
MAP = TensorMap("float16", (136, 100), (272,), (64, 32), (1, 1), swizzle="128B")


def texts(arguments: list[Argument]) -> list[str]:
    return [f"{one.dtype} {one.text}" if one.kind == "scalar" else one.buffer for one in arguments]


def test_a_map_extents_and_strides() -> None:
    added: dict[str, Buffer] = {}
    passed = descriptor_fields(X, BUFFER, CompiledDescriptor(0, 2, (32, 64), "128B"), added)
    assert passed[0] == replace(X, as_map=True)
    assert texts(passed) == ["x", "int32 100", "int32 136", "int64 136", "int64 1"]
    assert added == {"x": replace(BUFFER, tensor_map=MAP)}


def test_the_jobs_map_tells_extents_strides_and_what_is_outside() -> None:
    given = TensorMap("float16", (64, 50), (544,), (64, 32), (1, 1), oob_fill="nan")
    added: dict[str, Buffer] = {}
    passed = descriptor_fields(X, replace(BUFFER, tensor_map=given), CompiledDescriptor(0, 2, (32, 64), "64B"), added)
    assert texts(passed)[1:] == ["int32 50", "int32 64", "int64 272", "int64 1"]
    assert added["x"].tensor_map == replace(given, swizzle="64B")


def test_without_a_map_a_pointer_is_passed() -> None:
    added: dict[str, Buffer] = {}
    passed = descriptor_fields(replace(X, as_map=True), BUFFER, CompiledDescriptor(0, 2), added)
    strides = ["int64 136", "int64 1"]
    wide = ["int64 100", "int64 136", *strides, "uint8 0", "uint8 0"]
    assert texts(passed) == ["x", *wide, "int32 100", "int32 136", *strides]
    assert (passed[0].as_map, added) == (False, {})


def test_one_buffer_has_one_map() -> None:
    added = {"x": replace(BUFFER, tensor_map=MAP)}
    assert descriptor_fields(X, added["x"], CompiledDescriptor(0, 2, (32, 64), "128B"), added)
    with pytest.raises(CompileError, match=r"x is taken as two descriptors with different maps .*: give the kernels"):
        descriptor_fields(X, added["x"], CompiledDescriptor(0, 2, (32, 64), "64B"), added)

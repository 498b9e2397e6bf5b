from __future__ import annotations

from gpuregress.toolchain.headers.library_files import library_files
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Instruction, SourceLine
from tests.virtual_gpu.ptx.printing import HEAD


def test_lines_name_the_innermost_frame_and_the_calls() -> None:
    text = (
        HEAD
        + """
    .visible .entry k() {
      .loc 1 10 3
      mov.u32 %r1, 1;
      .loc 2 5 1, function_name $L__info_string0, inlined_at 1 10 3
      mov.u32 %r1, 2;
      .loc 2 7 1, function_name $L__info_string1+3, inlined_at 2 5 1
      mov.u32 %r1, 3;
      .loc 1 0 3
      mov.u32 %r1, 4;
      .loc 3 9 1, function_name $L__info_string1+3, inlined_at 2 5 1
      .loc 4 80 1, function_name $L__info_string1+3, inlined_at 3 9 1
      mov.u32 %r1, 5;
      .loc 2 0 1, function_name $L__info_string1+3, inlined_at 1 11 3
      mov.u32 %r1, 6;
    }
    .file 1 "/home/me/saxpy.cu"
    .file 2 "/usr/include/header.h"
    .file 3 "cooperative_groups.h"
    .file 4 "/usr/local/cuda/targets/x86_64-linux/include/cooperative_groups/details/sync.h"
    .section .debug_str { $L__info_string0: .b8 95, 90 }
    """
    )
    libraries = (
        "cooperative_groups.h",
        "/usr/local/cuda/targets/x86_64-linux/include/cooperative_groups/details/sync.h",
    )
    assert library_files(text) == libraries
    body = parse(text, library_files=libraries).functions[0].body
    assert body is not None
    lines = [item.source for item in body if isinstance(item, Instruction)]
    call = ("saxpy.cu", 10)
    library = (("sync.h", 80), ("cooperative_groups.h", 9))
    assert lines == [
        SourceLine("saxpy.cu", 10),
        SourceLine("header.h", 5, (call,)),
        SourceLine("header.h", 7, (("header.h", 5), call)),
        SourceLine("header.h", 7, (("header.h", 5), call)),
        SourceLine("header.h", 5, (call,), library),
        SourceLine("saxpy.cu", 11),
    ]
    assert str(lines[2]) == "header.h:7, called at header.h:5, called at saxpy.cu:10"


def test_a_function_under_test_keeps_its_own_line() -> None:
    text = (
        HEAD
        + """
    .visible .entry gpuregress_call() {
      .loc 1 88 5
      mov.u32 %r1, 1;
      .loc 2 12 18, function_name $L__info_string0, inlined_at 1 88 5
      mov.u32 %r1, 2;
      .loc 2 3 1, function_name $L__info_string0, inlined_at 2 13 5
      .loc 2 13 5, function_name $L__info_string0, inlined_at 1 88 5
      .loc 2 3 1, function_name $L__info_string0, inlined_at 2 13 5
      mov.u32 %r1, 3;
    }
    .file 1 "gpuregress_call"
    .file 2 "clamp.cuh"
    .section .debug_str { $L__info_string0: .b8 95, 90 }
    """
    )
    body = parse(text).functions[0].body
    assert body is not None
    lines = [item.source for item in body if isinstance(item, Instruction)]
    assert lines == [
        SourceLine("gpuregress_call", 88),
        SourceLine("clamp.cuh", 12),
        SourceLine("clamp.cuh", 3, (("clamp.cuh", 13),)),
    ]

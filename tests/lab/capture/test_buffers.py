"""Buffers of a launch: cut to what was touched, apart where pointers allow it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpuregress.gpu.records import replace
from gpuregress.lab.capture import buffers
from gpuregress.lab.capture.buffers import JobBuffer, Layout
from gpuregress.lab.capture.records import CapturedLaunch, CapturedRegion, Pointer, RawParameter
from gpuregress.lab.capture.replay.launch import Patch, Replay
from gpuregress.lab.capture.signature import ParameterType

BASE = 1 << 20


def launch_of(
    folder: Path, *offsets: int, size: int = 65536, changed: tuple[int, int] = (0, 0), symbol: str = ""
) -> CapturedLaunch:
    """A launch whose parameters are pointers into one allocation."""
    before = np.arange(size, dtype=np.uint32).astype(np.uint8) | 1
    after = before.copy()
    after[slice(*changed)] ^= 255
    (folder / "before").write_bytes(before.tobytes())
    (folder / "after").write_bytes(after.tobytes())
    region = CapturedRegion(BASE, size, BASE, size, "device", symbol, folder / "before", folder / "after")
    values = [BASE + offset for offset in offsets]
    return CapturedLaunch(
        1, 1, "k", 1, (1, 1, 1), (1, 1, 1), (1, 1, 1), 0,
        tuple(RawParameter(8 * at, value.to_bytes(8, "little")) for at, value in enumerate(values)),
        tuple(Pointer(8 * at, value, 0) for at, value in enumerate(values)),
        (region,), None, None, "", True,
    )  # fmt: skip


FLOATS = (ParameterType("x", "float32", True, True), ParameterType("y", "float32", True))


def test_each_pointer_gets_what_was_touched(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, 512, 8192, changed=(8192, 12196))
    noted = Replay(read=(((512, 4516),),), written=(((8192, 12196),),))
    assert buffers.lay_out(launch, FLOATS, noted, ()) == Layout(
        (
            JobBuffer("x", "float32", 0, 512, 4004),
            JobBuffer("y", "float32", 0, 8192, 4004, is_filled=False, is_output=True),
        ),
        (Patch(0, 0, 0), Patch(8, 1, 0)),
        is_split=True,
    )


def test_pointers_that_reach_into_each_other_share_a_buffer(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, 512, 516)
    noted = Replay(read=(((512, 1024),),), written=(((600, 604),),))
    layout = buffers.lay_out(launch, FLOATS, noted, (), split=False)
    assert layout.buffers == (JobBuffer("x", "float32", 0, 512, 512, is_output=True),)
    assert layout.pointers == (Patch(0, 0, 0), Patch(8, 0, 4))


def test_accesses_before_the_first_pointer_are_kept(tmp_path: Path) -> None:
    layout = buffers.lay_out(launch_of(tmp_path, 520), FLOATS, Replay(read=(((500, 540),),), written=((),)), ())
    assert layout.buffers == (JobBuffer("x", "float32", 0, 496, 44),)
    assert layout.pointers == (Patch(0, 0, 24),)


def test_a_pointer_that_is_never_used_keeps_a_few_bytes(tmp_path: Path) -> None:
    layout = buffers.lay_out(launch_of(tmp_path, 65532), FLOATS, Replay(read=((),), written=((),)), ())
    assert (layout.buffers[0].start, layout.buffers[0].size) == (65520, 16)
    assert layout.pointers == (Patch(0, 0, 12),)


def test_without_notes_an_allocation_is_kept_whole(tmp_path: Path) -> None:
    layout = buffers.lay_out(launch_of(tmp_path, 512, 8192, changed=(9000, 9001)), FLOATS, None, ())
    assert layout.buffers == (JobBuffer("x", "float32", 0, 0, 65536, is_output=True),)
    assert layout.pointers == (Patch(0, 0, 512), Patch(8, 0, 8192))


def test_small_elements_are_filled_although_all_of_them_seem_written(tmp_path: Path) -> None:
    noted = Replay(read=((),), written=(((0, 64),),))
    for dtype, is_filled in (("float32", False), ("uint8", True), ("", True)):
        types = (ParameterType("x", dtype, True),)
        (found,) = buffers.lay_out(launch_of(tmp_path, 0), types, noted, ()).buffers
        assert found.is_filled == is_filled


def test_memory_behind_a_pointer_to_const_is_an_output_where_the_kernel_changed_it(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, 0, changed=(0, 4))
    assert buffers.lay_out(launch, FLOATS, None, ()).buffers[0].is_output
    shared = replace(launch, regions=(replace(launch.regions[0], memory="managed"),))
    assert not buffers.lay_out(shared, FLOATS, None, ()).buffers[0].is_output


def test_a_dtype_that_does_not_fit_becomes_bytes(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, 0, size=14)
    assert buffers.lay_out(launch, FLOATS, None, ()).buffers[0].dtype == "uint8"
    assert buffers.lay_out(launch, (), Replay(read=(((0, 12),),), written=((),)), ()).buffers[0].dtype == "uint8"


def test_a_variable_is_kept_where_the_kernel_may_use_it(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, size=16, changed=(0, 4), symbol="_ZN1a7counterE")
    assert buffers.lay_out(launch, (), None, ()).buffers == ()
    (found,) = buffers.lay_out(launch, (), None, ("_ZN1a7counterE",)).buffers
    assert found == JobBuffer("counter", "uint32", 0, 0, 16, "_ZN1a7counterE", is_output=True)

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.execution.runner.launcher import EncodedMap, Launcher, LoadedSource, pack, thread_count
from gpuregress.foundation.errors import DeviceError, KernelFault
from gpuregress.foundation.records import Argument, Buffer, Case, TensorMap
from gpuregress.gpu.records import replace
from gpuregress.store import launch_log
from gpuregress.store.launch_log import LaunchLog
from tests import fakes
from tests.fakes import FakeMemory


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LaunchLog]:
    with closing(LaunchLog(tmp_path / "launch.log")) as opened:
        yield opened


def launcher(case: Case, log: LaunchLog) -> Launcher:
    return Launcher(fakes.FakeDevice(), fakes.task(case, Path("/nowhere"), 5), log, lambda _phase: None)


def loaded(case: Case) -> list[LoadedSource]:
    return [LoadedSource(source, fakes.program(), fakes.FakeModule()) for source in case.sources]


def test_a_launch_of_several_sources_is_logged_with_its_source(log: LaunchLog, tmp_path: Path) -> None:
    case = fakes.case("double", "double")
    case = replace(
        case,
        launches=(case.launches[0], replace(case.launches[1], source=1)),
        other_sources=(replace(case.source, path="/nowhere/two.cu"),),
    )
    runner = launcher(case, log)
    sources = loaded(case)
    for _ in runner.run(case.launches, sources, runner.prepare(sources, {"x": np.ones(8, np.float32)})):
        pass
    begun = [one for one in launch_log.read(tmp_path / "launch.log").events if isinstance(one, launch_log.LaunchBegin)]
    assert [one.call.rpartition(" in ")[2] for one in begun] == [Path(case.source.path).name, "two.cu"]


def test_a_symbol_is_that_of_its_own_source(log: LaunchLog) -> None:
    case = fakes.case("double")
    table = Buffer("out", "float32", (16,), symbol="d_table", symbol_source=1)
    case = replace(case, buffers={"out": table}, other_sources=(replace(case.source, path="/nowhere/two.cu"),))
    sources = loaded(case)
    memory = launcher(case, log).prepare(sources, {})
    assert memory["out"] is sources[1].module.symbol("d_table")


def test_launches_are_numbered_and_logged_before_they_begin(log: LaunchLog, tmp_path: Path) -> None:
    case = fakes.case("double", "fault", "double")
    runner = launcher(case, log)
    memory = runner.prepare(loaded(case), {"x": np.ones(8, np.float32)})
    done = []
    with pytest.raises(KernelFault):
        done += [launch.kernel for launch, _ in runner.run(case.launches, loaded(case), memory)]
    assert (runner.current, runner.position) == (6, 1)
    events = launch_log.read(tmp_path / "launch.log").events
    assert [event.number for event in events if isinstance(event, launch_log.LaunchBegin)] == [5, 6]
    assert not launch_log.read(tmp_path / "launch.log").unfinished


def test_a_swap_exchanges_memory_after_its_launch(log: LaunchLog) -> None:
    case = fakes.case("twice")
    case = replace(case, launches=(replace(case.launches[0], swap=(("out", "x"),)),))
    runner = launcher(case, log)
    memory = runner.prepare(loaded(case), {"x": np.ones(8, np.float32)})
    before = dict(memory)
    ((_, report),) = runner.run(case.launches, loaded(case), memory)
    assert report.elapsed_ms == 0.5
    assert (memory["x"], memory["out"]) == (before["out"], before["x"])
    assert memory["x"].read().view(np.float32).tolist() == [2.0] * 8


def test_a_tensor_map_is_copied_to_memory_where_a_launch_takes_it_there(log: LaunchLog) -> None:
    given = TensorMap("float32", (8,), (), (8,), (1,))
    case = fakes.case("double")
    buffers = {name: replace(buffer, tensor_map=given) for name, buffer in case.buffers.items()}
    first, *others = buffers
    taken = Argument("struct", fields=(Argument("buffer", buffer=first, as_map=True, in_memory=True),))
    case = replace(case, buffers=buffers, launches=(replace(case.launches[0], args=(taken,)),))
    runner = launcher(case, log)
    memory = runner.prepare(loaded(case), {})
    encoded = runner.maps[memory[first].address]
    assert memory_of(runner, encoded.address) == ("tensor map of " + first, 128)
    assert all(runner.maps[memory[name].address].address == 0 for name in others)


def memory_of(runner: Launcher, address: int) -> tuple[str, int]:
    device = runner.device
    assert isinstance(device, fakes.FakeDevice)
    return device.memories[address].name, device.memories[address].size


def test_a_symbol_of_another_source_is_a_plain_buffer(log: LaunchLog) -> None:
    table = Buffer("out", "float32", (4096,), symbol="d_table")
    case = replace(fakes.case("double"), buffers={"out": table})
    with pytest.raises(DeviceError, match="its symbol d_table has"):
        launcher(case, log).prepare(loaded(case), {})
    other = replace(case.source, path="/nowhere/gold.cu")
    gold = [LoadedSource(other, fakes.program(), fakes.FakeModule())]
    memory = launcher(case, log).prepare(gold, {})
    assert memory["out"].size == 4 * 4096


def test_threads_are_counted() -> None:
    assert thread_count(fakes.case("double", "double").launches) == 64


CTYPES = {"int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32, "int64": ctypes.c_int64}
MEMORY = {"x": FakeMemory("x", 4, 0x1234_5678_9ABC)}


def scalar(dtype: str, value: int) -> Argument:
    data = int(value).to_bytes(int(dtype[3:]) // 8, "little", signed=True).hex()
    return Argument("scalar", dtype=dtype, data=data, text=str(value))


def test_a_buffer_is_its_address_and_null_is_zero() -> None:
    assert pack(Argument("buffer", buffer="x"), MEMORY) == (bytes.fromhex("bc9a785634120000"), 8)
    assert pack(Argument("null"), MEMORY) == (bytes(8), 8)


@given(st.lists(st.tuples(st.sampled_from(sorted(CTYPES)), st.integers(-128, 127)), min_size=1, max_size=8))
def test_a_struct_is_laid_out_as_c_does(members: list[tuple[str, int]]) -> None:
    fields = [(f"f{number}", CTYPES[dtype]) for number, (dtype, _) in enumerate(members)]
    layout = type("Layout", (ctypes.Structure,), {"_fields_": fields})
    expected = bytes(layout(*(value for _, value in members)))
    argument = Argument("struct", fields=tuple(scalar(dtype, value) for dtype, value in members))
    assert pack(argument, MEMORY) == (expected, ctypes.alignment(layout))


def test_a_pointer_may_lead_into_a_buffer() -> None:
    inside = Argument("buffer", buffer="x", offset=0x100)
    assert pack(inside, MEMORY) == (bytes.fromhex("bc9b785634120000"), 8)


def test_a_tensor_map_is_its_bytes_or_the_address_of_its_copy() -> None:
    maps = {MEMORY["x"].address: EncodedMap(bytes(range(128)), 0x7000)}
    by_value = Argument("buffer", buffer="x", as_map=True)
    assert pack(by_value, MEMORY, maps=maps) == (bytes(range(128)), 64)
    in_memory = Argument("buffer", buffer="x", as_map=True, in_memory=True)
    assert pack(in_memory, MEMORY, maps=maps) == ((0x7000).to_bytes(8, "little"), 8)


def test_a_texture_is_the_handle_of_where_its_buffer_is_now() -> None:
    moved = {"x": MEMORY["x"], "y": FakeMemory("y", 4, 4096)}
    handles = {4096: 7, 8192: 9}
    both = Argument("struct", fields=(Argument("buffer", buffer="y"), Argument("buffer", buffer="x")))
    assert pack(both, moved, handles)[0] == (7).to_bytes(8, "little") + bytes.fromhex("bc9a785634120000")

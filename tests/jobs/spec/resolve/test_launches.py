from __future__ import annotations

import struct
from pathlib import Path

import pytest

from gpuregress.foundation.errors import JobErrors
from gpuregress.foundation.records import Argument, Case
from gpuregress.jobs import plan
from gpuregress.store.project import Project
from tests.jobs.plan.projects import JOB, project


def only(example: Project, *selectors: str) -> Case:
    (case,) = plan.make(example, selectors).cases
    return case


def test_steps_and_swaps(tmp_path: Path) -> None:
    text = JOB.replace("shape: [ceil(n / tile)]", "shape: [n], fill: zeros").replace(
        "    args: [sum, x, {int32: n}]", "    args: [sum, x, {int32: step * 2}]\n    repeat: 3\n    swap: [[sum, x]]"
    )
    launches = only(project(tmp_path, reduce=text + "dump: all\n"), "reduce/n=1000,tile=128").launches
    assert [launch.args[2].text for launch in launches] == ["0", "2", "4"]
    assert {launch.swap for launch in launches} == {(("sum", "x"),)}
    assert {launch.origin for launch in launches} == {0}


def test_launches_without_step_are_written_out_alike(tmp_path: Path) -> None:
    text = JOB.replace("    args:", "    repeat: 1000000\n    args:")
    launches = only(project(tmp_path, reduce=text), "reduce/n=1000,tile=128").launches
    assert len(launches) == 1_000_000
    assert launches[0] is launches[-1]


def test_more_launches_than_can_be_written_out(tmp_path: Path) -> None:
    with pytest.raises(JobErrors, match=r"launches\[0\].repeat: is 1000001: repeats must be at most 1000000"):
        plan.make(project(tmp_path, reduce=JOB.replace("    args:", "    repeat: 1000001\n    args:")), [])


def test_grid_from_the_problem(tmp_path: Path) -> None:
    text = JOB.replace("[ceil(n / tile)]\n    block", "{problem: [n, 7], divide: [[tile, 2], [4]]}\n    block")
    assert only(project(tmp_path, reduce=text), "reduce/n=1000,tile=128").launches[0].grid == (4, 2, 1)


def arguments(example: Path, *items: str) -> tuple[Argument, ...]:
    text = JOB.replace("{int32: n}", ", ".join(items))
    return only(project(example, reduce=text), "reduce/n=1000,tile=128").launches[0].args[2:]


@pytest.mark.parametrize(
    ("item", "data", "text"),
    [
        ("{float32: 0.1}", struct.pack("<f", 0.1), "0.1"),
        ("{float32: 1e-5}", struct.pack("<f", 1e-5), "1e-05"),
        ("{float64: n / 3}", struct.pack("<d", 1000 / 3), repr(1000 / 3)),
        ("{float32: .nan}", struct.pack("<f", float("nan")), "nan"),
        ("{float32: -.inf}", struct.pack("<f", float("-inf")), "-inf"),
        ("{float16: 1.5}", struct.pack("<e", 1.5), "1.5"),
        ("{bfloat16: 1.0}", b"\x80\x3f", "1.0"),
        ("{bool: true}", b"\x01", "true"),
        ("{bool: n > 5}", b"\x01", "true"),
        ("{uint64: 2**64 - 1}", b"\xff" * 8, str(2**64 - 1)),
        ("{int8: -1}", b"\xff", "-1"),
        ("{int2: [n, -1]}", struct.pack("<ii", 1000, -1), "(1000, -1)"),
        ("{complex64: [1, 2]}", struct.pack("<ff", 1, 2), "(1.0, 2.0)"),
    ],
)
def test_scalars(item: str, data: bytes, text: str, tmp_path: Path) -> None:
    (argument,) = arguments(tmp_path, item)
    assert argument.data == data.hex()
    assert argument.text == text


def test_null_and_structs(tmp_path: Path) -> None:
    null, struct_ = arguments(tmp_path, "null", "{struct: [x, {int32: tile}, {struct: [{float2: [1, 2]}]}]}")
    assert null.kind == "null"
    assert [field.kind for field in struct_.fields] == ["buffer", "scalar", "struct"]
    assert struct_.fields[1].label == "tile"


def test_numbers_in_template_arguments(tmp_path: Path) -> None:
    text = JOB.replace("block_sum<float>", "'block_sum<float, {tile * 2}>'")
    assert [case.source.kernels for case in plan.make(project(tmp_path, reduce=text), ["reduce/n=1000*"]).cases] == [
        ("block_sum<float, 256>",),
        ("block_sum<float, 512>",),
    ]


def test_an_offset_leads_into_a_buffer(tmp_path: Path) -> None:
    (inside,) = arguments(tmp_path / "inside", "{pointer: x, offset: 4 * tile}")
    assert inside == Argument("buffer", buffer="x", untyped=True, offset=512)
    for number, (item, message) in enumerate(
        (
            ("{pointer: x, offset: 4 * n}", "offset 4000 is outside of x, which has 4000 bytes"),
            ("{pointer: x, offset: -1}", "is -1: bytes must be at least 0"),
            ("{pointer: {tensormap: x}, offset: 1}", "offset counts bytes of a buffer"),
        )
    ):
        with pytest.raises(JobErrors, match=message):
            arguments(tmp_path / str(number), item)

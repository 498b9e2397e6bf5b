"""`gpuregress check`: every error of every job at once."""

from __future__ import annotations

import json

from tests.integration.test_bad_input import ARGS
from tests.workshop import Workshop


def test_every_error_of_a_file_at_once(shop: Workshop) -> None:
    shop.job(("[n], fill: arange", "[n], fil: arange"), ("block: [32]", "blok: [32]"), ("parameters", "params"))
    output = shop.fails(2, "check")
    assert all(word in output for word in ("'fill'", "'block'", "'parameters'"))


def test_an_unknown_key_is_told_the_nearest_right_one(shop: Workshop) -> None:
    shop.job(("launches:", "launchs:"))
    assert "launches" in shop.fails(2, "check")


def test_a_wrong_repeat_hides_no_other_error_of_its_launch(shop: Workshop) -> None:
    shop.job(("block: [32]", "repeat: 0\n    block: [many]"), (ARGS, "args: [out, z, {float32: 2.0}, {int32: n}]"))
    output = shop.fails(2, "check")
    assert [
        key for key in ("launches[0].repeat", "launches[0].block[0]", "launches[0].args[1]") if key not in output
    ] == []


def test_jobs_without_errors_are_counted(shop: Workshop) -> None:
    assert shop.call("check").stdout == "1 job, 1 case: no errors\n"
    document = json.loads(shop.call("check", "--json", "--no-compile").stdout)
    assert document == {"jobs": 1, "cases": 1, "errors": []}


def test_errors_as_json_have_path_line_and_key(shop: Workshop) -> None:
    shop.job(("block: [32]", "block: [many]"))
    result = shop.call("check", "--json")
    (error,) = json.loads(result.stdout)["errors"]
    assert result.exit_code == 2
    assert (error["key"], error["line"]) == ("launches[0].block[0]", 10)


PTX = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .u32 x;
    mov.u32 x, 3;
    ret;
}
"""
PTX_JOB = """\
source: ../kernels/fine.ptx
buffers: {y: {dtype: int32, shape: [1]}}
launches: [{kernel: k, grid: [1], block: [1], args: [y]}]
"""


def test_ptx_that_the_cpu_device_does_not_understand_is_an_error_of_its_source(shop: Workshop) -> None:
    for name, statement in (("odd", "add.u32 x, 3"), ("strange", "frob.u32 x, 3"), ("fine", "mov.u32 x, 3")):
        shop.write(f"kernels/{name}.ptx", PTX.replace("mov.u32 x, 3", statement))
        shop.write(f"configs/{name}.yaml", PTX_JOB.replace("fine", name))
    told = shop.fails(3, "check")
    assert "kernels/odd.ptx:7 is not supported by the cpu device" in told
    assert "kernels/strange.ptx:7 is not supported by the cpu device" in told
    assert "fine.ptx" not in told
    assert shop.call("run", "--device", "cpu", "odd").exit_code == 3

from __future__ import annotations

import dataclasses
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuregress import inputs, plan, records
from gpuregress.errors import JobErrors, NothingToDo, UsageError
from gpuregress.plan.explain import explain
from gpuregress.project import Project, Settings, Tolerance
from gpuregress.records import Argument, Case, CaseSettings, Check, Launch, Limits, ResourceLimits, Rule, TimingLoop
from tests.plan.projects import JOB, project

FULL = (
    JOB
    + """
compile:
  options: [-lineinfo]
  include: [../kernels/include]
  defines: {TILE: tile, HALF: n / 2, T: {text: float}, ON: }
seed: 42
where: [tile <= n, not (n > 1000 and tile == 256)]
compare: {sum: {rtol: 1.0e-5, order: any}}
checks: {sum: [finite, {nonzero: 8}, {range: [-1.0e3, .inf]}, {sum: {value: n, rtol: 1e-3}}]}
status: d_status
reference: {sum: "../configs/reference.py:block_sums"}
verify: {sum: "reference.py:totals_agree"}
repeat: 3
limits: {timeout: 2min, memory: 4GiB}
tags: [quick, 1.10]
expect: {fault: out-of-bounds}
timing: {warmup: 1, samples: 5}
resources: {registers: 64, spills: 0}
"""
)


def only(place: Project, *selectors: str) -> Case:
    (case,) = plan.make(place, selectors).cases
    return case


def test_kernels_may_stand_in_a_header(tmp_path: Path) -> None:
    place = project(tmp_path, reduce=JOB.replace("reduce.cu", "reduce.cuh"))
    source = tmp_path / "kernels" / "reduce.cuh"
    (tmp_path / "kernels" / "reduce.cu").rename(source)
    assert {case.source.path for case in plan.make(place, []).cases} == {str(source)}


def test_the_example_of_the_contract(tmp_path: Path) -> None:
    place = project(tmp_path, reduce=FULL)
    cases = plan.make(place, []).cases
    assert [case.name for case in cases] == [
        "reduce/n=1000,tile=128",
        "reduce/n=1000,tile=256",
        "reduce/n=65536,tile=128",
    ]
    case = cases[0]
    assert case.job == "reduce"
    assert case.path == str(tmp_path / "configs" / "reduce.yaml")
    assert case.source.path == str(tmp_path / "kernels" / "reduce.cu")
    assert case.source.include == (str(tmp_path / "kernels" / "include"),)
    assert case.source.defines == {"TILE": "128", "HALF": "500.0", "T": "float", "ON": ""}
    assert case.source.kernels == ("block_sum<float>",)
    assert case.source.symbols == ("d_status",)
    assert case.buffers["x"].shape == (1000,)
    assert case.buffers["sum"].shape == (8,)
    assert case.buffers["sum"].fill is None
    status = case.buffers["d_status"]
    assert (status.dtype, status.shape, status.symbol) == ("int32", (2,), "d_status")
    launch = case.launches[0]
    assert (launch.grid, launch.block, launch.shared) == ((8, 1, 1), (128, 1, 1), 512)
    assert launch.args[:2] == (Argument("buffer", buffer="sum"), Argument("buffer", buffer="x"))
    number = Argument("scalar", dtype="int32", data=struct.pack("<i", 1000).hex(), text="1000", label="n")
    assert launch.args[2] == number
    assert case.dump == ("sum",)
    verify = f"{tmp_path}/configs/reference.py:totals_agree"
    assert case.compare == {"sum": Rule(rtol=1e-5, atol=0.0, order="any", verify=verify)}
    assert case.checks["sum"][1:3] == (Check("nonzero", 8), Check("range", [-1000.0, float("inf")]))
    assert case.checks["sum"][3].setting == {"value": 1000, "rtol": 1e-3, "atol": 0.0}
    assert case.reference == {"sum": f"{tmp_path}/configs/reference.py:block_sums"}
    assert (case.repeat, case.limits) == (3, Limits(120.0, 4 << 30))
    assert (case.tags, case.expect_fault) == (("quick", "1.10"), "out-of-bounds")
    settings = CaseSettings(timing=TimingLoop(1, 5), resources=ResourceLimits(64, 0))
    assert case.settings == settings
    assert records.from_json(Case, records.to_json(case)) == case


def test_explain_says_every_number(tmp_path: Path) -> None:
    place = project(tmp_path, reduce=FULL)
    text = "\n".join(explain(only(place, "reduce/n=1000,tile=128")))
    assert "block_sum<float><<<(8,1,1),(128,1,1),512>>>(sum=<32>, x=<4000>, n=1000)" in text
    assert "x: float32 [1000], 4000 bytes, normal (mean 0.0, std 2.0), seed " in text
    assert "-DTILE=128" in text
    assert "{" not in text.replace("{n", "")


def test_a_job_without_parameters_has_no_case_folder(tmp_path: Path) -> None:
    text = (
        JOB.replace("parameters:\n  n: [1000, 65536]\n  tile: [128, 256]\n", "")
        .replace("tile", "64")
        .replace("[n]", "[100]")
    )
    case = only(project(tmp_path, solo=text.replace("n / 64", "100 / 64").replace("int32: n", "int32: 100")))
    assert case.name == "solo"
    assert case.launches[0].grid == (2, 1, 1)
    assert case.compare == {"sum": Rule()}


@pytest.mark.parametrize(
    ("selector", "count"),
    [
        ("reduce", 4),
        ("reduce/n=1000,tile=128", 1),
        ("reduce/n=1000*", 2),
        ("*tile=256", 4),
        ("re*", 4),
        ("configs/other.yaml", 4),
        ("configs", 8),
    ],
)
def test_selectors(selector: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = project(tmp_path, reduce=JOB, other=JOB)
    monkeypatch.chdir(tmp_path)
    assert len(plan.make(place, [selector]).cases) == count


def test_a_selector_that_names_nothing(tmp_path: Path) -> None:
    place = project(tmp_path, reduce=JOB)
    with pytest.raises(UsageError, match=r"there is no job 'reduc'; did you mean 'reduce'\?"):
        plan.make(place, ["reduc"])
    with pytest.raises(UsageError, match="there is no case 'reduce/n=100,tile=128'; did you mean"):
        plan.make(place, ["reduce/n=100,tile=128"])
    with pytest.raises(
        UsageError, match=r"there is no job file configs/redcue.yaml; did you mean 'configs/reduce.yaml'"
    ):
        plan.make(place, ["configs/redcue.yaml"])
    with pytest.raises(NothingToDo, match=r"no case matches 'x\*'"):
        plan.make(place, ["x*"])


def test_globs_tags_and_overrides(tmp_path: Path) -> None:
    place = project(tmp_path, reduce=FULL, other=JOB)
    assert len(plan.make(place, [], name_glob="reduce/*").cases) == 3
    assert {case.job for case in plan.make(place, [], tags=["quick", "slow"]).cases} == {"reduce"}
    (first, *_) = plan.make(place, [], repeat=7, timeout=1.5).cases
    assert (first.repeat, first.limits.timeout) == (7, 1.5)
    with pytest.raises(NothingToDo, match="no case is left by --tag slow"):
        plan.make(place, [], tags=["slow"])
    with pytest.raises(UsageError, match="--repeat 0"):
        plan.make(place, [], repeat=0)


def test_each_buffer_has_a_seed_of_its_own(tmp_path: Path) -> None:
    job = JOB.replace("  sum:", "  y:   {dtype: float32, shape: [n], fill: {normal: {std: 2.0}}}\n  sum:")
    job = job.replace("launches:", "compare: {y: {atol: 1}}\nlaunches:")
    buffers = plan.make(project(tmp_path, reduce=job), ["reduce/n=1000,tile=128"]).cases[0].buffers
    seeds = {name: fill.seed for name in ("x", "y") if (fill := buffers[name].fill) is not None}
    assert seeds == {name: inputs.seed_for(0, name) for name in ("x", "y")}
    assert seeds["x"] != seeds["y"]


def test_what_is_judged_is_dumped_beside_what_is_listed(tmp_path: Path) -> None:
    place = project(tmp_path, reduce=JOB + "dump: [sum]\nchecks: {x: [finite]}\n")
    assert {case.dump for case in plan.make(place, []).cases} == {("sum", "x")}


def test_the_jobs_rule_comes_before_the_projects(tmp_path: Path) -> None:
    settings = Settings(compare={"float32": Tolerance(rtol=1e-2)})
    place = dataclasses.replace(project(tmp_path, own=JOB + "compare: {sum: {ulp: 3}}\n", other=JOB), settings=settings)
    rules = {case.job: case.compare["sum"] for case in plan.make(place, []).cases}
    assert (rules["own"].ulp, rules["own"].rtol) == (3, None)
    assert (rules["other"].ulp, rules["other"].rtol) == (None, 1e-2)


def test_no_jobs(tmp_path: Path) -> None:
    with pytest.raises(NothingToDo, match="there is no job in"):
        plan.make(project(tmp_path), [])


def test_hidden_files_are_no_jobs(tmp_path: Path) -> None:
    place = project(tmp_path, reduce=JOB)
    (tmp_path / "configs" / ".old.yaml").write_text("nonsense: 1\n")
    assert len(plan.make(place, []).cases) == 4


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


def arguments(place: Path, *items: str) -> tuple[Argument, ...]:
    text = JOB.replace("{int32: n}", ", ".join(items))
    return only(project(place, reduce=text), "reduce/n=1000,tile=128").launches[0].args[2:]


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


def test_a_status_buffer_without_a_fill_is_zeroed(tmp_path: Path) -> None:
    text = JOB.replace("launches:", "  codes: {dtype: int32, shape: [4]}\nlaunches:") + "status: codes\n"
    case = only(project(tmp_path, reduce=text), "reduce/n=1000,tile=128")
    fill = case.buffers["codes"].fill
    assert fill is not None
    assert fill.kind == "zeros"
    assert case.dump == ("sum", "codes")


@pytest.mark.parametrize(
    ("declared", "dtype", "shape"),
    [
        ("__device__ int d_status", "int32", (1,)),
        ("__device__ volatile unsigned int d_status[3]", "uint32", (3,)),
        ("__managed__ int64_t d_status[2][4]", "int64", (2, 4)),
    ],
)
def test_a_status_variable_has_the_type_and_shape_of_its_declaration(
    declared: str, dtype: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    place = project(tmp_path, reduce=JOB + "status: d_status\n")
    source = tmp_path / "kernels" / "reduce.cu"
    source.write_text(source.read_text().replace("__device__ int d_status[2]", declared))
    status = only(place, "reduce/n=1000,tile=128").buffers["d_status"]
    assert (status.dtype, status.shape, status.symbol) == (dtype, shape, "d_status")


def test_project_settings_are_defaults(tmp_path: Path) -> None:
    place = project(tmp_path, reduce=JOB)
    (tmp_path / "gpuregress.yaml").write_text("compare: {float32: {rtol: 1e-6}}\nlimits: {timeout: 5, memory: 1MiB}\n")
    from gpuregress.project import find  # noqa: PLC0415 - after the file was written

    case = only(find(tmp_path), "reduce/n=1000,tile=128")
    assert case.compare["sum"] == Rule(rtol=1e-6, atol=0.0)
    assert case.limits == Limits(5.0, 1 << 20)
    assert place.settings.timeout == 30


def test_ptx_takes_no_compiler_options(tmp_path: Path) -> None:
    text = JOB.replace("reduce.cu", "reduce.ptx") + "compile: {options: [-lineinfo]}\n"
    place = project(tmp_path, reduce=text)
    (tmp_path / "kernels" / "reduce.ptx").write_text("// ptx\n")
    with pytest.raises(JobErrors, match=r"compile.options: has no effect: reduce.ptx is taken as it is"):
        plan.make(place, [])


def test_a_cubin_runs_on_cuda_only(tmp_path: Path) -> None:
    text = JOB.replace("reduce.cu", "reduce.cubin")
    place = project(tmp_path, reduce=text)
    (tmp_path / "kernels" / "reduce.cubin").write_bytes(b"\x7fELF\xff")
    assert {case.devices for case in plan.make(place, []).cases} == {("cuda",)}
    (tmp_path / "configs" / "reduce.yaml").write_text(text + "devices: [cpu]\n")
    with pytest.raises(JobErrors, match=r"devices\[0\]: a .cubin is machine code"):
        plan.make(place, [])


def test_a_dump_as_input_must_fit(tmp_path: Path) -> None:
    text = JOB.replace("{normal: {std: 2.0}}", "{file: data.1}").replace("[1000, 65536]", "[4]")
    place = project(tmp_path, reduce=text.replace("[128, 256]", "[2]"))
    (tmp_path / "configs" / "data.1").write_text("# gpuregress 1 float32 [2,2]\n1.0\n2.0\n3.0\n4.0\n")
    assert len(plan.make(place, []).cases) == 1
    (tmp_path / "configs" / "data.1").write_text("# gpuregress 1 float32 [3]\n1.0\n2.0\n3.0\n")
    with pytest.raises(JobErrors, match=r"buffers.x.fill: .*data.1 holds float32 \[3\]; expected \[4\] of float32"):
        plan.make(place, [])


def test_shared_revision_of_another_source(tmp_path: Path) -> None:
    from gpuregress import revision  # noqa: PLC0415 - only here

    place = project(tmp_path, reduce=JOB + "revision: 1.10\n")
    case = plan.make(place, []).cases[0]
    assert case.revision == "1.10"
    revision.record(place.runs, {(case.job, case.revision, case.source_digest)})
    assert plan.make(place, []).cases[0].revision == "1.10"
    source = tmp_path / "kernels" / "reduce.cu"
    source.write_text(source.read_text() + "// changed\n")
    changed = plan.make(place, [])
    label = f"1.10+{changed.cases[0].source_digest[:6]}"
    assert {case.revision for case in changed.cases} == {label}
    assert changed.notes == (f"reduce: revision 1.10 is already recorded for another source text: this one is {label}",)


def entry(*kinds: Any) -> records.Entry:
    return records.Entry("mangled", tuple(records.Parameter(size, size, kind, name) for size, kind, name in kinds))


def program(launch: Launch, found: records.Entry) -> records.Program:
    return records.Program("key", "", "", {launch.kernel: found}, {}, "nvrtc", (), "sm_90")


GOOD = entry((8, "pointer", "sum"), (8, "word", "x"), (4, "integer", "n"))


@pytest.mark.parametrize(
    ("found", "key", "message"),
    [
        (GOOD, "", ""),
        (entry((8, "pointer", "sum")), "launches[0].args", "block_sum<float> takes 1 argument, not 3"),
        (
            entry((8, "pointer", "sum"), (8, "integer", "x"), (4, "integer", "n")),
            "launches[0].args[1]",
            "the buffer x is a pointer and parameter 'x' is an integer of 8 bytes: write {int64: …}",
        ),
        (
            entry((8, "pointer", "sum"), (8, "pointer", "x"), (8, "integer", "n")),
            "launches[0].args[2]",
            "int32 has 4 bytes and parameter 'n' is an integer of 8 bytes",
        ),
        (
            entry((8, "pointer", "sum"), (8, "pointer", "x"), (4, "float", "n")),
            "launches[0].args[2]",
            "int32 is an integer and parameter 'n' is a float of 4 bytes",
        ),
        (
            entry((8, "pointer", "sum"), (8, "pointer", "x"), (8, "pointer", "n")),
            "launches[0].args[2]",
            "int32 is a number and parameter 'n' is a pointer of 8 bytes: name a buffer",
        ),
    ],
)
def test_arguments_against_the_signature(found: records.Entry, key: str, message: str, tmp_path: Path) -> None:
    case = only(project(tmp_path, reduce=JOB), "reduce/n=1000,tile=128")
    errors = plan.check_program(case, program(case.launches[0], found))
    if not key:
        assert errors == ()
        return
    (error,) = errors
    declared = "block_sum<T>(T* sum, const T* x, int n)"
    shown = declared if len(found.parameters) == 3 else "block_sum<float>(pointer of 8 bytes)"
    assert (error.path, error.line, error.key) == (tmp_path / "configs" / "reduce.yaml", 13, key)
    assert error.message == f"{message}; the kernel is {shown}"


@pytest.mark.parametrize(("size", "good"), [(24, True), (20, False)])
def test_structs_are_laid_out_as_in_c(size: int, good: bool, tmp_path: Path) -> None:  # noqa: FBT001 - from a table
    text = JOB.replace("{int32: n}", "{struct: [{int8: 1}, x, {int32: n}]}")
    case = only(project(tmp_path, reduce=text), "reduce/n=1000,tile=128")
    found = dataclasses.replace(GOOD, parameters=(*GOOD.parameters[:2], records.Parameter(size, 8, "struct", "n")))
    assert (not plan.check_program(case, program(case.launches[0], found))) == good


def test_cases_have_names_of_their_own(tmp_path: Path) -> None:
    text = JOB.replace("[1000, 65536]", "[1000, -1, 0.5, 1e-5, 2**40]").replace("shape: [n]", "shape: [4]")
    text = text.replace("ceil(n / tile)", "4").replace("int32: n", "float64: n")
    names = [case.name for case in plan.make(project(tmp_path, reduce=text), []).cases]
    assert names[::2] == [f"reduce/n={n},tile=128" for n in ("1000", "-1", "0.5", "1e-05", str(2**40))]
    assert len(set(names)) == len(names) == 10
    assert np.all([set(name) & set(' \\:*?"<>|') == set() for name in names])

"""Each bad input: one clear line that names the place, the right exit code, nothing run, nothing lost."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from gpuregress.cli import main
from tests.workshop import KERNEL, Workshop

OUT = "  out: {dtype: float32, shape: [n]}"
GRID = "grid: [ceil(n / 32)]"
ARGS = "args: [out, x, {float32: 2.0}, {int32: n}]"

WRONG_JOBS = {
    "an unknown key": (("launches:", "lanches:"), "launches"),
    "a wrong type": (("block: [32]", "block: many"), "block"),
    "a division by zero": ((GRID, "grid: [n // 0]"), "grid"),
    "more than arithmetic": ((GRID, "grid: ['__import__(\"os\").getpid()']"), "grid"),
    "a missing source": (("scale.cu", "scal.cu"), "scal.cu"),
    "a grid of 0": ((GRID, "grid: [n - 100]"), "grid"),
    "a block over the limits": (("block: [32]", "block: [2048]"), "1024"),
    "an architecture that is none": (("source:", "compile: {arch: sm_70}\nsource:"), "sm_75"),
    "an architecture that is a command": (("source:", "compile: {arch: $(id)}\nsource:"), "compile.arch"),
    "a shape of 0": ((OUT, "  out: {dtype: float32, shape: [n - 100]}"), "shape"),
    "a shape too large": ((OUT, "  out: {dtype: float32, shape: [n * 10**12]}"), "out"),
    "a buffer never used": ((OUT, f"{OUT}\n  spare: {{dtype: int32, shape: [n]}}"), "spare"),
    "an unknown dtype": ((OUT, "  out: {dtype: flaot32, shape: [n]}"), "float32"),
    "a field that leaves its folder": (
        ("x: {dtype: float32", "x: {dtype: {../x: float32}"),
        "invalid field name '../x'",
    ),
    "a field of two words": (("x: {dtype: float32", "x: {dtype: {a b: float32}"), "invalid field name 'a b'"),
    "a field with a dot": (("x: {dtype: float32", "x: {dtype: {a.b: float32}"), "invalid field name 'a.b'"),
    "a field without a name": (("x: {dtype: float32", "x: {dtype: {'': float32}"), "invalid field name ''"),
    "a fill without its setting": (("fill: arange", "fill: {value: null}"), "buffers.x.fill.value: is empty"),
    "a check without its setting": (
        ("launches:", "checks: {out: [{range: null}]}\nlaunches:"),
        "checks.out[0].range: is empty",
    ),
    "a key with nothing behind it": (("fill: arange", "fill: null"), "buffers.x.fill: is empty: give it a value"),
    "a section with nothing in it": (("launches:", "expect:\nlaunches:"), "expect: is empty"),
    "a problem without a size": ((GRID, "grid: {problem: null}"), "grid.problem: is empty"),
    "a reference that is none": (("launches:", "reference: {out: {python: null}}\nlaunches:"), "python: is empty"),
    "a name that no disk takes": (("source:", f"job: {'a' * 5000}\nsource:"), "job: "),
    "an argument that is no buffer": ((ARGS, "args: [out, y, {float32: 2.0}, {int32: n}]"), "y"),
    "an argument too few": ((ARGS, "args: [out, x, {float32: 2.0}]"), "scale"),
    "a scalar of the wrong width": ((ARGS, "args: [out, x, {float64: 2.0}, {int32: n}]"), "float64"),
    "a buffer for a scalar": ((ARGS, "args: [out, x, x, {int32: n}]"), "args"),
    "a job name that leaves the project": (("source:", "job: ../../away\nsource:"), "job"),
    "a source that leaves the project": (("../kernels/scale.cu", "../../../../../../../etc/passwd"), "source"),
    "an unknown parameter": ((GRID, "grid: [ceil(m / 32)]"), "m"),
}


@pytest.mark.parametrize("command", ["run", "check"])
@pytest.mark.parametrize("what", WRONG_JOBS)
def test_a_job_that_is_wrong(shop: Workshop, command: str, what: str) -> None:
    change, named = WRONG_JOBS[what]
    shop.job(change)
    output = shop.fails(2, command)
    assert "configs/scale.yaml:" in output
    assert named in output
    assert not (shop.root / "runs").exists()


def test_yaml_that_does_not_parse(shop: Workshop) -> None:
    shop.job(("shape: [n]}\nlaunches", "shape: [n}\nlaunches"))
    output = shop.fails(2, "run")
    assert "configs/scale.yaml:6" in output


def test_a_source_that_does_not_compile(shop: Workshop) -> None:
    shop.write("kernels/scale.cu", KERNEL.replace("a * x[i];", "a * x[i]"))
    result = shop.call("run", "--device", "cpu")
    assert result.exit_code == 3
    assert "scale.cu" in result.stdout
    assert "expected a" in result.stdout
    assert "scale.cu:6: error" in result.stdout
    assert "scale.cu" in shop.fails(3, "check")


def test_a_kernel_that_is_not_there_names_those_that_are(shop: Workshop) -> None:
    shop.job(("kernel: scale", "kernel: scael"))
    result = shop.call("check")
    assert result.exit_code in (2, 3)
    assert "scael" in result.stderr
    assert "scale" in result.stderr.replace("scale.cu", "").replace("scale.yaml", "")


def test_two_jobs_of_one_name(shop: Workshop) -> None:
    shop.job(("source:", "job: scale\nsource:"), name="other")
    output = shop.fails(2, "run")
    assert "scale.yaml" in output
    assert "other.yaml" in output


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("run", "scael"), "scale"),
        (("run", "configs/absent.yaml"), "absent"),
        (("run", "--device", "gpu"), "cuda"),
        (("run", "--jobs", "0"), "--jobs"),
        (("run", "--timeout", "-1"), "--timeout"),
        (("run", "--no-such-option"), "--no-such-option"),
        (("rum",), "run"),
        (("show", "scael"), "scale"),
        (("log", "19990101"), "19990101"),
        (("accept", "--run", "19990101"), "19990101"),
        (("new", "absent.cu"), "absent.cu"),
    ],
)
def test_a_command_that_is_wrong(shop: Workshop, arguments: tuple[str, ...], named: str) -> None:
    assert named in shop.fails(2, *arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ("log",),
        ("accept",),
        ("report",),
        ("history",),
        ("diff", "1.3", "1.4"),
        ("run", "--tag", "none"),
        ("run", "-k", "x*"),
    ],
)
def test_nothing_to_do(shop: Workshop, arguments: tuple[str, ...]) -> None:
    assert len(shop.fails(5, *arguments).splitlines()) == 1


def test_a_device_that_is_not_there(shop: Workshop) -> None:
    assert "cuda:17" in shop.fails(4, "run", "--device", "cuda:17")


def test_no_project(shop: Workshop) -> None:
    empty = shop.root.parent / "empty"
    empty.mkdir(exist_ok=True)
    assert "configs" in Workshop(empty).fails(2, "run")


def test_a_runs_folder_that_cannot_be_written(shop: Workshop) -> None:
    shop.write("runs", "a file is in the way")
    assert "runs" in shop.fails(4, "run", "--device", "cpu")


def test_a_job_named_by_its_path_is_found_from_anywhere(
    shop: Workshop, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    path = str(shop.root / "configs/scale.yaml")
    assert "scale/n=100" in CliRunner().invoke(main, ["list", path]).stdout
    nowhere = CliRunner().invoke(main, ["list", "scale"])
    assert (nowhere.exit_code, "there is no project" in nowhere.stderr) == (2, True)


def test_two_reports_on_stdout_are_refused_before_anything_runs(shop: Workshop) -> None:
    output = shop.fails(2, "run", "--json", "-", "--junit", "-")
    assert "--json and --junit cannot both go to stdout" in output
    assert not (shop.root / "runs").exists()

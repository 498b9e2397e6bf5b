"""The first wrong launch of a chain of twelve over two sources, with a buffer that is updated in place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.workshop import RUN, Workshop

ONE = """\
#define BUG -1
extern "C" __global__ void a(float *t, const float *x, int at)
{
    int i = threadIdx.x;
    t[i] = x[i] + at + (at == BUG && i == 3);
}
extern "C" __global__ void b(float *y, const float *t, int at)
{
    int i = threadIdx.x;
    y[i] = 0.5f * y[i] + t[(i + 1) % 32] + (at == BUG && i == 3);
}
"""
TWO = """\
#define BUG -1
extern "C" __global__ void c(float *y, int at)
{
    int i = threadIdx.x;
    y[i] += at + (at == BUG && i == 3);
}
"""
BUFFERS = """\
buffers:
  x: {dtype: float32, shape: [32], fill: arange}
  t: {dtype: float32, shape: [32]}
  y: {dtype: float32, shape: [32], fill: ones}
"""
LAUNCHES = {
    "a": "{{kernel: a, grid: [1], block: [32], args: [t, x, {{int32: {}}}]}}",
    "b": "{{kernel: b, grid: [1], block: [32], args: [y, t, {{int32: {}}}]}}",
    "c": "{{kernel: c, source: ../kernels/two.cu, grid: [1], block: [32], args: [y, {{int32: {}}}]}}",
}
ORDER = "acbcacbcacbc"
CHAIN = "\n".join(
    [
        "source: ../kernels/one.cu",
        BUFFERS + "launches:",
        *(f"  - {LAUNCHES[kernel].format(at)}" for at, kernel in enumerate(ORDER, 1)),
        "dump: [y]\n",
    ]
)
STEPS = f"""\
source: ../kernels/one.cu
{BUFFERS}  u: {{dtype: float32, shape: [32], fill: ones}}
launches:
  - {LAUNCHES["a"].format("7")}
  - {{kernel: c, source: ../kernels/two.cu, grid: [1], block: [32], args: [u, {{int32: step}}], repeat: 6,
      swap: [[u, y]]}}
dump: [y, u]
"""


def shop(root: Path, **jobs: str) -> Workshop:
    made = Workshop(root)
    made.write("kernels/one.cu", ONE)
    made.write("kernels/two.cu", TWO)
    for name, text in jobs.items():
        made.write(f"configs/{name}.yaml", text)
    return made


def plant(made: Workshop, at: int, name: str = "") -> None:
    """Plant the bug in a launch."""
    for file, text in (("one.cu", ONE), ("two.cu", TWO)):
        number = at if name in ("", file) else -1
        made.write(f"kernels/{file}", text.replace("#define BUG -1", f"#define BUG {number}"))


def results(made: Workshop) -> dict[str, Any]:
    document = json.loads((made.root / "runs/latest/results.json").read_text())
    return {entry["case"]: entry for entry in document["cases"]}


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with accepted baselines, to be copied."""
    made = shop(tmp_path_factory.mktemp("chain"), chain=CHAIN, steps=STEPS)
    assert made.call(*RUN, "--dump-every-launch").exit_code == 1
    assert made.call("accept").exit_code == 0
    assert made.call(*RUN).exit_code == 0
    return made.root


@pytest.fixture
def made(accepted: Path, tmp_path: Path) -> Workshop:
    shutil.copytree(accepted, tmp_path / "project", symlinks=True)
    return Workshop(tmp_path / "project")


@pytest.mark.parametrize("at", [1, 2, 7, 12])
def test_the_launch_with_the_bug_is_named(at: int, made: Workshop) -> None:
    plant(made, at)
    result = made.call(*RUN, "chain")
    kernel = ORDER[at - 1]
    source = "two.cu" if kernel == "c" else "one.cu"
    sentence = f"first wrong after launch {at} ({kernel}, {source}); its inputs were the same"
    sentence += "; the difference is in t" if kernel == "a" else ""
    assert result.exit_code == 1
    assert f"    {sentence}\n" in result.stdout
    named = results(made)["chain"]["buffers"][0]["first_wrong"]
    assert (named["message"], named["launch"], named["number"]) == (sentence, at, at)
    assert named["buffer"] == ("t" if kernel == "a" else "y")


def test_every_report_names_it_and_so_does_diff(made: Workshop) -> None:
    revision = results(made)["chain"]["revision"]
    plant(made, 6, "two.cu")
    reports = [made.root / name for name in ("r.json", "r.xml", "r.html")]
    options = [text for path in reports for text in (f"--{path.suffix[1:].replace('xml', 'junit')}", str(path))]
    result = made.call(*RUN, "chain", *options)
    sentence = "first wrong after launch 6 (c, two.cu); its inputs were the same"
    assert "changed since the baseline: source changed: two.cu\n" in result.stdout
    assert all(sentence in path.read_text() for path in reports)
    changed = results(made)["chain"]["revision"]
    assert changed != revision
    screen = made.call("diff", revision, changed, "chain")
    weaker = sentence.replace("its inputs", "the buffers it was given")
    assert weaker in screen.stdout, "from digests of the baseline and of the run, without the programs"
    document = json.loads(made.call("diff", "--json", revision, changed, "chain").stdout)
    assert document["cases"][0]["buffers"][0]["first_wrong"]["launch"] == 6


def test_a_step_of_a_repeated_entry_is_named(made: Workshop) -> None:
    plant(made, 4, "two.cu")
    result = made.call(*RUN, "steps")
    assert "first wrong after launch 2 (c, two.cu) at step 4; its inputs were the same" in result.stdout


def test_dumps_of_every_launch_decide_by_the_rule(made: Workshop) -> None:
    """The first difference is allowed by the rule, the second is not."""
    job = made.root / "configs/chain.yaml"
    job.write_text(CHAIN + "compare: {y: {atol: 0.01}}\n")
    one = made.root / "kernels/one.cu"
    one.write_text(ONE.replace("0.5f * y[i]", "0.5f * y[i] + (at == 3 ? 1e-4f : 0)"))
    plant_two = made.root / "kernels/two.cu"
    plant_two.write_text(TWO.replace("#define BUG -1", "#define BUG 8"))
    before = results(made)["chain"]["revision"]
    told = made.call(*RUN, "chain").stdout
    assert "first bit difference after launch 3 (b, one.cu); its inputs were the same" in told
    made.call(*RUN, "chain", "--dump-every-launch")
    changed = results(made)["chain"]["revision"]
    assert (
        "first wrong after launch 8 (c, two.cu); the buffers it was given kept their rules"
        in made.call("diff", before, changed, "chain").stdout
    )


def test_dumps_of_every_launch_are_kept(accepted: Path) -> None:
    (folder,) = accepted.glob("runs/*/launches")
    written = {path.name: [one.name.partition(".")[0] for one in path.glob("chain/*")] for path in folder.glob("*")}
    assert written == {f"{at:04d}": ["t" if kernel == "a" else "y"] for at, kernel in enumerate(ORDER, 1)}


@pytest.mark.parametrize("text", ["off", "false"])
def test_digests_that_are_off_name_nothing(text: str, tmp_path: Path) -> None:
    made = shop(tmp_path, chain=CHAIN + f"launch_digests: {text}\n")
    made.call(*RUN)
    made.call("accept")
    assert "launch_digests" not in (made.root / "baselines/chain/baseline.yaml").read_text()
    plant(made, 6)
    result = made.call(*RUN)
    assert result.exit_code == 1
    assert "first wrong" not in result.stdout
    assert results(made)["chain"]["buffers"][0]["first_wrong"] is None


def test_a_baseline_that_gets_digests_names_a_launch(tmp_path: Path) -> None:
    """A baseline of an earlier version has none; accepting the case again writes them."""
    made = shop(tmp_path, chain=CHAIN + "launch_digests: off\n")
    made.call(*RUN)
    made.call("accept")
    (made.root / "configs/chain.yaml").write_text(CHAIN)
    assert made.call(*RUN).exit_code == 0
    assert made.call("accept", "chain").exit_code == 0
    plant(made, 6)
    assert "first wrong after launch 6 (c, two.cu)" in made.call(*RUN).stdout


HIDDEN = """
__device__ float state[8];
extern "C" __global__ void put(float* z, const float* x) { z[threadIdx.x] = 0; state[threadIdx.x] = PUT * *x; }
extern "C" __global__ void get(float* z, float* y) { z[threadIdx.x] = 1; y[threadIdx.x] = GET + state[threadIdx.x]; }
"""
HIDDEN_JOB = """
source: ../kernels/one.cu
buffers:
  x: {dtype: float32, shape: [8], fill: ones}
  y: {dtype: float32, shape: [8]}
  z: {dtype: float32, shape: [8]}
launches:
  - {kernel: put, grid: [1], block: [8], args: [z, x]}
  - {kernel: get, grid: [1], block: [8], args: [z, y]}
dump: [y]
"""


def test_a_variable_that_is_no_buffer_is_named_and_diff_claims_less(tmp_path: Path) -> None:
    made = shop(tmp_path, hidden=HIDDEN_JOB)
    source = made.root / "kernels/one.cu"
    source.write_text(HIDDEN.replace("PUT", "2").replace("GET", "1"))
    made.call(*RUN)
    made.call("accept")
    source.write_text(HIDDEN.replace("PUT", "3").replace("GET", "1"))
    told = made.call(*RUN).stdout
    assert "the buffers it reads were the same, but it also reads state, which is not a buffer\n" in told
    changed = results(made)["hidden"]["revision"]
    told = made.call("diff", "baseline", changed).stdout
    assert "first wrong after launch 2 (get, one.cu); the buffers it was given were the same\n" in told


def test_diff_does_not_blame_the_writer_of_a_buffer_that_may_not_be_read(tmp_path: Path) -> None:
    """`get` overwrites z, and reads nothing of it: what `put` wrote there cannot have changed y."""
    made = shop(tmp_path, hidden=HIDDEN_JOB)
    source = made.root / "kernels/one.cu"
    source.write_text(HIDDEN.replace("PUT", "2").replace("GET", "1"))
    made.call(*RUN)
    made.call("accept")
    source.write_text(HIDDEN.replace("PUT", "2").replace("GET", "9").replace("= 0;", "= 5;"))
    told = made.call(*RUN).stdout
    assert "first wrong after launch 2 (get, one.cu); " in told
    changed = results(made)["hidden"]["revision"]
    told = made.call("diff", "baseline", changed).stdout
    assert "the difference is in z, which y may not depend on; y differs since launch 2 (get, one.cu)\n" in told


ORDERED = """
source: ../kernels/one.cu
buffers: {y: {dtype: float32, shape: [8], fill: ones}}
launches:
  - {kernel: add, grid: [1], block: [8], args: [y]}
  - {kernel: twice, grid: [1], block: [8], args: [y]}
"""
ORDERED_SOURCE = """
extern "C" __global__ void add(float* y) { y[threadIdx.x] += 1; }
extern "C" __global__ void twice(float* y) { y[threadIdx.x] *= 2; }
"""


def test_another_order_of_launches_blames_no_kernel_alone(tmp_path: Path) -> None:
    job = ORDERED + "dump: [y]\n"
    made = shop(tmp_path, ordered=job)
    (made.root / "kernels/one.cu").write_text(ORDERED_SOURCE)
    made.call(*RUN)
    assert made.call("accept").exit_code == 0
    swapped = job.replace("add", "?").replace("twice", "add").replace("?", "twice")
    (made.root / "configs/ordered.yaml").write_text(swapped)
    told = made.call(*RUN).stdout
    assert "the buffers it reads were the same, but the launches of the case changed\n" in told
    source = made.root / "kernels/one.cu"
    source.write_text(ORDERED_SOURCE.replace("+= 1", "+= 3"))
    made.call(*RUN)
    changed = results(made)["ordered"]["revision"]
    assert "but the launches of the case changed\n" in made.call("diff", "baseline", changed).stdout
    (made.root / "configs/ordered.yaml").write_text(job)
    compared = made.call("diff", "baseline", changed)
    assert compared.exit_code == 1
    assert "first" not in compared.stdout, "the job's launches are not those of the run"


COUNTED = """
source: ../kernels/one.cu
buffers: {y: {dtype: float32, shape: [8], fill: zeros}}
launches: [{kernel: count, grid: [1], block: [8], args: [y], repeat: 514}]
dump: [y]
"""
COUNTED_SOURCE = """
__device__ float state[8];
extern "C" __global__ void count(float* y) { y[threadIdx.x] += 1; state[threadIdx.x] += y[threadIdx.x]; }
"""


def test_a_variable_that_is_no_buffer_is_named_for_an_interval_too(tmp_path: Path) -> None:
    """So many launches that every second one is recorded."""
    made = shop(tmp_path, counted=COUNTED)
    source = made.root / "kernels/one.cu"
    source.write_text(COUNTED_SOURCE)
    made.call(*RUN)
    assert made.call("accept").exit_code == 0
    source.write_text(COUNTED_SOURCE.replace("+= 1", "+= 1 + (y[threadIdx.x] == 100)"))
    told = made.call(*RUN).stdout
    assert "at step 101 or the one before; the buffers that these read were the same before" in told
    assert "but they also read state\n" in told

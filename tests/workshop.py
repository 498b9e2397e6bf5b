"""A small project in a temporary folder, and gpuregress run on it in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner, Result

from gpuregress.cli import main

RUN = ("run", "--device", "cpu", "--jobs", "1")
SLEEPY = ("kernel: scale", "kernel: idle")
IDLE_KERNEL = """
extern "C" __global__ void idle(float *out, const float *x, float a, int n) {}
"""
KERNEL = """\
// $Revision: 1.4 $
extern "C" __global__ void scale(float *out, const float *x, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i];
}
"""
JOB = """\
source: ../kernels/scale.cu
parameters:
  n: [100]
buffers:
  x: {dtype: float32, shape: [n], fill: arange}
  out: {dtype: float32, shape: [n]}
launches:
  - kernel: scale
    grid: [ceil(n / 32)]
    block: [32]
    args: [out, x, {float32: 2.0}, {int32: n}]
"""


@dataclass
class Workshop:
    """A project that can be written to and run."""

    root: Path

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def job(self, *changes: tuple[str, str], name: str = "scale") -> Path:
        """Writes the job with some of its text replaced."""
        text = JOB
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        return self.write(f"configs/{name}.yaml", text)

    def call(self, *arguments: str) -> Result:
        return CliRunner().invoke(main, ["-C", str(self.root), *arguments])

    def fails(self, code: int, *arguments: str) -> str:
        """Runs a command that must fail with this code, without a traceback; its stderr."""
        result = self.call(*arguments)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        assert "inside gpuregress" not in result.output
        return result.stderr


def make(root: Path) -> Workshop:
    """The project with one kernel and one job, which are well."""
    made = Workshop(root)
    made.write("kernels/scale.cu", KERNEL)
    made.job()
    return made


def change(shop: Workshop, factor: str = "3.0", revision: str = "1.5") -> None:
    """A new revision of the kernel, whose job passes another factor."""
    shop.write("kernels/scale.cu", KERNEL.replace("1.4", revision))
    shop.job(("{float32: 2.0}", f"{{float32: {factor}}}"))


def results(shop: Workshop) -> dict[str, object]:
    document: dict[str, object] = json.loads((shop.root / "runs/latest/results.json").read_text())
    return document


def accepted(shop: Workshop) -> Workshop:
    assert shop.call(*RUN).exit_code == 1
    assert shop.call("accept").exit_code == 0
    return shop


def two_differ(shop: Workshop) -> Workshop:
    shop.job(("n: [100]", "n: [100, 200]"))
    accepted(shop)
    change(shop)
    shop.job(("n: [100]", "n: [100, 200]"), ("{float32: 2.0}", "{float32: 3.0}"))
    assert shop.call(*RUN).exit_code == 1
    return shop


def revisions(shop: Workshop) -> dict[str, str]:
    return {entry["case"]: entry["baseline_revision"] for entry in json.loads(shop.call("list", "--json").stdout)}


def idle(shop: Workshop) -> Workshop:
    """A kernel that writes nothing; the fake device has one of that name."""
    shop.write("kernels/scale.cu", IDLE_KERNEL)
    shop.job(SLEEPY)
    return shop

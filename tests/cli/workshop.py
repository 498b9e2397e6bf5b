"""A small project in a temporary folder, and gpuregress run on it in this process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner, Result

from gpuregress.cli import main

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

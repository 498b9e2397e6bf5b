"""A capture of saxpy, as a card would have left it: for the tutorial.

python -m tests.lab.capture.fake.sample FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

KERNELS = Path(__file__).parent / "kernels.ptx"


def write(folder: Path) -> None:
    """Write the source and the contents of `captured/saxpy`."""
    folder.mkdir(parents=True)
    (folder / "kernel.ptx").write_bytes(KERNELS.read_bytes())
    x = np.arange(1000, dtype=np.float32) * np.float32(0.125)
    y = x + np.float32(1)
    for name, values in (("x", x), ("y", y), ("y.after", y + np.float32(2.5) * x)):
        (folder / f"{name}.bin").write_bytes(values.tobytes())


if __name__ == "__main__":
    write(Path(sys.argv[1]))

"""Faults planted in gpuregress's own files: each is detected, or what was damaged is made again.

docs/explanation/damaged-files.md has the table. The oracle is one for all: a command either answers as it does
without the damage, or it fails with exit code 4 and names the file.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.slow_cases import some_slow
from tests.workshop import KERNEL, Workshop

RUN = ("run", "--device", "cpu", "--jobs", "1")
JOB = """\
source: ../kernels/scale.cu
parameters: {n: [40, 50]}
buffers:
  x: {dtype: float32, shape: [n], fill: arange}
  out: {dtype: float32, shape: [n]}
  also: {dtype: float32, shape: [n]}
launches:
  - {kernel: scale, grid: [2], block: [32], args: [out, x, {float32: 2.5}, {int32: n}]}
  - {kernel: scale, grid: [2], block: [32], args: [also, x, {float32: 0.25}, {int32: n}]}
"""
OTHER = JOB.replace("2.5", "-1.5").replace("scale.cu", "other.cu")


Answer = tuple[int, list[tuple[str, str]], str]
"""The exit code, the verdicts of a run, and the output."""


@dataclass
class Damaged:
    """A project with accepted, rejected and nightly results, whose files can be damaged and restored."""

    shop: Workshop
    backup: Path
    right: dict[tuple[str, ...], Answer] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.shop.root

    def restore(self) -> None:
        shutil.rmtree(self.root)
        shutil.copytree(self.backup, self.root, symlinks=True)

    def files(self, glob: str) -> list[Path]:
        found = sorted(path for path in self.root.glob(glob) if path.is_file() and "latest" not in path.parts)
        assert found, glob
        return found

    def before_damage(self, *command: str) -> Answer:
        """What a command answers about the files as they were; the project is that of before."""
        if command not in self.right:
            self.right[command] = self.answer(*command)
            self.restore()
        return self.right[command]

    def answer(self, *command: str) -> Answer:
        done = self.shop.call(*command)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        assert "inside gpuregress" not in done.output
        verdicts = []
        if command[0] == "run":
            cases = json.loads((self.root / "runs/latest/results.json").read_text())["cases"]
            verdicts = [(case["case"], case["verdict"]) for case in cases]
        return done.exit_code, verdicts, done.output


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Damaged]:
    root = tmp_path_factory.mktemp("faults") / "project"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUREGRESS_CACHE", str(root / "cache"))
        shop = Workshop(root)
        shop.write("kernels/scale.cu", KERNEL)
        shop.write("kernels/other.cu", KERNEL.replace("a * x[i]", "a * x[i] + 0.5f"))
        shop.write("configs/scale.yaml", JOB)
        shop.write("configs/other.yaml", OTHER)
        shop.write("configs/bad.yaml", JOB.replace("2.5", "9.5"))
        assert shop.call(*RUN).exit_code == 1
        assert shop.call("accept", "scale", "other").exit_code == 0
        assert shop.call("reject", "bad", "-m", "it is wrong").exit_code == 0
        assert shop.call("nightly", "--device", "cpu", "--jobs", "1").exit_code == 1
        shutil.copytree(root, root.parent / "backup", symlinks=True)
        yield Damaged(shop, root.parent / "backup")


@pytest.fixture
def damaged(project: Damaged) -> Iterator[Damaged]:
    yield project
    project.restore()


def flip(data: bytes) -> bytes:
    """One bit of a letter or digit near the middle."""
    at = next(at for at in range(len(data) // 2, len(data)) if data[at : at + 1].isalnum())
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "a flipped bit": flip,
    "cut short": lambda data: data[: len(data) // 2],
    "empty": lambda _data: b"",
    "other content of the right size": lambda data: (b"# 1234567\n" * (len(data) // 10 + 1))[: len(data)],
}
FILES: dict[str, tuple[str, ...]] = {
    "baselines/scale/n=40/out.1.4": RUN,
    "baselines/scale/n=40/baseline.yaml": RUN,
    "runs/*/dumps/scale/n=40/out.1.4": ("accept", "scale/n=40", "-m", "again"),
    "runs/*/dumps/bad/n=50/out.1.4": ("diff", "1.4", "1.4", "bad/n=50"),
    "runs/revisions.tsv": ("list", "--json"),
    "runs/*/verdicts.jsonl": ("report", "--json"),
    "runs/*/results.json": ("report", "--json"),
    "runs/*/launch.log": ("log", "--json"),
    "runs/rejected.json": ("accept", "-m", "all", "--all"),
    "runs/nightly.json": ("nightly", "--device", "cpu", "--jobs", "1"),
    "runs/history.sqlite": ("history", "scale"),
    "cache/programs/*/*.json": RUN,
    "cache/programs/*/*.ptx": RUN,
    "cache/programs/*/*.o": RUN,
}


def check(project: Damaged, path: Path, command: tuple[str, ...], before: Answer, *others: str) -> None:
    code, verdicts, output = project.answer(*command)
    is_right = (code, verdicts) == before[:2] and (command[0] in ("run", "nightly") or output == before[2])
    is_told = code == 4 and any(name in output for name in (path.name, *others))
    is_told |= path.name == "nightly.json" and f"{path.name}: edited or cut short" in output
    assert is_right or is_told, output


SLOW = ("cut short", "empty", "other content of the right size")


@pytest.mark.parametrize("damage", some_slow(DAMAGES, SLOW))
@pytest.mark.parametrize("glob", FILES)
def test_a_damaged_file_is_detected_or_made_again(damaged: Damaged, glob: str, damage: str) -> None:
    command = FILES[glob]
    before = damaged.before_damage(*command)
    paths = damaged.files(glob)
    for path in paths if glob.startswith("cache") else paths[-1:]:
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
    check(damaged, paths[-1], command, before)


SWAPPED = [
    ("baselines/scale/n=40/out.1.4", "baselines/scale/n=40/also.1.4", RUN),
    ("baselines/scale/n=40/baseline.yaml", "baselines/other/n=40/baseline.yaml", RUN),
    ("cache/programs/*/*.ptx", "", RUN),
    ("cache/programs/*/*.o", "", RUN),
    ("cache/programs/*/*.json", "", RUN),
    ("runs/*/results.json", "", ("report", "--json")),
    ("runs/*/launch.log", "", ("log", "--json")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second", "command"), SWAPPED)
def test_swapped_files_are_detected_or_made_again(
    damaged: Damaged, first: str, second: str, command: tuple[str, ...]
) -> None:
    before = damaged.before_damage(*command)
    one = damaged.files(first)[-1]
    other = damaged.files(second)[-1] if second else damaged.files(first)[0]
    assert one != other
    texts = one.read_bytes(), other.read_bytes()
    assert texts[0] != texts[1]
    one.write_bytes(texts[1])
    other.write_bytes(texts[0])
    check(damaged, one, command, before, other.name, f"{one.parent}/")


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 12))])
def test_a_random_bit_of_any_file_gives_no_wrong_verdict(damaged: Damaged, seed: int) -> None:
    """A run after the damage passes what passed before, or fails with exit code 4."""
    before = damaged.before_damage(*RUN, "scale", "other")
    assert before[0] == 0
    chosen = random.Random(seed)
    files = [
        path for path in damaged.files("**/*") if path.parts[len(damaged.root.parts)] in ("baselines", "cache", "runs")
    ]
    path = chosen.choice([path for path in files if path.stat().st_size])
    data = bytearray(path.read_bytes())
    data[chosen.randrange(len(data))] ^= 1 << chosen.randrange(8)
    path.write_bytes(bytes(data))
    code, verdicts, output = damaged.answer(*RUN, "scale", "other")
    assert (code, verdicts) == before[:2] or (code == 4 and path.name in output), f"{path}\n{output}"

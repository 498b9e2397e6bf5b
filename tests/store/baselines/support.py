from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Baseline, Case, MadeOf, Outcome, Source
from gpuregress.store.baselines import Acceptor, BaselineStore, made_of
from gpuregress.store.baselines.store import ANONYMOUS
from gpuregress.store.dumps import writer

FLOAT = dtypes.parse("float32")


NAME = "reduce/n=1000,tile=128"


def make_case(revision: str = "1.4", name: str = NAME) -> Case:
    return Case(
        "reduce", name, "/p/configs/reduce.yaml", {}, Source("/p/k.cu"), revision, "5eed", 42, {}, (), ("sum",), {}
    )


def make_outcome(
    folder: Path, values: list[float], revision: str = "1.4", buffers: tuple[str, ...] = ("sum",)
) -> Outcome:
    array = np.array(values, "<f4")
    dumps = [writer.write(folder / f"{name}.{revision}", array, FLOAT, array.shape) for name in buffers]
    return Outcome(NAME, "done", dumps=tuple(dumps), inputs={"x": "ab" * 16})


def accept_outcome(
    store: BaselineStore, case: Case, outcome: Outcome, facts: MadeOf, by: Acceptor = ANONYMOUS, **how: Any
) -> Baseline:
    """One run's dumps become the baseline."""
    with store.accepting() as batch:
        batch.add(case, outcome, facts, by, **how)
    accepted = store.load(case.name, how.get("arch", ""))
    assert accepted is not None
    return accepted


def accept(store: BaselineStore, folder: Path, values: list[float], revision: str = "1.4", **more: object) -> None:
    case, outcome = make_case(revision), make_outcome(folder, values, revision)
    by = Acceptor(**{name: str(more.pop(name)) for name in ("who", "why", "run", "unwritten_ok") if name in more})
    accept_outcome(store, case, outcome, made_of(case, outcome, (), ["k<<<(1,1,1),(1,1,1),0>>>()"]), by, **more)


def damage(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "edited":
        path.write_bytes(data.replace(b"1", b"2"))
    else:
        path.write_bytes(data + b"3.0\n")

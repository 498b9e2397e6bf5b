"""Accepted baselines, each read once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from gpuregress.foundation.records import Baseline, MadeOf, Outcome
from gpuregress.gpu.records import replace
from gpuregress.judge import accepted
from gpuregress.judge.accepted import AcceptedDumps
from gpuregress.store.baselines import BaselineStore
from tests import fakes
from tests.judge.dumps import dump


class CountingStore(BaselineStore):
    """A store that counts what it reads."""

    def __init__(self, baseline: Baseline | None = None) -> None:
        self.baseline, self.loaded = baseline, list[tuple[str, str | Sequence[str]]]()

    def load(self, case: str, arch: str | Sequence[str] = ()) -> Baseline | None:
        self.loaded.append((case, arch))
        return self.baseline


def test_a_baseline_is_read_once() -> None:
    store, case = CountingStore(), fakes.case("double")
    dumps = AcceptedDumps(store, "cuda")
    assert dumps.baseline(case) is dumps.baseline(case) is None
    assert dumps.known(case) == {}
    assert store.loaded == [("fake/double", accepted.nearest(case, "cuda"))]


def test_the_baseline_of_a_case_that_has_its_verdict_is_not_kept() -> None:
    baseline = Baseline("fake/double", "", "1", MadeOf(""), {}, ())
    store, case = CountingStore(baseline), fakes.case("double")
    dumps = AcceptedDumps(store, "cuda")
    assert dumps.baseline(case) is baseline
    count = sys.getrefcount(baseline)
    dumps.forget(case.name)
    assert sys.getrefcount(baseline) == count - 1
    assert dumps.baseline(case) is baseline
    assert len(store.loaded) == 2


def test_the_workers_are_told_of_the_dumps(tmp_path: Path) -> None:
    out = dump(tmp_path, "out.1", [1, 2])
    baseline = Baseline("fake/double", str(tmp_path), "1", MadeOf(""), {"out": out}, ())
    assert AcceptedDumps(CountingStore(baseline)).known(fakes.case("double")) == {"out": {out.digest: out.path}}


def test_specific_baselines_come_first() -> None:
    case = fakes.case("double")
    for_arch = replace(case, source=replace(case.source, arch="sm_90"))
    assert accepted.nearest(for_arch, "cuda") == ("cuda", "sm_90")
    assert accepted.nearest(for_arch, "") == ("sm_90",)


def test_the_provenance_has_each_launch_once() -> None:
    made_of = accepted.made_of(fakes.case("double", "double"), Outcome("c", "done"), (fakes.program(),))
    assert len(made_of.launches) == 1
    assert made_of.launches[0].startswith("double<<<")

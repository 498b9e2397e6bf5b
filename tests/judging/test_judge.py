"""What a case's outcome is held against, where something of it is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpuregress.baselines import Store
from gpuregress.dtypes import parse
from gpuregress.dump import writer
from gpuregress.judging.accepted import Accepted
from gpuregress.judging.judge import Judge
from gpuregress.records import Outcome
from tests import fakes


def test_a_gold_standard_that_was_not_computed_is_no_pass(tmp_path: Path) -> None:
    case = fakes.case("double", reference={"out": "/gold.py:f"})
    buffer = case.buffers["out"]
    array = np.zeros(buffer.shape, parse(buffer.dtype).storage)
    dump = writer.write(tmp_path / "out.1", array, parse(buffer.dtype), buffer.shape)
    judge = Judge(Accepted(Store(tmp_path / "baselines")))
    found = judge.verdict(case, None, Outcome(case.name, "done", dumps=(dump,)))
    assert (found.status, found.reason) == ("differ", "out: reference: was not computed, for another one failed")

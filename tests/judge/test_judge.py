"""What a case's outcome is held against, where something of it is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.dtypes import parse
from gpuregress.foundation.records import Check, Outcome, UnwrittenElements
from gpuregress.judge.accepted import AcceptedDumps
from gpuregress.judge.judge import Judge
from gpuregress.session import accepting
from gpuregress.store.baselines import BaselineStore
from gpuregress.store.dumps import writer
from tests import fakes
from tests.session.bench import Bench, words


def test_a_gold_standard_that_was_not_computed_is_no_pass(tmp_path: Path) -> None:
    case = fakes.case("double", reference={"out": "/gold.py:f"})
    buffer = case.buffers["out"]
    array = np.zeros(buffer.shape, parse(buffer.dtype).storage)
    dump = writer.write(tmp_path / "out.1", array, parse(buffer.dtype), buffer.shape)
    judge = Judge(AcceptedDumps(BaselineStore(tmp_path / "baselines")))
    actual = judge.verdict(case, (), Outcome(case.name, "done", dumps=(dump,)))
    assert (actual.status, actual.reason) == ("differ", "out: reference: was not computed, because another one failed")


def test_repeats_that_disagree_are_a_difference(bench: Bench) -> None:
    summary = bench.run(fakes.case("count", repeat=3))
    assert summary.verdicts[0].status == "differ"
    assert "run 2 of 3 is not the first one" in summary.verdicts[0].reason


def test_checks_are_judged(bench: Bench) -> None:
    summary = bench.run(fakes.case("double", checks={"out": (Check("finite"),)}))
    assert summary.verdicts[0].status == "differ"
    assert summary.verdicts[0].outcome is not None
    assert summary.verdicts[0].outcome.observations.writes.unwritten == {"out": UnwrittenElements(1, 8, ((7, 8),))}


def test_a_reference_is_computed_in_the_worker_and_compared(bench: Bench, tmp_path: Path) -> None:
    module = tmp_path / "gold.py"
    module.write_text(
        "import numpy as np\n"
        "def right(inputs, case):\n"
        "    out = 2 * inputs['x'].astype(np.float64)\n"
        "    out[-1] = np.nan\n"
        "    return out\n"
        "def wrong(inputs, case): return inputs['x'] * 3\n"
        "def raises(inputs, case): raise KeyError('y')\n"
    )
    cases = [
        fakes.case("double", name=f"fake/{name}", reference={"out": f"{module}:{name}"})
        for name in ("right", "wrong", "raises", "absent")
    ]
    summary = bench.run(*cases)
    assert words(summary) == {
        "fake/right": "pass",
        "fake/wrong": "differ",
        "fake/raises": "differ",
        "fake/absent": "differ",
    }
    reasons = [verdict.reason for verdict in summary.verdicts]
    assert "gold.py:raises raised KeyError: 'y' (line 7 of gold.py)" in reasons[2]
    assert "has no function 'absent'; it has: raises, right, wrong" in reasons[3]


def test_a_bug_while_comparing_is_that_cases_error(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.run(fakes.case("double"), fakes.case("twice"))
    accepting.accept(bench.project)

    def break_down(_pair: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("gpuregress.judge.buffer_pairs.BufferPair.compare", break_down)
    summary = bench.run(fakes.case("double"), fakes.case("sleep", timeout=0.2))
    assert words(summary) == {"fake/double": "error", "fake/sleep": "timeout"}
    assert "ZeroDivisionError: a bug" in summary.verdicts[0].reason
    assert summary.exit_code == 4

from __future__ import annotations

import pytest

from gpuregress.foundation.errors import BaselineError, NothingToDo, UsageError
from gpuregress.session import accepting
from tests import fakes
from tests.session.bench import Bench


def undecided(bench: Bench) -> list[str]:
    return [verdict.case for verdict in accepting.pending(bench.project).verdicts]


def test_what_is_accepted_or_rejected_is_not_pending(bench: Bench) -> None:
    bench.run(fakes.case("double"), fakes.case("count"), fakes.case("noise"), fakes.case("fault"))
    assert undecided(bench) == ["fake/double", "fake/count", "fake/noise"]
    accepting.accept(bench.project, ["fake/double"])
    (rejection,) = accepting.reject(bench.project, ["fake/count"], why="wrong")
    assert (rejection.case, rejection.buffer, rejection.why) == ("fake/count", "out", "wrong")
    assert undecided(bench) == ["fake/noise"]
    assert [one.case for one in accepting.take_back(bench.project, ["fake"])] == ["fake/count"]
    assert undecided(bench) == ["fake/count", "fake/noise"]
    with pytest.raises(UsageError, match="fake/double is not rejected"):
        accepting.take_back(bench.project, ["fake/double"])


def test_a_run_without_anything_to_decide_says_so(bench: Bench) -> None:
    bench.run(fakes.case("double"), fakes.case("fault"))
    accepting.accept(bench.project)
    with pytest.raises(NothingToDo, match="nothing to decide"):
        accepting.pending(bench.project)
    with pytest.raises(BaselineError, match=r"nothing to reject: .* \(fake/fault: fault\)"):
        accepting.reject(bench.project, ["fake/fault"])

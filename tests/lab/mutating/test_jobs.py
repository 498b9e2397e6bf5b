"""Jobs of a command line, one after the other: ^C ends all."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import pytest

from gpuregress.foundation.errors import Interrupted
from gpuregress.foundation.records import Case
from gpuregress.gpu.records import replace
from gpuregress.lab.mutating import jobs, mutate
from gpuregress.lab.mutating.mutate import MutateRequest
from gpuregress.session.events import ignore
from gpuregress.store import project
from tests.cli.runs.test_mutate import REPORT
from tests.workshop import Workshop


def test_an_interrupted_job_is_the_last_one(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.job(name="other")
    where, told = project.find(shop.root), replace(REPORT, interrupted=True)
    monkeypatch.setattr(mutate, "mutate", lambda *_arguments, **_more: told)
    assert list(jobs.each(where, ["*"], MutateRequest(), lambda: nullcontext(ignore))) == [told]

    def stopped(_project: Any, cases: Sequence[Case], _request: Any, **_more: Any) -> Any:
        if cases[0].job == "scale":
            raise Interrupted("interrupted")
        return REPORT

    monkeypatch.setattr(mutate, "mutate", stopped)
    going = jobs.each(where, ["*"], MutateRequest(), lambda: nullcontext(ignore))
    assert next(going) == REPORT
    with pytest.raises(Interrupted):
        next(going)

from __future__ import annotations

import pytest

from gpuregress.execution.cuda import driver
from tests.execution.cuda.fake_api import Error, FakeApi


def test_a_card_that_a_worker_is_just_leaving_is_waited_for(api: FakeApi) -> None:
    busy = Error("cuDevicePrimaryCtxRetain failed: CUDA-capable device(s) is/are busy or unavailable")
    answers: list[object] = [busy, busy, "context"]

    def make() -> object:
        answer = answers.pop(0)
        if isinstance(answer, Error):
            raise answer
        return answer

    assert driver.patiently(make) == "context"
    answers[:] = [busy, "context"]
    with pytest.raises(Error, match="busy"):
        driver.patiently(make, seconds=0.0)
    answers[:] = [Error("out of memory"), "context"]
    with pytest.raises(Error, match="out of memory"):
        driver.patiently(make)


def test_refusals_are_pycudas_error_and_lack_of_memory(api: FakeApi) -> None:
    assert driver.failures() == (api.Error, MemoryError)

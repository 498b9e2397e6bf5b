from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.records import Task, from_json, to_json
from gpuregress.gpu.records import replace
from tests import fakes


def test_programs_are_in_the_order_of_the_sources() -> None:
    first, second = fakes.program(), replace(fakes.program(), key="second")
    task = fakes.task(fakes.case("double"), Path("/nowhere"), other_programs=(second,))
    assert task.programs == (first, second)
    assert from_json(Task, to_json(task)) == task

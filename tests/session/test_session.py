from __future__ import annotations

import pytest

from gpuregress.foundation.errors import DeviceError, UsageError
from gpuregress.session.events import Event, Judged, Planned, Started
from tests import fakes
from tests.session.bench import Bench


def test_events_come_in_order(bench: Bench) -> None:
    events: list[Event] = []
    bench.run(fakes.case("double"), fakes.case("count"), listen=events.append)
    kinds = [type(event) for event in events if isinstance(event, Planned | Started | Judged)]
    assert kinds == [Planned, Started, Judged, Started, Judged]


def test_results_do_not_depend_on_how_many_workers_there_are(bench: Bench) -> None:
    cases = [fakes.case("double", name=f"fake/{number}", count=8 + number) for number in range(6)]

    def digests(jobs: int) -> list[str]:
        summary = bench.run(*cases, jobs=jobs)
        return [verdict.outcome.dumps[0].digest for verdict in summary.verdicts if verdict.outcome is not None]

    assert digests(1) == digests(3)


@pytest.mark.parametrize(("device", "error"), [("cuda:7", DeviceError), ("tpu", UsageError)])
def test_a_device_that_is_not_there(bench: Bench, device: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        bench.run(fakes.case("double"), device=device)
    assert not bench.project.runs.exists()

from __future__ import annotations

from gpuregress.foundation.records import DeviceInfo, FalseAlarms, Observations, Outcome, Timing, Verdict
from gpuregress.judge.timing import false_alarms
from tests.judge.timing.test_comparison import CPU, H200, samples, timing


def _verdict(name: str, measured: Timing | None, device: DeviceInfo = H200) -> Verdict:
    outcome = Outcome(name, "done", device=device, observations=Observations(timing=measured))
    return Verdict("job", name, "pass", outcome=outcome)


def test_a_case_that_drifts_differs_from_itself() -> None:
    steady = timing((1.0, 1.01) * 10)
    drifts = timing((*samples(1, 10), *samples(1.5, 10)))
    verdicts = [_verdict("a", steady), _verdict("b", drifts), _verdict("few", timing((1.0,) * 5))]
    measured = false_alarms.measure([*verdicts, _verdict("plain", None), Verdict("job", "skipped", "skip")])
    assert measured == FalseAlarms(2, ("b",))
    assert measured.rate == 0.5
    assert false_alarms.text(measured) == (
        "A/A: 1 of 2 timed cases differ from themselves, the first half of the samples against the second: "
        "50 % false alarms"
    )


def test_without_timed_cases_there_is_no_rate() -> None:
    assert false_alarms.measure([_verdict("plain", None)]) is None
    assert false_alarms.measure([_verdict("b", timing((1.0,) * 10), CPU)]) is None, (
        "its times are compared with nothing"
    )
    assert FalseAlarms(0).rate == 0


def test_the_text_counts_what_was_compared() -> None:
    text = false_alarms.text(FalseAlarms(1, ("a",)), "run")
    assert text.startswith("A/A: 1 of 1 run differs from itself, ")
    assert text.endswith(": 100 % false alarms")

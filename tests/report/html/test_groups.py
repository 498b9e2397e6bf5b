from __future__ import annotations

from gpuregress.report.html import sections
from tests.report.html import samples
from tests.report.samples import verdict


def test_a_title_does_not_say_the_verdict_twice() -> None:
    assert sections.Group("a", "differ", "differ: tail", ()).title == "differ: tail"
    assert sections.Group("a", "fault", "trap in scale", ()).title == "fault: trap in scale"
    assert sections.Group("a", "fault", "", ()).title == "fault"


def test_a_group_has_one_job_one_verdict_one_cause() -> None:
    cases = [
        verdict("error", job="b", case="b/1", cause="error: CompileError"),
        verdict("error", job="a", case="a/1", cause="error: DeviceError"),
        verdict("error", job="b", case="b/2", cause="error: StorageError"),
        verdict("error", job="b", case="b/3", cause="error: CompileError"),
        verdict("timeout", job="b", case="b/4", cause="timeout"),
    ]
    found = sections.grouped([samples.entry(case) for case in cases], ())
    assert [(one.job, one.title, [case["case"] for case in one.cases]) for one in found] == [
        ("b", "compile error", ["b/1", "b/3"]),
        ("b", "storage error", ["b/2"]),
        ("b", "timeout", ["b/4"]),
        ("a", "device error", ["a/1"]),
    ]


def test_the_simplest_case_comes_first_with_what_the_parameters_share() -> None:
    cases = [samples.entry(verdict("error", job="a", case=f"a/{n}")) for n in (3, 1, 2)]
    group = {"cases": ["a/1", "a/2", "a/3"], "text": "every failing case has n > 0", "alternatives": [["n > 0"]]}
    (found,) = sections.grouped(cases, [{"job": "a", "failures": [group]}])
    assert [case["case"] for case in found.cases] == ["a/1", "a/2", "a/3"]
    assert found.shared == ("every failing case has n > 0",)

from __future__ import annotations

import json
from typing import Any

from gpuregress.foundation.escapes import json_text
from gpuregress.gpu.records import replace
from gpuregress.report import json_report
from tests.report.samples import summary


def test_the_json_document_is_the_contracts() -> None:
    document = json.loads(json_report.render(summary()))
    assert (document["version"], document["run"], document["device"]) == (1, "20261120T020000Z-3f2a", "cpu")
    assert [case["verdict"] for case in document["cases"]] == [
        "pass",
        "differ",
        "new",
        "fault",
        "timeout",
        "error",
        "skip",
    ]
    (buffer,) = document["cases"][1]["buffers"]
    assert (buffer["differing"], buffer["of"], buffer["worst"]["index"]) == (3, 8, 5)
    assert document["cases"][3]["fault"]["kind"] == "trap"
    assert document["cases"][0]["parameters"] == {}
    assert document["parameter_spaces"] == []


def test_json_has_no_nan_that_other_readers_refuse() -> None:
    def refuse(name: str) -> Any:
        raise AssertionError(name)

    document = json.loads(json_report.render(summary()), parse_constant=refuse)
    numbers = document["cases"][1]["buffers"][0]["comparisons"][0]["numbers"]
    assert (numbers["max_abs"], numbers["max_rel"]) == ("inf", "nan")


def test_cases_written_one_by_one_are_the_document() -> None:
    given = summary()
    assert len(given.verdicts) > 1
    for one in (
        given,
        replace(given, verdicts=given.verdicts[:1]),
        replace(given, verdicts=()),
    ):
        whole = json_report.finite(json_report.document(one))
        assert json_report.render(one) == json_text(whole, indent=1) + "\n"

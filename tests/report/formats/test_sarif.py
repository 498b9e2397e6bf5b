from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
from hypothesis import given, settings

from gpuregress.foundation.records import STATUSES, KnownFailing, RunSummary, SourceLocation
from gpuregress.gpu.records import replace
from gpuregress.report.entries import entries
from gpuregress.report.formats import sarif
from tests.report.formats.hostile import runs
from tests.report.samples import summary, verdict

ROOT = Path("/p")


def record(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def listed(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


STRING = {"type": "string"}
MESSAGE = record(["text"], text=STRING)
LEVEL = {"enum": ["none", "note", "warning", "error"]}
URI = {"type": "string", "format": "uri-reference", "pattern": "^[^ \\\\]+$"}
LOCATION = record(
    [],
    physicalLocation=record(
        ["artifactLocation"],
        artifactLocation=record([], uri=URI, uriBaseId=STRING),
        region=record([], startLine={"type": "integer", "minimum": 1}),
    ),
    logicalLocations=listed(record([], fullyQualifiedName=STRING, kind=STRING)),
    message=MESSAGE,
)
RESULT = record(
    ["message"],
    ruleId=STRING,
    ruleIndex={"type": "integer", "minimum": -1},
    level=LEVEL,
    message=MESSAGE,
    locations=listed(LOCATION),
    relatedLocations=listed(LOCATION, uniqueItems=True),
    partialFingerprints={"type": "object", "additionalProperties": STRING},
    suppressions=listed(
        record(["kind"], kind={"enum": ["inSource", "external"]}, justification=STRING), uniqueItems=True
    ),
)
RULE = record(["id"], id=STRING, name=STRING, shortDescription=MESSAGE)
# The part of the schema of SARIF 2.1.0 that the reports use, with its names, required keys and enumerations.
SCHEMA = record(
    ["version", "runs"],
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"const": "2.1.0"},
    runs=listed(
        record(
            ["tool"],
            tool=record(
                ["driver"],
                driver=record(["name"], name=STRING, version=STRING, rules=listed(RULE, uniqueItems=True)),
            ),
            automationDetails=record([], id=STRING),
            columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            originalUriBaseIds={"type": "object", "additionalProperties": record([], description=MESSAGE)},
            invocations=listed(
                record(
                    ["executionSuccessful"],
                    executionSuccessful={"type": "boolean"},
                    exitCode={"type": "integer"},
                    startTimeUtc={"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
                    toolExecutionNotifications=listed(record(["message"], level=LEVEL, message=MESSAGE)),
                )
            ),
            results=listed(RESULT),
        )
    ),
)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def document(run: RunSummary) -> Any:
    read = json.loads(sarif.render(run, ROOT))
    VALIDATOR.validate(read)
    (one,) = read["runs"]
    return one


def test_the_failures_are_results() -> None:
    run = document(summary())
    assert [result["ruleId"] for result in run["results"]] == ["differ", "new", "fault", "timeout", "error"]
    assert run["results"][0]["message"]["text"].startswith("reduce/differ: sum: 3 of 8 differ\n")
    assert run["invocations"][0]["executionSuccessful"] is False


def test_a_location_is_a_uri_below_the_repository() -> None:
    call = SourceLocation("/p/main.cu", 3)
    inside = verdict("fault", location=SourceLocation("/p/k 100%ü.cu", 7, (call,)), exit_code=3)
    outside = verdict("fault", location=SourceLocation("/usr/x.cu"), exit_code=3)
    first, second = document(replace(summary(), verdicts=(inside, outside)))["results"]
    physical = first["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "k%20100%25%C3%BC.cu", "uriBaseId": "SRCROOT"}
    assert physical["region"] == {"startLine": 7}
    (related,) = first["relatedLocations"]
    assert related["physicalLocation"]["artifactLocation"]["uri"] == "main.cu"
    assert "relatedLocations" not in second
    assert second["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///usr/x.cu"}


def test_a_known_failure_is_suppressed() -> None:
    (result,) = document(
        replace(
            summary(),
            verdicts=(verdict("skip", known=KnownFailing("2026-12-24", "why", "differ"), reason="until then"),),
            exit_code=0,
        )
    )["results"]
    assert (result["level"], result["suppressions"][0]["justification"]) == ("note", "until then")


def test_every_status_has_a_rule() -> None:
    assert {*STATUSES} - {*sarif.RULES} == {"pass", "skip"}


@settings(max_examples=40)
@given(runs())
def test_sarif_is_valid_whatever_the_texts_hold(run: RunSummary) -> None:
    found = [one for one in entries(run, ROOT) if one.level not in ("passed", "skipped")]
    assert len(document(run)["results"]) == len(found)

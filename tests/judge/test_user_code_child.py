"""The child process that calls functions of the user, spoken to as its parent does."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.records import Check, Rule, to_json
from gpuregress.judge import user_code_child
from gpuregress.judge.user_code import UserCodeRequest
from tests import fakes
from tests.judge.dumps import dump


def reply(call: UserCodeRequest) -> dict[str, object]:
    return user_code_child._reply({"call": to_json(call)})


def test_a_comparison_and_a_check(tmp_path: Path) -> None:
    case, expected, actual = fakes.case("double"), dump(tmp_path, "out.1", [1]), dump(tmp_path, "out.2", [2])
    compared = reply(UserCodeRequest(case, actual, None, "baseline", expected, Rule(atol=2)))["comparison"]
    assert (compared.against, compared.same, compared.changed) == ("baseline", True, 1)  # type: ignore[attr-defined] # of any reply
    checked = reply(UserCodeRequest(case, actual, Check("nonzero")))["comparison"]
    assert (checked.against, checked.same) == ("check", True)  # type: ignore[attr-defined] # as above


def test_errors_are_replies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case, actual = fakes.case("double"), dump(tmp_path, "out.1", [1])
    Path(actual.path).unlink()
    assert "out.1" in str(reply(UserCodeRequest(case, actual, Check("nonzero")))["bug"])
    bug = user_code_child._reply({"call": {}})["bug"]
    assert bug.startswith("an error inside gpuregress while comparing: ValidationError")
    assert "Traceback" in capsys.readouterr().err

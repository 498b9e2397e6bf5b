from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Document
from gpuregress.jobs.spec.resolve.scope import Scope, existing_user_function


def test_parameters_in_the_file_and_the_name(tmp_path: Path) -> None:
    (tmp_path / "ref_float.py").write_text("def of_float(inputs, case): ...\n")
    scope = Scope({"real": "float"}, Problems(Document(tmp_path / "job.yaml", {}, {})))
    assert existing_user_function(scope, "ref_{real}.py:of_{real}", ("k",)) == f"{tmp_path}/ref_float.py:of_float"
    assert existing_user_function(scope, "ref_{rael}.py:of_float", ("wrong",)) is None
    assert [error.key for error in scope.problems.errors] == ["wrong"]

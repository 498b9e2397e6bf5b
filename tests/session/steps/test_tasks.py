from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest import mock

from tests import fakes
from tests.session.bench import Bench


def test_a_source_whose_text_does_not_tell_is_labelled_by_its_program(bench: Bench, tmp_path: Path) -> None:
    def run_with(ptx: str) -> str:
        (tmp_path / "program.ptx").write_text(ptx)
        made = replace(fakes.program(), ptx=str(tmp_path / "program.ptx"), unknown="k.cu:2: an include of a macro")
        with mock.patch.object(bench, "compile", return_value=made):
            summary = bench.run(fakes.case("double"))
        if summary.verdicts[0].revision != "1.4":
            message = (*summary.notes, *summary.remarks)
            assert any("already recorded for another source text" in note for note in message)
        return summary.verdicts[0].revision

    labels = [run_with("one"), run_with("one"), run_with("two"), run_with("one")]
    assert labels[0] == labels[1] == labels[3] == "1.4"
    assert labels[2].startswith("1.4+")

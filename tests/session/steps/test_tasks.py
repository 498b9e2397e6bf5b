from __future__ import annotations

from pathlib import Path

from gpuregress.gpu.records import replace
from gpuregress.session import session
from gpuregress.session.run_request import Machinery, RunRequest
from tests import fakes
from tests.session.bench import FAKE, Bench
from tests.session.compilation.crews import in_process


def test_a_source_whose_text_does_not_tell_is_labelled_by_its_program(bench: Bench, tmp_path: Path) -> None:
    def run_with(ptx: str) -> str:
        (tmp_path / "program.ptx").write_text(ptx)
        made = replace(fakes.program(), ptx=str(tmp_path / "program.ptx"), unknown="k.cu:2: an include of a macro")
        machinery = Machinery(FAKE, in_process(lambda _source: made), bench.plan)
        bench.cases = (fakes.case("double"),)
        summary = session.run(bench.project, RunRequest(device="cpu", jobs=1), machinery=machinery)
        if summary.verdicts[0].revision != "1.4":
            message = (*summary.notes, *summary.remarks)
            assert any("already recorded for another source text" in note for note in message)
        return summary.verdicts[0].revision

    labels = [run_with("one"), run_with("one"), run_with("two"), run_with("one")]
    assert labels[0] == labels[1] == labels[3] == "1.4"
    assert labels[2].startswith("1.4+")

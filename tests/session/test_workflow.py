from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.records import Rule
from gpuregress.gpu.records import replace
from gpuregress.session.accepting import accept
from tests import fakes
from tests.session.bench import Bench, words


def test_a_difference_names_elements_dump_and_baseline(bench: Bench) -> None:
    bench.run(fakes.case("count"))
    accept.accept(bench.project)
    changed = bench.run(replace(fakes.case("double", name="fake/count"), revision="1.5"))
    assert changed.exit_code == 1
    (verdict,) = changed.verdicts
    assert (verdict.status, verdict.revision, verdict.baseline_revision) == ("differ", "1.5", "1.4")
    (buffer,) = verdict.buffers
    assert buffer.comparisons[0].differing == 8
    assert Path(buffer.dump).is_file()
    assert buffer.baseline == str(bench.project.baselines / "fake" / "count" / "out.1.4")


def test_a_damaged_baseline_is_that_cases_error(bench: Bench) -> None:
    bench.run(fakes.case("double"))
    accept.accept(bench.project)
    dump = bench.project.baselines / "fake" / "double" / "out.1.4"
    dump.write_text(dump.read_text().replace("2.0", "3.0"))
    summary = bench.run(fakes.case("double"), fakes.case("count"))
    assert words(summary) == {"fake/double": "error", "fake/count": "new"}
    assert "edited" in summary.verdicts[0].reason
    assert summary.exit_code == 4


def test_a_tolerance_passes_what_is_near(bench: Bench) -> None:
    bench.run(fakes.case("double"))
    accept.accept(bench.project)
    near = replace(fakes.case("double"), compare={"out": Rule(rtol=1e-5, atol=0.0)})
    assert words(bench.run(near)) == {"fake/double": "pass"}

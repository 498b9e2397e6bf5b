"""Subject: the unchanged cases must pass, and its mutants are of its own project's device code."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import BufferVerdict, Status
from gpuregress.gpu.records import replace
from gpuregress.jobs import plan
from gpuregress.judge import verdict
from gpuregress.lab.mutating import subject as subjects
from gpuregress.lab.mutating.subject import NothingNoticed
from gpuregress.session.events import ignore
from gpuregress.store import project
from gpuregress.store.project import Project
from gpuregress.toolchain import cache
from tests import fakes
from tests.workshop import Workshop, accepted, change


def prepare(shop: Workshop, selector: str, folder: Path) -> subjects.Subject:
    where = project.find(shop.root)
    return subjects.prepare(where, plan.make(where, [selector]).cases, folder, ignore)


def test_cases_that_pass_and_their_mutants(
    fake_shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted(fake_shop)
    before = sorted(fake_shop.root.rglob("*"))
    subject = prepare(fake_shop, "scale", tmp_path / "scratch")
    assert [case.name for case in subject.cases] == ["scale/n=100"]
    found, texts = subjects.mutants(subject)
    assert list(texts) == [str(fake_shop.root / "kernels/scale.cu")]
    assert {one.operator for one in found} >= {"boundary", "guard-dropped", "index-off-by-one", "thread-block-swapped"}
    assert subjects.launched_entries(subject) == {key: {"scale"} for key in subject.sources}
    assert subject.limit_s(subject.cases[0]) == 2.0
    for slow in (set[str](), set(subject.programs)):
        monkeypatch.setattr(cache, "is_slow", lambda _program, slow=slow: bool(slow))
        again = subjects.of_verdicts(subject.project, subject.job, subject.cases, subject.verdicts)
        assert again.slow == slow
    assert [path for path in sorted(fake_shop.root.rglob("*")) if "scratch" not in path.parts] == before


def test_what_cannot_be_a_subject(fake_shop: Workshop, tmp_path: Path) -> None:
    with pytest.raises(NothingNoticed, match="nothing would notice a mutant: scale/n=100 has no baseline"):
        prepare(fake_shop, "scale", tmp_path / "one")
    accepted(fake_shop)
    change(fake_shop)
    with pytest.raises(UsageError, match=r"the unchanged kernel must pass .* scale/n=100 does not: differ: "):
        prepare(fake_shop, "scale", tmp_path / "two")
    fake_shop.job(("launches:", "devices: [cuda]\nlaunches:"), name="scale")
    with pytest.raises(UsageError, match=r"no case of scale runs on the CPU device: scale/n=100: its job runs on cuda"):
        prepare(fake_shop, "scale", tmp_path / "four")


@pytest.mark.parametrize(("others", "is_refused"), [(("new",), True), (("new", "pass"), False)])
def test_results_of_which_some_are_compared_with_nothing(
    tmp_path: Path, others: tuple[Status, ...], *, is_refused: bool
) -> None:
    """Only where nothing at all is compared, nothing would notice a mutant."""
    case = fakes.case("double", name="job/1")
    buffers = tuple(BufferVerdict(f"b{number}", status) for number, status in enumerate(others))
    reached = replace(verdict.skipped(case, "b0: no baseline yet"), status="new", buffers=buffers)
    folder = Project(tmp_path, tmp_path, tmp_path, tmp_path)
    with pytest.raises(UsageError, match=r"job/1.* \(b0: no baseline yet\); run it and") as caught:
        subjects.of_verdicts(folder, "job", [case], {case.name: reached})
    assert isinstance(caught.value, NothingNoticed) == is_refused
    assert caught.value.args[0].startswith("nothing would notice a mutant: job/1") == is_refused

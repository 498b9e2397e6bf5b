from __future__ import annotations

import pytest

from gpuregress.foundation.records import Argument
from gpuregress.gpu.records import replace
from tests import fakes
from tests.session.bench import Bench, words


@pytest.mark.parametrize(("kind", "code"), [("run", 2), ("nightly", 4)])
def test_a_variant_that_contradicts_its_kernel_is_an_error_alone(bench: Bench, kind: str, code: int) -> None:
    right, case = fakes.case("double"), fakes.case("double", name="fake/variant")
    launch = replace(case.launches[0], args=(*case.launches[0].args, Argument("null")))
    where = bench.project.configs / "fake.yaml"
    summary = bench.run(replace(right, path=str(where)), replace(case, path=str(where), launches=(launch,)), kind=kind)
    assert words(summary) == {"fake/double": "new", "fake/variant": "error"}
    assert summary.verdicts[1].reason.startswith("configs/fake.yaml: launches[0].args: double takes 2 arguments, not 3")
    assert (summary.exit_code, summary.verdicts[1].exit_code) == (code, code)

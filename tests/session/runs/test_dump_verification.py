"""`dump_verification` in a project: see also `tests/integration/test_earlier_results.py`."""

from __future__ import annotations

import pytest

from gpuregress.foundation.errors import DumpError
from gpuregress.foundation.records import Fill, InputFile
from gpuregress.gpu.records import replace
from gpuregress.session.runs import dump_verification
from tests import fakes
from tests.session.bench import Bench


def test_only_dumps_inside_the_folder_of_runs_are_verified(bench: Bench) -> None:
    bench.run(fakes.case("double"))
    runs = bench.project.runs
    dump = next(path for path in sorted(runs.glob("*/dumps/**/*.*")) if path.is_file() and not path.parent.is_symlink())
    outside = bench.project.root / dump.name
    outside.write_bytes(dump.read_bytes())
    case = fakes.case("double")
    name, buffer = next(iter(case.buffers.items()))

    def taking(path: object) -> None:
        filled = replace(buffer, fill=Fill("file", InputFile(str(path)), 0))
        dump_verification.verify_inputs(replace(case, buffers={**case.buffers, name: filled}), runs)

    taking(dump)
    for path in (dump, outside):
        path.chmod(0o644)
        path.write_text(path.read_text() + "0\n")
    taking(outside)
    with pytest.raises(DumpError, match="edited or cut short"):
        taking(dump)

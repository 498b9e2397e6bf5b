from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.execution.cluster.messages import CaseReply, DumpFile
from gpuregress.execution.cluster.packing import compressed
from gpuregress.execution.cluster.unpacking import ReplyFiles, Unpacker
from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import DumpStorage, Outcome
from gpuregress.gpu.records import replace
from gpuregress.store.dumps import writer
from tests import fakes


@pytest.mark.parametrize("path", ["../out.1", "/etc/out.1", "dumps/../../out.1", ""])
def test_no_file_leads_out_of_the_run(tmp_path: Path, path: str) -> None:
    reply = CaseReply("done", Outcome("fake/double", "done"), files=(DumpFile(path, 1, "00", "inline"),))
    with pytest.raises(StorageError, match="is not a path inside"):
        Unpacker().outcome(
            fakes.task(fakes.case("double"), tmp_path / "run"), reply, ReplyFiles({"00": compressed(b"x")})
        )
    assert list(tmp_path.rglob("out.1")) == []


@pytest.mark.parametrize("suffix", ["", ".zst"])
def test_what_has_the_accepted_bytes_is_copied_from_the_baseline(tmp_path: Path, suffix: str) -> None:
    """Compressed or not: it did not travel."""
    values, element = np.arange(100, dtype="<f4"), dtypes.parse("float32")
    above = 10 if suffix else 1 << 20
    accepted = writer.write(tmp_path / "accepted" / "out.1", values, element, (100,), compress_above=above)
    run = tmp_path / "run"
    task = replace(
        fakes.task(fakes.case("double"), run),
        known={"out": {accepted.digest: accepted.path}},
        storage=DumpStorage("", above),
    )
    name = f"dumps/fake/double/out.1{suffix}"
    there = replace(accepted, path=str(run / name))
    reply = CaseReply("done", Outcome("fake/double", "done", dumps=(there,)), files=(DumpFile(name, 1, "", "known"),))
    outcome = Unpacker().outcome(task, reply, ReplyFiles())
    assert outcome is not None
    assert outcome.dumps == (there,)
    assert (run / name).read_bytes() == Path(accepted.path).read_bytes()

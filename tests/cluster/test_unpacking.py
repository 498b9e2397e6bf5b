from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.cluster.messages import CaseReply, DumpFile
from gpuregress.cluster.packing import compressed
from gpuregress.cluster.unpacking import ReplyFiles, Unpacker
from gpuregress.errors import StorageError
from gpuregress.records import Outcome
from tests import fakes


@pytest.mark.parametrize("path", ["../out.1", "/etc/out.1", "dumps/../../out.1", ""])
def test_no_file_leads_out_of_the_run(tmp_path: Path, path: str) -> None:
    reply = CaseReply("done", Outcome("fake/double", "done"), files=(DumpFile(path, 1, "00", "inline"),))
    with pytest.raises(StorageError, match="is not a path inside"):
        Unpacker().outcome(
            fakes.task(fakes.case("double"), tmp_path / "run"), reply, ReplyFiles({"00": compressed(b"x")})
        )
    assert list(tmp_path.rglob("out.1")) == []

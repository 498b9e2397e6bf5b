from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import DumpError, StorageError
from gpuregress.gpu.records import replace
from gpuregress.store.dumps import files, writer


def test_a_dump_that_was_changed_is_refused_whenever_it_was(tmp_path: Path) -> None:
    dump = writer.write(tmp_path / "x.1", np.arange(4, dtype=np.float32), dtypes.parse("float32"), (4,))
    files.verify(dump)
    text = Path(dump.path).read_text()
    Path(dump.path).write_text(text.replace("3.0", "3.5"))
    with pytest.raises(DumpError, match=r"x\.1: edited or cut short since it was written"):
        files.verify(dump)
    files.verify(replace(dump, text_digest=""))
    Path(dump.path).unlink()
    with pytest.raises(StorageError, match=r"x\.1"):
        files.verify(dump)

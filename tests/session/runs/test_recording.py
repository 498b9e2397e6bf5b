from __future__ import annotations

import pytest

from gpuregress.foundation.errors import StorageError
from gpuregress.session.runs import run_folders
from tests import fakes
from tests.session.bench import Bench


def test_only_the_last_runs_are_kept(bench: Bench) -> None:
    names = [bench.run(fakes.case("double")).run for _ in range(5)]
    kept = [folder.name for folder in run_folders.every(bench.project.runs)]
    assert len(kept) == 3
    assert names[-1] in kept


def test_a_runs_folder_that_cannot_be_made_is_a_storage_error(bench: Bench) -> None:
    bench.project.runs.write_text("in the way")
    with pytest.raises(StorageError, match="runs"):
        bench.run(fakes.case("double"))

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation import storage
from gpuregress.store.dumps.reader import Inflation

TEXT = b"".join(b"%d\n" % number for number in range(20_000))


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("gpuregress.foundation.storage.compressed.FRAME_BYTES", 1 << 12)
    path = tmp_path / "a.1.zst"
    with path.open("wb") as file, storage.FrameWriter(file) as frames:
        frames.add(TEXT)
    return path


def test_the_text_is_there_as_far_as_it_was_asked_for(packed: Path) -> None:
    with packed.open("rb") as file:
        frames = storage.open_frames(file, packed)
        assert frames is not None
        with Inflation(frames) as text:
            assert len(text.data) == len(TEXT)
            assert text.ends_with_newline()
            text.ensure(5000)
            assert text.data[: 2 << 12] == TEXT[: 2 << 12]
            assert not any(text.data[2 << 12 :])
            assert [text.available_to(at) for at in (0, 4095, 4096, len(TEXT))] == [4096, 4096, 8192, len(TEXT)]
            text.ensure(1 << 30)
            assert text.data[:] == TEXT

from __future__ import annotations

import hashlib

from gpuregress.jobs import inputs


def test_seed_of_a_buffer() -> None:
    assert inputs.seed_for(42, "x") == int.from_bytes(hashlib.sha256(b"42:x").digest()[:8], "little")
    assert len({inputs.seed_for(seed, name) for seed in range(5) for name in "xyz"}) == 15

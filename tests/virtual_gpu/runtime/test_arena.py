from __future__ import annotations

from gpuregress.virtual_gpu.runtime.arena import WARP, Arena
from gpuregress.virtual_gpu.runtime.machine_layout import FIXED_BYTES, ROWS, local_stride
from gpuregress.virtual_gpu.runtime.program import KernelFacts


def _facts(*, local_bytes: int = 0, context_bytes: int = 0) -> KernelFacts:
    return KernelFacts("k", local_bytes, context_bytes, 0, (), 1024, None, False, None, (1, 1, 1))


def test_memory_grows_and_is_kept() -> None:
    arena = Arena()
    arena.prepare(b"\1\2\3\4", 5000, _facts(local_bytes=100), 8)
    assert arena.parameters[:4].tolist() == [1, 2, 3, 4]
    assert len(arena.shared) >= 5000
    assert len(arena.local) >= local_stride(100)  # threads that never wait share it
    assert arena.alone[0] == arena.shared.ctypes.data
    large = arena.shared
    arena.prepare(b"", 100, _facts(), 8)
    assert arena.shared is large
    arena.release()
    assert len(arena.shared) == 0


def test_each_waiting_thread_has_local_memory_and_absent_lanes_post_nothing() -> None:
    arena = Arena()
    facts = _facts(local_bytes=100, context_bytes=FIXED_BYTES)
    arena.prepare(b"", 100, facts, 8)
    assert len(arena.local) >= 8 * local_stride(100)
    arena.context[:] = 7
    arena.prepare(b"", 100, facts, 8)
    start, step = ROWS["snap"]
    posts = arena.context[start : start + step * (8 + WARP)]
    assert posts[: step * 8].all()
    assert not posts[step * 8 :].any()

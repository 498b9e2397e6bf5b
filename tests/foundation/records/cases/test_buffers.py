from __future__ import annotations

from gpuregress.foundation.records import Buffer, Fill, NoOptions, PythonFunction


def test_bytes_and_poison_of_a_buffer() -> None:
    assert Buffer("x", "float3", (4, 2)).size == 96
    assert Buffer("x", "float32", (1,)).is_poisoned
    assert not Buffer("x", "float32", (1,), Fill("ones", NoOptions(), 0)).is_poisoned
    assert not Buffer("x", "float32", (1,), symbol="taps").is_poisoned


def test_contents_of_another_buffer_are_made_as_that_one_is() -> None:
    origin = Buffer("x", "float32", (8,), Fill("python", PythonFunction("/f.py:f"), 1))
    assert Fill("same", NoOptions(), 2, origin).runs_user_code
    assert not Fill("ones", NoOptions(), 2).runs_user_code

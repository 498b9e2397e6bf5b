from __future__ import annotations

import threading

import pytest

from gpuregress.foundation.background import Background


def test_a_call_goes_on_beside_its_caller() -> None:
    is_asked = threading.Event()
    background = Background(lambda: is_asked.wait(60), "a test")
    is_asked.set()
    assert background.result() is True


def test_an_error_is_raised_where_the_value_is_wanted() -> None:
    background = Background(lambda: 1 // 0, "a test")
    with pytest.raises(ZeroDivisionError):
        background.result()

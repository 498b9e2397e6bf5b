from __future__ import annotations

import numpy as np
import pytest

from gpuregress.execution.runner.case_runs import check_status
from gpuregress.foundation.errors import KernelFault
from gpuregress.foundation.records import Buffer
from tests import fakes


def check(values: np.ndarray, dtype: str) -> None:
    memory = fakes.FakeMemory("errors", values.nbytes, 1 << 32)
    memory.write(np.frombuffer(values.tobytes(), np.uint8))
    check_status(memory, Buffer("errors", dtype, (values.size,)))


def test_zeros_pass() -> None:
    check(np.zeros(5, np.int32), "int32")


@pytest.mark.parametrize(
    ("value", "dtype", "shown"),
    [
        (np.int32(35), "int32", "35 (0x23)"),
        (np.int32(-3), "int32", "-3 (0xfffffffd)"),
        (np.int8(-128), "int8", "-128 (0x80)"),
        (np.int64(-1), "int64", "-1 (0xffffffffffffffff)"),
        (np.uint64(2**64 - 1), "uint64", "18446744073709551615 (0xffffffffffffffff)"),
        (np.array([(0, -2)], "i4,i4")[0], "int2", "(0, -2 (0xfffffffe))"),
    ],
)
def test_a_code_is_shown_in_hexadecimal_too(value: np.generic, dtype: str, shown: str) -> None:
    with pytest.raises(KernelFault) as caught:
        check(np.array([value]), dtype)
    assert (caught.value.kind, str(caught.value)) == ("status", f"errors[0] = {shown}")


def test_a_code_is_shown_with_its_name() -> None:
    memory = fakes.FakeMemory("errors", 12, 1 << 32)
    memory.write(np.frombuffer(np.array([0, 3, 9], np.int32).tobytes(), np.uint8))
    with pytest.raises(KernelFault) as caught:
        check_status(memory, Buffer("errors", "int32", (3,)), {"0": "ok", "3": "table full"})
    assert str(caught.value) == "errors[1] = 3 (0x3): table full and 1 more of 3 are not zero"
    assert caught.value.details == ("errors[1] = 3 (0x3): table full", "errors[2] = 9 (0x9)")


def test_the_first_codes_are_listed() -> None:
    with pytest.raises(KernelFault) as caught:
        check(np.arange(30, dtype=np.int32), "int32")
    assert str(caught.value) == "errors[1] = 1 (0x1) and 28 more of 30 are not zero"
    assert len(caught.value.details) == 20
    assert caught.value.details[-1] == "errors[20] = 20 (0x14)"

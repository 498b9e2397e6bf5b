from __future__ import annotations

import inspect
import re
from pathlib import Path

from gpuregress.foundation import errors
from gpuregress.foundation.errors import GpuregressError, JobError, JobErrors

CLASSES = [item for _, item in inspect.getmembers(errors, inspect.isclass) if issubclass(item, GpuregressError)]


def test_the_drawn_tree_is_the_real_one() -> None:
    drawn = {}
    stack: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        actual = re.fullmatch(r"    ([│├└─ ]*)(\w+)(?: +(\d+).*)?", line)
        if actual is None:
            continue
        depth = len(actual[1]) // 4
        stack[depth:] = [actual[2]]
        drawn[actual[2]] = (stack[depth - 1] if depth else "Exception", actual[3])
    assert set(drawn) == {item.__name__ for item in CLASSES}
    for item in CLASSES:
        parent, code = drawn[item.__name__]
        assert item.__bases__[0].__name__ == parent
        assert code is None or item.exit_code == int(code)


def test_job_errors_read_line_by_line() -> None:
    first = JobError(Path("a.yaml"), 12, "buffers.x.shape[0]", "is 0")
    second = JobError(Path("a.yaml"), None, "", "is empty")
    error = JobErrors((first, second, first))
    assert str(error) == "a.yaml:12: buffers.x.shape[0]: is 0\na.yaml: is empty"
    assert error.errors == (first, second)
    assert error.exit_code == 2

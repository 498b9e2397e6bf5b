"""Resolution of the user's Python functions, whose file or name may hold parameters."""

from __future__ import annotations

from gpuregress.foundation.document.reader import Key
from gpuregress.jobs.spec.resolve import paths
from gpuregress.jobs.spec.resolve.scope import Scope


def existing(scope: Scope, text: str, key: Key) -> str | None:
    """Return `/abs/module.py:function`; None if the file or function does not exist, which is reported.

    Args:
        scope: the case's values.
        text: `module.py:function`, as the job has it; `reference.py:of_{real}`.
        key: its key.
    """
    filled = scope.text(text, key)
    return None if filled is None else paths.existing_function(scope.problems, key, filled)

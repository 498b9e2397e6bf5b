"""Late run of Python's `site`, whose hooks a small case does without.

A worker on a GPU begins without `site`, with the module path of its parent. The `.pth` files of all installed packages
take as long as Python's own start. `complete` runs them before code of a user is imported, and where a worker waits.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

VARIABLE = "GPUREGRESS_MODULE_PATH"
"""Environment variable with the parent's module path, for its worker alone."""

_POSTPONED: list[bool] = []


def postpone(path: Sequence[str]) -> None:
    """Take over a module path, and leave all else that `site` does for later."""
    sys.path[:] = path
    _POSTPONED.append(True)


def complete() -> None:
    """Run what was postponed, if anything was."""
    if _POSTPONED:
        _POSTPONED.clear()
        import site  # noqa: PLC0415 - what was left out

        site.main()


def module_path() -> list[str]:
    """The module path for a worker: without the folder of the running script, whose files may have any name."""
    script = sys.argv[0].rpartition("/")[0] if sys.argv else ""
    return [folder for at, folder in enumerate(sys.path) if folder.startswith("/") and (at or folder != script)]

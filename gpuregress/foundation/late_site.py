"""Late run of Python's `site`, whose hooks a small case does without.

A worker on a GPU begins without `site`, with the module path of its parent. The `.pth` files of all installed packages
take as long as Python's own start. `complete` runs them before code of a user is imported, and where a worker waits.
"""

from __future__ import annotations

import os
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
    """The module path for a worker: Python's own modules first, and without the folder of the running script.

    A test runner puts folders of a user before them, whose files may have any name.
    """
    script = sys.argv[0].rpartition("/")[0] if sys.argv else ""
    path = [folder for at, folder in enumerate(sys.path) if folder.startswith("/") and (at or folder != script)]
    return sorted(path, key=_is_a_users)


def _is_a_users(folder: str) -> bool:
    """Tell folders of packages and users from those of Python's own modules."""
    own = os.__file__.rpartition("/")[0]
    return folder not in (own, f"{own}/lib-dynload") and not folder.endswith(".zip")

"""The user's home folder, which a user without an entry in the system's list may lack."""

from __future__ import annotations

import os
from pathlib import Path

from gpuregress.foundation.errors import HarnessError


def home() -> Path | None:
    """Return the user's home; None where neither `HOME` nor the system names one."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def configuration() -> Path:
    """Return the user's folder for configuration: `XDG_CONFIG_HOME`, else `~/.config`.

    Raises:
        HarnessError: there is neither.
    """
    named, own = os.environ.get("XDG_CONFIG_HOME"), home()
    if not named and own is None:
        raise HarnessError("this user has no home folder: set HOME or XDG_CONFIG_HOME")
    return Path(named) if named else Path(own or "", ".config")

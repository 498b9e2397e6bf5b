"""Nights of projects in folders with awkward names."""

from __future__ import annotations

import sys
from pathlib import Path

from gpuregress.report.messages.installation.night_command import NightCommand

AWKWARD = (
    "plain",
    "two words",
    'it\'s 100% "ours"',
    "back\\slash\\%x",
    "dollar$HOME `id` $(id)",
    "ümläut ✓",
    "#hash & ; | < > * ?",
    "ends with backslash\\",
    "${{ github.token }}",
)
NIGHT = NightCommand(
    Path("/srv/kernels"),
    Path("/srv/kernels/runs"),
    Path("/srv/kernels"),
    ("/srv/kernels/.venv/bin/gpuregress",),
    environment={
        "PATH": "/srv/kernels/.venv/bin:/usr/local/bin:/usr/bin:/bin",
        "GPUREGRESS_CACHE": "/home/user/.cache/gpuregress",
    },
    zone="Europe/Berlin",
)
"""The night of the pages."""

PROGRAM = """\
import json, os, sys
with open("seen.json", "w") as file:
    json.dump({"arguments": sys.argv[1:], "folder": os.getcwd(), "variable": os.environ.get("MINE"),
               "secret": os.environ.get("PING_KEY")}, file)
print("1 new failure", flush=True)
print("note: no mail", file=sys.stderr)
sys.exit(1)
"""


def in_folder(folder: Path, **more: object) -> NightCommand:
    """A night whose program is a script in the folder that writes what it is given to `seen.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "night it's.py"
    script.write_text(PROGRAM)
    values: dict[str, object] = {
        "root": folder,
        "runs": folder / "runs",
        "repository": folder,
        "program": (sys.executable, str(script)),
        "arguments": ("-k", "a*b c", "--device", "cpu"),
        "environment": {"PATH": "/usr/bin:/bin", "MINE": "it's 100% $HOME"},
    }
    return NightCommand(**{**values, **more})  # type: ignore[arg-type]  # keyword by keyword


SEEN = {"arguments": ["nightly", "-k", "a*b c", "--device", "cpu"], "variable": "it's 100% $HOME"}

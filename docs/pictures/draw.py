"""Draw the pictures of the README from a real run: `python docs/pictures/draw.py`, with chromium installed.

The run is the one that the README shows: the bounds check of vector_add is broken. The report of the terminal becomes
SVG, the page PNG, each for light and dark readers.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI, TerminalTheme
from rich.text import Text

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASE = "vector_add/n=1000,block=256"
COLUMNS = 96
LINES_SHOWN = 17
LIGHT = TerminalTheme(
    (255, 255, 255),
    (36, 41, 47),
    [
        (36, 41, 47),
        (180, 8, 30),
        (17, 99, 41),
        (120, 80, 0),
        (9, 85, 190),
        (130, 80, 223),
        (27, 124, 131),
        (90, 95, 100),
    ],
)
SVG_THEMES = {"light": LIGHT, "dark": MONOKAI}
CHROMIUM_SCHEMES = {"dark": 0, "light": 1}


def main() -> None:
    """Run the case in a copy of the examples, and write the four pictures beside this file."""
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch)
        for name in ("configs", "kernels", "baselines"):
            shutil.copytree(ROOT / name, project / name)
        gpuregress(project, "run", CASE)  # keeps the text of the source, so that the page can show what changed
        kernel = project / "kernels" / "vector_add.cu"
        kernel.write_text(kernel.read_text().replace("i < n)", "i < n - 1)"))
        report = gpuregress(project, "run", CASE)
        gpuregress(project, "report", "-o", "page.html")
        for scheme in SVG_THEMES:
            (HERE / f"terminal-{scheme}.svg").write_text(as_svg(report, scheme), encoding="utf-8")
            photograph(project / "page.html", HERE / f"page-{scheme}.png", scheme)


def gpuregress(project: Path, *words: str) -> str:
    """What a command prints on a terminal with colours; 1 is the exit code of a difference."""
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(COLUMNS)}
    command = [sys.executable, "-m", "gpuregress", *words]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stdout + done.stderr)
    return done.stdout


def as_svg(report: str, scheme: str) -> str:
    """The first lines of a report as a picture of a terminal. The names of its classes do not change with each run."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(f"$ gpuregress run {CASE}", style="bold", highlight=False)
    for line in report.splitlines()[:LINES_SHOWN]:
        console.print(Text.from_ansi(line), no_wrap=True, overflow="ellipsis")
    picture = console.export_svg(title="gpuregress", theme=SVG_THEMES[scheme], unique_id=f"terminal-{scheme}")
    return re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)  # rich's fonts are on another host


def photograph(page: Path, picture: Path, scheme: str) -> None:
    """Take a picture of the top of a page."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1000,860"]
    options += [f"--blink-settings=preferredColorScheme={CHROMIUM_SCHEMES[scheme]}", f"--screenshot={picture}"]
    subprocess.run(["chromium", *options, page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()

"""GitHub Actions: a workflow with a schedule."""

from __future__ import annotations

import json
import shlex

from gpuregress import __version__
from gpuregress.report.messages.installation.night_command import NightCommand
from gpuregress.report.messages.installation.written_files import Installation, InstalledFile

FILE = ".github/workflows/gpuregress-nightly.yml"
_SAVED = ".gpuregress-cache"


def plan(night: NightCommand) -> Installation:
    """The workflow; the runs are kept in Actions' cache, so that a night knows the one before."""
    text = workflow(night)
    secrets = f"set the secrets {', '.join(night.secrets)} of the repository" if night.secrets else ""
    todo = (f"commit it as {FILE} to the default branch", f"it starts at {night.time} UTC", secrets)
    kept = tuple(filter(None, todo))
    return Installation(text, (InstalledFile(night.repository / FILE, text),), kept, kept)


def workflow(night: NightCommand) -> str:
    """The text of the workflow."""
    below = "" if night.below_repository == "." else f"{night.below_repository}/"
    runs = below + (night.log.rpartition("/")[0] or ".")
    command = shlex.join(("gpuregress", "nightly", *night.arguments, "--html", "gpuregress.html"))
    secrets = [f"      {name}: ${{{{ secrets.{name} }}}}" for name in night.secrets]
    cache = f"            {runs}\n            {_SAVED}"
    lines = (
        "# gpuregress nightly, as `gpuregress nightly --install github` prints it",
        "name: gpuregress nightly",
        "on:",
        "  schedule:",
        f'    - cron: "{night.minute} {night.hour} * * *"  # UTC',
        "  workflow_dispatch:",
        "permissions:",
        "  contents: read",
        "concurrency:",
        "  group: gpuregress-nightly",
        "jobs:",
        "  nightly:",
        "    runs-on: ubuntu-latest",
        "    timeout-minutes: 350",
        "    defaults:",
        "      run:",
        f"        working-directory: {_text(night.below_repository)}",
        "    env:",
        f"      GPUREGRESS_CACHE: ${{{{ github.workspace }}}}/{_SAVED}",
        *secrets,
        "    steps:",
        "      - uses: actions/checkout@v4",
        "        with:",
        "          fetch-depth: 0  # the report names commits",
        "      - uses: actions/setup-python@v5",
        "        with:",
        '          python-version: "3.12"',
        "      - uses: actions/cache/restore@v4",
        "        with:",
        "          path: |",
        *cache.split("\n"),
        "          key: gpuregress-${{ github.run_id }}-${{ github.run_attempt }}",
        "          restore-keys: gpuregress-",
        f"      - run: python -m pip install gpuregress=={__version__}",
        f"      - run: {_text(command)}",
        "      - uses: actions/cache/save@v4",
        "        if: always()",
        "        with:",
        "          path: |",
        *cache.split("\n"),
        "          key: gpuregress-${{ github.run_id }}-${{ github.run_attempt }}",
        "      - uses: actions/upload-artifact@v4",
        "        if: always()",
        "        with:",
        "          name: gpuregress",
        f"          path: {_text(f'{below}gpuregress.html')}",
        "          if-no-files-found: ignore",
    )
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """A YAML scalar in which nothing is an expression."""
    return json.dumps(text.replace("${{", "${{ '${{' }}"), ensure_ascii=False)

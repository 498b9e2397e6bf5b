"""GitLab CI: a job for a scheduled pipeline."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from gpuregress import __version__
from gpuregress.report.messages.installation.night_command import NightCommand
from gpuregress.report.messages.installation.written_files import Installation, InstalledFile

FILE = ".gitlab/gpuregress-nightly.yml"
MAIN_FILE = ".gitlab-ci.yml"
_SAVED = ".gpuregress-cache"


def plan(night: NightCommand) -> Installation:
    """The job; the runs are kept in the CI's cache, so that a night knows the one before."""
    text = job(night)
    main = night.repository / MAIN_FILE
    include = f"# gpuregress nightly: `--install gitlab --write` wrote this file\ninclude:\n  - local: {FILE}\n"
    files = (InstalledFile(night.repository / FILE, text), InstalledFile(main, include))
    zone = f" in {night.zone}" if night.zone else ""
    schedule = f"make a schedule (Build, Pipeline schedules): {night.minute} {night.hour} * * *{zone}"
    secrets = f"set the masked CI/CD variables {', '.join(night.secrets)}" if night.secrets else ""
    included = f"add to {MAIN_FILE}: include: [{{local: {FILE}}}]" if main.exists() and not _names(main) else ""
    last = tuple(filter(None, (schedule, secrets)))
    return Installation(
        text,
        files[:1] if main.exists() else files,
        (f"commit it as {FILE}, and include it in {MAIN_FILE}", *last),
        (*filter(None, (included,)), *last),
    )


def _names(main: Path) -> bool:
    """Whether the project's own file includes the job."""
    try:
        return FILE in main.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def job(night: NightCommand) -> str:
    """The text of the job."""
    below = "" if night.below_repository == "." else f"{night.below_repository}/"
    runs = below + (night.log.rpartition("/")[0] or ".")
    reports = ("--html", "gpuregress.html", "--junit", "gpuregress.xml", "--report", "codequality=gpuregress.json")
    lines = (
        "# gpuregress nightly, as `gpuregress nightly --install gitlab` prints it",
        "gpuregress-nightly:",
        "  rules:",
        '    - if: $CI_PIPELINE_SOURCE == "schedule"',
        "  image: python:3.12",
        "  resource_group: gpuregress-nightly",
        "  timeout: 6h",
        "  variables:",
        '    GIT_DEPTH: "0"  # the report names commits',
        f"    GPUREGRESS_CACHE: $CI_PROJECT_DIR/{_SAVED}",
        "  cache:",
        "    key: gpuregress-nightly",
        "    when: always",
        "    paths:",
        f"      - {_text(f'{runs}/')}",
        f"      - {_SAVED}/",
        "  script:",
        f"    - python -m pip install gpuregress=={__version__}",
        f"    - {_text(f'cd {shlex.quote(night.below_repository)}')}",
        f"    - {_text(shlex.join(('gpuregress', 'nightly', *night.arguments, *reports)))}",
        "  artifacts:",
        "    when: always",
        "    paths:",
        f"      - {_text(f'{below}gpuregress.html')}",
        "    reports:",
        f"      junit: {_text(f'{below}gpuregress.xml')}",
        f"      codequality: {_text(f'{below}gpuregress.json')}",
    )
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)

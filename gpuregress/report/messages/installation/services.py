"""Installation of the nightly run in a CI service: GitHub Actions, or a pipeline of GitLab."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from gpuregress.report.messages.installation.night_command import Installation, InstalledFile, NightCommand

GITHUB_FILE = ".github/workflows/gpuregress-nightly.yml"
_SAVED = ".gpuregress-cache"


def github_plan(night: NightCommand) -> Installation:
    """The workflow; the runs are kept in Actions' cache, so that a night knows the one before."""
    text = workflow(night)
    secrets = f"set the secrets {', '.join(night.secrets)} of the repository" if night.secrets else ""
    todo = (f"commit it as {GITHUB_FILE} to the default branch", f"it starts at {night.time} UTC", secrets)
    kept = tuple(filter(None, todo))
    return Installation(text, (InstalledFile(night.repository / GITHUB_FILE, text),), kept, kept)


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
        f"        working-directory: {_github_text(night.below_repository)}",
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
        f"      - run: {_github_text(night.pip_install(night.root))}",
        f"      - run: {_github_text(command)}",
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
        f"          path: {_github_text(f'{below}gpuregress.html')}",
        "          if-no-files-found: ignore",
    )
    return "\n".join(lines) + "\n"


def _github_text(text: str) -> str:
    """A YAML scalar in which nothing is an expression."""
    return json.dumps(text.replace("${{", "${{ '${{' }}"), ensure_ascii=False)


GITLAB_FILE = ".gitlab/gpuregress-nightly.yml"
MAIN_FILE = ".gitlab-ci.yml"


def gitlab_plan(night: NightCommand) -> Installation:
    """The job; the runs are kept in the CI's cache, so that a night knows the one before."""
    text = job(night)
    main = night.repository / MAIN_FILE
    include = f"# gpuregress nightly: `--install gitlab --write` wrote this file\ninclude:\n  - local: {GITLAB_FILE}\n"
    files = (InstalledFile(night.repository / GITLAB_FILE, text), InstalledFile(main, include))
    zone = f" in {night.zone}" if night.zone else ""
    schedule = f"make a schedule (Build, Pipeline schedules): {night.minute} {night.hour} * * *{zone}"
    secrets = f"set the masked CI/CD variables {', '.join(night.secrets)}" if night.secrets else ""
    included = f"add to {MAIN_FILE}: include: [{{local: {GITLAB_FILE}}}]" if main.exists() and not _names(main) else ""
    last = tuple(filter(None, (schedule, secrets)))
    return Installation(
        text,
        files[:1] if main.exists() else files,
        (f"commit it as {GITLAB_FILE}, and include it in {MAIN_FILE}", *last),
        (*filter(None, (included,)), *last),
    )


def _names(main: Path) -> bool:
    """Whether the project's own file includes the job."""
    try:
        return GITLAB_FILE in main.read_text(encoding="utf-8", errors="replace")
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
        f"      - {_gitlab_text(f'{runs}/')}",
        f"      - {_SAVED}/",
        "  script:",
        f"    - {_gitlab_text(night.pip_install(night.repository))}",
        f"    - {_gitlab_text(f'cd {shlex.quote(night.below_repository)}')}",
        f"    - {_gitlab_text(shlex.join(('gpuregress', 'nightly', *night.arguments, *reports)))}",
        "  artifacts:",
        "    when: always",
        "    paths:",
        f"      - {_gitlab_text(f'{below}gpuregress.html')}",
        "    reports:",
        f"      junit: {_gitlab_text(f'{below}gpuregress.xml')}",
        f"      codequality: {_gitlab_text(f'{below}gpuregress.json')}",
    )
    return "\n".join(lines) + "\n"


def _gitlab_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)

"""Installation of the nightly run in a CI service: GitHub Actions, or a pipeline of GitLab."""

from __future__ import annotations

import shlex
from pathlib import Path

from gpuregress.report.messages.installation.night_command import Installation, InstalledFile, NightCommand, render

GITHUB_FILE = ".github/workflows/gpuregress-nightly.yml"


def github_plan(night: NightCommand) -> Installation:
    """The workflow; the runs are kept in Actions' cache, so that a night knows the one before."""
    text = workflow(night)
    secrets = f"set the secrets {', '.join(night.secrets)} of the repository" if night.secrets else ""
    todo = (f"commit it as {GITHUB_FILE} to the default branch", f"it starts at {night.time} UTC", secrets)
    kept = tuple(filter(None, todo))
    return Installation(text, (InstalledFile(night.repository / GITHUB_FILE, text),), kept, kept)


def workflow(night: NightCommand) -> str:
    """The text of the workflow."""
    return _text("github.yml", night, "--html", "gpuregress.html")


def _text(template: str, night: NightCommand, *reports: str) -> str:
    """The text of a file of a CI service; its paths are relative to the repository."""
    below = "" if night.below_repository == "." else f"{night.below_repository}/"
    command = shlex.join(("gpuregress", "nightly", *night.arguments, *reports))
    return render(template, night, below=below, runs=below + night.log_folder, command=command)


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
    reports = ("--html", "gpuregress.html", "--junit", "gpuregress.xml", "--report", "codequality=gpuregress.json")
    return _text("gitlab.yml", night, *reports)

"""Installation of the nightly run in a scheduler: the text for each, and its files."""

from __future__ import annotations

from gpuregress.report.messages.installation import hosts, services
from gpuregress.report.messages.installation.night_command import Installation, NightCommand

_PLANS = {
    "cron": hosts.cron_plan,
    "systemd": hosts.systemd_plan,
    "github": services.github_plan,
    "gitlab": services.gitlab_plan,
    "slurm": hosts.slurm_plan,
}
SCHEDULERS = tuple(_PLANS)
SERVICES = ("github", "gitlab")
"""Those whose servers install gpuregress anew."""


def plan(scheduler: str, night: NightCommand) -> Installation:
    """What a scheduler needs to run a night.

    Args:
        scheduler: one of SCHEDULERS.
        night: the command.
    """
    return _PLANS[scheduler](night)

"""Installation of the nightly run in a scheduler: the text for each, and its files."""

from __future__ import annotations

import importlib

from gpuregress.report.messages.installation.night_command import NightCommand
from gpuregress.report.messages.installation.written_files import Installation

SCHEDULERS: tuple[str, ...] = ("cron", "systemd", "github", "gitlab", "slurm")


def plan(scheduler: str, night: NightCommand) -> Installation:
    """What a scheduler needs to run a night.

    Args:
        scheduler: one of SCHEDULERS.
        night: the command.
    """
    module = importlib.import_module(f"gpuregress.report.messages.installation.{scheduler}")
    installation: Installation = module.plan(night)
    return installation

"""Slurm: a batch script that submits itself for the next night."""

from __future__ import annotations

import shlex

from gpuregress.report.messages.installation.night_command import NightCommand
from gpuregress.report.messages.installation.written_files import Installation, InstalledFile

FILE = "gpuregress-nightly.sbatch"


def plan(night: NightCommand) -> Installation:
    """The script; a job of its name waits for the one before, so that no two nights overlap."""
    path = night.root / FILE
    text = script(night)
    submit = f"submit it once: sbatch --begin={night.time} {shlex.quote(str(path))}"
    more = "add #SBATCH lines for the partition, the GPUs (--gpus=1) and the time limit of your cluster"
    return Installation(
        text,
        (InstalledFile(path, text, executable=True),),
        (f"write it to {path}, or use --write", more, submit),
        (more, submit),
    )


def script(night: NightCommand) -> str:
    """The text of the script."""
    log = shlex.quote(night.log)
    folder = shlex.quote(night.log.rpartition("/")[0] or ".")
    exports = [f"export {name}={shlex.quote(value)}" for name, value in night.environment.items()]
    file = shlex.quote(str(night.secrets_file))
    secrets = (
        ("set -a", f"# shellcheck source=/dev/null\n[ ! -r {file} ] || . {file}", "set +a") if night.secrets else ()
    )
    lines = (
        "#!/bin/bash",
        f"# {night.mark}",
        f"#SBATCH --job-name={night.name}",
        "#SBATCH --dependency=singleton",
        "#SBATCH --output=/dev/null",
        f"cd {shlex.quote(str(night.root))} || exit 4",
        f"mkdir -p {folder} && exec >> {log} 2>&1",
        "# The next night is submitted first, so that one that is killed does not end the series.",
        f"sbatch --quiet --begin={night.time} {shlex.quote(str(night.root / FILE))}",
        *exports,
        *secrets,
        f"exec {shlex.join((*night.program, 'nightly', *night.arguments))}",
    )
    return "\n".join(lines) + "\n"

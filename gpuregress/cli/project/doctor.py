"""Command `gpuregress doctor`."""

from __future__ import annotations

import click

from gpuregress.cli import console, context


@click.command(
    "doctor",
    short_help="what this machine can run, and how to get the rest",
    epilog="Example: gpuregress doctor --json",
)
@context.json_option
@click.pass_context
def command(ctx: click.Context, /, as_json: bool) -> int:
    """Examine what a run needs: wheels, compilers, Triton and Numba, the cache, driver, GPUs, permissions.

    Names the command that repairs each lack. Exits with 0 when cases can run on some device, else 4.
    """
    import contextlib

    from gpuregress.foundation.errors import GpuregressError
    from gpuregress.foundation.records import to_json
    from gpuregress.report.terminal import table
    from gpuregress.session import doctor

    configs = None
    with contextlib.suppress(GpuregressError):  # a project that cannot be read is reported by the other commands
        configs = context.find_project(ctx).configs
    health = doctor.examine(configs)
    if as_json:
        context.print_json(to_json(health))
        return 0 if health.devices else 4
    rows = [
        ("ok" if piece.well else "lack" if piece.needed else "hint", piece.device, piece.name, piece.state)
        for piece in health.pieces
    ]
    for line in table(("", "for", "piece", "state"), rows):
        console.say(line)
    mends = [piece for piece in health.pieces if not piece.well and piece.mend]
    if mends:
        console.say()
        console.say("to mend:")
        for line in table(("  piece", "command"), [(f"  {piece.name}", piece.mend) for piece in mends]):
            console.say(line)
    console.say()
    console.say(f"can run on: {', '.join(health.devices) or 'nothing'}")
    return 0 if health.devices else 4

"""Command `gpuregress calibrate`."""

from __future__ import annotations

import click

from gpuregress.cli import console, context, values


@click.command(
    "calibrate",
    short_help="propose the tightest rules that hold, with the evidence",
    epilog="Example: gpuregress calibrate dot --repeat 20",
)
@click.argument("case")
@click.option(
    "--repeat",
    type=click.IntRange(2, values.MOST_REPEATS),
    default=20,
    show_default=True,
    metavar="N",
    help="Runs on each device.",
)
@click.option(
    "--device", "devices", multiple=True, metavar="cpu|cuda[:N]", help="Where; can be repeated.  [default: all]"
)
@context.json_option
@click.pass_context
def command(ctx: click.Context, /, case: str, repeat: int, devices: tuple[str, ...], as_json: bool) -> int:
    """Run a CASE (or every case of a job) many times on every device of this machine, and print rules as YAML.

    For each buffer: every bit equal if all results are, else `order: any` if values only move, else ULPs, else a
    tolerance. The results are compared with one another and with the accepted baseline; a bound is twice the largest
    error seen. Exits with 1 where no rule holds for some buffer.
    """
    from gpuregress.cli import progress
    from gpuregress.foundation.records import to_json
    from gpuregress.lab import calibrate

    with progress.transient() as listen:
        done = calibrate.calibrate(context.find_project(ctx), case, repeat=repeat, devices=devices, listen=listen)
    if as_json:
        context.print_json(to_json(done))
    else:
        for line in done.yaml():
            console.say(line)
    return 0 if all(proposal.holds for proposal in done.proposals) else 1

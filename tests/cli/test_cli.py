"""The commands' help, names and JSON."""

from __future__ import annotations

import click
import pytest

from gpuregress.cli import COMMANDS, GROUPS, main
from tests.workshop import Workshop


def test_the_help_names_each_command_once_below_its_group(shop: Workshop) -> None:
    lines = shop.call("--help").stdout.splitlines()
    assert [name for name in COMMANDS if sum(line.startswith(f"  {name} ") for line in lines) != 1] == []
    assert [group for group in GROUPS if f"{group}:" not in lines] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str, shop: Workshop) -> None:
    result = shop.call(command, "--help")
    assert result.exit_code == 0
    assert "Example" in result.stdout
    assert f"gpuregress {command}" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    "command",
    [name for name in COMMANDS if name not in ("run", "nightly", "watch", "new", "capture", "exec", "schema")],
)
def test_what_can_be_read_can_be_read_as_json(command: str) -> None:
    actual = main.get_command(click.Context(main), command)
    assert actual is not None
    assert "--json" in {option for parameter in actual.params for option in parameter.opts}


def test_a_command_of_another_name_gets_the_nearest(shop: Workshop) -> None:
    assert "did you mean 'accept'" in shop.fails(2, "acept")

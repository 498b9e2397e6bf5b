"""Every value that a command line can hold: what means nothing is refused before anything runs."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from gpuregress.cli import COMMANDS, context, main, values
from gpuregress.foundation.errors import UsageError
from tests.workshop import Workshop

WITH_REPORTS = {"json": None, "junit": None, "html": None}


def parameters() -> list[tuple[str, click.Parameter]]:
    actual = []
    for name in COMMANDS:
        command = main.get_command(click.Context(main), name)
        assert command is not None
        actual += [(name, parameter) for parameter in command.params]
    return actual


def takes_text(parameter: click.Parameter) -> bool:
    return not (isinstance(parameter, click.Option) and (parameter.is_flag or parameter.count))


@pytest.mark.parametrize(
    ("name", "parameter"),
    [pytest.param(name, actual, id=f"{name} {actual.name}") for name, actual in parameters() if takes_text(actual)],
)
@pytest.mark.parametrize("empty", ["", "  "])
def test_no_value_may_be_empty(name: str, parameter: click.Parameter, empty: str, shop: Workshop) -> None:
    required = ["x" for other in main.get_command(click.Context(main), name).params if is_required(other)]  # type: ignore[union-attr]
    if isinstance(parameter, click.Option):
        output = shop.fails(2, name, parameter.opts[0], *[empty] * parameter.nargs, *required)
    else:
        output = shop.fails(2, name, *[empty for _ in required or [empty]])
    assert "Invalid value" in output
    assert not (shop.root / "runs").exists()


def is_required(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Argument) and parameter.required


@pytest.mark.parametrize(("name", "parameter"), [item for item in parameters() if takes_text(item[1])])
def test_every_number_has_two_bounds(name: str, parameter: click.Parameter) -> None:
    kind = parameter.type
    if isinstance(kind, click.IntRange):
        assert kind.min is not None
        assert kind.max is not None
    else:
        assert type(kind) not in (click.types.IntParamType, click.types.FloatParamType, click.types.FloatRange)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        *((("--timeout", text), "invalid time limit") for text in ("-1", "0", "1e300", "99999999", "1000h")),
        *((("--timeout", text), "invalid time") for text in ("inf", "-inf", "nan", "soon", "1e3s")),
        *((("--repeat", text), "--repeat") for text in ("0", "-1", "1000000000", "1" + "0" * 30, "1e3")),
        *((("--jobs", text), "--jobs") for text in ("0", "-1", "1000000000", "1" + "0" * 30)),
        *((("--device", text), "say auto, cpu") for text in ("cuda:", "cuda:-1", "cuda:x", "CPU", "cpu:0", "\udcff")),
        (("--json", "configs"), "is a folder"),
        (("--junit", "."), "is a folder"),
        (("--html", "/"), "is a folder"),
        (("--json", "kernels/scale.cu/x"), "which is a file"),
        (("--json", "configs/scale.yaml"), "would be a job or a source"),
        (("--html", "kernels/scale.cu"), "would be a job or a source"),
        (("--json", "-", "--html", "-"), "cannot both go to stdout"),
        (("--json", "same", "--html", "./same"), "cannot both go to ./same"),
        (("..",), "is a folder above the project"),
        (("/",), "is a folder above the project"),
        (("a\nb",), "there is no job"),
        (("\udcff",), "there is no job"),
        (("configs/\udcff.yaml",), "there is no job file"),
    ],
)
@pytest.mark.parametrize("command", ["run", "nightly"])
def test_a_value_that_means_nothing(
    command: str, arguments: tuple[str, ...], named: str, shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command == "nightly" and not arguments[0].startswith("-"):
        return  # it takes no jobs
    monkeypatch.chdir(shop.root)
    before = (shop.root / "configs/scale.yaml").read_text()
    assert named in shop.fails(2, command, *arguments)
    assert (shop.root / "configs/scale.yaml").read_text() == before
    assert not (shop.root / "runs/latest").exists()


@pytest.mark.parametrize(
    ("text", "seconds"), [("30", 30.0), ("0.5", 0.5), ("30s", 30.0), ("2min", 120.0), ("1e2", 100.0)]
)
def test_times(text: str, seconds: float, shop: Workshop) -> None:
    run = main.get_command(click.Context(main), "run")
    assert run is not None
    assert run.make_context("run", ["--timeout", text]).params["timeout"] == seconds


def test_a_second_report_of_one_format_is_refused_and_not_lost() -> None:
    run = main.get_command(click.Context(main), "run")
    assert run is not None
    assert run.make_context("run", ["--json", "a.json"]).params["json"] == "a.json"
    with pytest.raises(click.BadParameter, match=r"2 times; a further file is --report json=b.json"):
        run.make_context("run", ["--json", "a.json", "--json", "b.json"])


def test_two_reports_in_one_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").touch()
    (tmp_path / "b.json").symlink_to("a.json")
    with pytest.raises(UsageError, match="--json and --junit cannot both go to"):
        context.writes_to_stdout({**WITH_REPORTS, "json": str(tmp_path / "a.json"), "junit": str(tmp_path / "b.json")})
    assert not context.writes_to_stdout({**WITH_REPORTS, "json": os.devnull, "html": os.devnull})
    assert context.writes_to_stdout({**WITH_REPORTS, "json": "-", "html": "x"})


@pytest.mark.parametrize(("text", "address"), [("tcp://node0:8786", "tcp://node0:8786"), ("none", "")])
def test_the_address_of_a_scheduler(text: str, address: str) -> None:
    assert values.CLUSTER.convert(text, None, None) == address


@pytest.mark.parametrize("text", ["", "node0", "node0:8786", "tcp://node0", "http://node0:1", "tcp://a b:1"])
def test_what_is_no_address_of_a_scheduler(text: str) -> None:
    with pytest.raises(click.BadParameter, match="not the address of a Dask scheduler: write tcp://HOST:PORT, or none"):
        values.CLUSTER.convert(text, None, None)


@pytest.mark.parametrize(("text", "share"), [("80%", 0.8), ("0.8", 0.8), ("100%", 1.0), ("0", 0.0)])
def test_a_share(text: str, share: float) -> None:
    assert values.SHARE.convert(text, None, None) == pytest.approx(share)


@pytest.mark.parametrize("text", ["80", "-1%", "101%", "many", "nan"])
def test_what_is_no_share(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"is not a share: write 80%, or 0\.8"):
        values.SHARE.convert(text, None, None)

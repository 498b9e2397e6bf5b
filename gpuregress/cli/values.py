"""Validation of command-line values, before anything is opened or run."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem
from click.types import FuncParamType

from gpuregress.foundation.document import units
from gpuregress.gpu import schedules
from gpuregress.report import formats

if TYPE_CHECKING:
    _Type = click.ParamType[Any]
else:
    _Type = click.ParamType  # generic only in new versions of click

MOST_REPEATS = 10_000
MOST_SCHEDULES = 64
MOST_RUNS = 1_000_000
COUNT = click.IntRange(1, MOST_RUNS)
"""A number of trials."""
LAUNCHES = click.IntRange(1, 1_000_000_000)
"""A number of launches of a kernel."""
LIMIT_S = click.IntRange(0, 86_400)
"""A time limit in seconds; 0: none."""
SEED = click.IntRange(0, MOST_RUNS)
"""The seed of a sample or a search."""
OWN_OPTIONS = {"json": "JSON", "junit": "JUnit XML", "html": "HTML"}
"""Formats of reports that have an option of their own → their names in its help."""
FORMATS = (*formats.FORMATS, "json", "html")
"""Formats of `--report`."""
Target = tuple[str, str]
"""A format, and the file that a report in it is written to."""
_NO_REPORTS = (".yaml", ".yml", ".cu", ".cuh", ".ptx", ".cubin", ".py")


class NonEmpty(_Type):
    """A value that is not empty; an empty argument, as of an unset variable of a script, must not mean "all".

    Args:
        inner: the type of the value.
    """

    def __init__(self, inner: click.ParamType[Any] = click.STRING) -> None:
        self.name = inner.name
        self._inner = inner

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse empty and blank values, except a default."""
        source = ctx.get_parameter_source(param.name) if ctx and param and param.name else None
        if not str(value).strip() and source is not click.core.ParameterSource.DEFAULT:
            self.fail("it is empty", param, ctx)
        return self._inner.convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The completions of the inner type."""
        return self._inner.shell_complete(ctx, param, incomplete)


def _schedule(value: Any) -> str:
    """Refuse what is no schedule's name."""
    wrong = schedules.problem(str(value))
    if wrong:
        raise click.BadParameter(wrong)
    return str(value)


def _seconds(value: Any) -> float:
    """Convert `30`, `30s`, `2min`."""
    try:
        number: float | str = float(value)
    except ValueError:
        number = str(value)
    try:
        return units.seconds(number)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _share(value: Any) -> float:
    """Convert `0.8`, `80%`."""
    text = str(value).strip()
    try:
        share = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise click.BadParameter(f"{text!r} is not a share: write 80%, or 0.8")
    return share


class ReportTarget(NonEmpty):
    """A file that a report can be written to, or `-`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse folders, paths below a file, and files that look like a job or a source."""
        text = str(super().convert(value, param, ctx))
        path = Path(text).absolute()
        if text == "-":
            return text
        if path.is_dir():
            self.fail(f"{text} is a folder: a file is needed", param, ctx)
        if path.suffix in _NO_REPORTS:
            self.fail(f"{text} would be a job or a source: choose another name", param, ctx)
        above = next(folder for folder in path.parents if folder.exists())
        if not above.is_dir():
            self.fail(f"{text} lies below {above}, which is a file", param, ctx)
        judged = path if path.exists() and not path.is_file() else above  # a pipe is written to where it stands
        if not os.access(judged, os.W_OK):
            self.fail(f"{text} cannot be written: no permission for {judged}", param, ctx)
        return text


class ReportFile(_Type):
    """A format and a file, `FORMAT=FILE`."""

    name = "report"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Target:
        """Convert `sarif=F`; the file is judged as that of `--junit F` is."""
        if isinstance(value, tuple):
            return (str(value[0]), str(value[1]))
        name, sign, target = str(value).partition("=")
        if name not in FORMATS:
            self.fail(f"{name!r} is not a format; expected FORMAT=FILE, with {', '.join(FORMATS)}", param, ctx)
        if not sign:
            self.fail(f"no file: expected {name}=FILE, or {name}=- for stdout", param, ctx)
        return name, REPORT.convert(target, param, ctx)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002 - click's signature
        incomplete: str,
    ) -> list[CompletionItem]:
        """The formats."""
        return [CompletionItem(f"{name}=") for name in FORMATS if name.startswith(incomplete)]


def _cluster(value: Any) -> str:
    """Refuse what cannot be the address of a Dask scheduler; `none` becomes ""."""
    from gpuregress.store.settings import is_cluster_address  # noqa: PLC0415 - loads numpy before the first worker

    if value == "none":
        return ""
    if not is_cluster_address(str(value)):
        raise click.BadParameter(f"{value!r} is not the address of a Dask scheduler: write tcp://HOST:PORT, or none")
    return str(value)


def _shard(value: Any) -> tuple[int, int]:
    """Convert `2/5`, the number of a shard and the number of all; refuse a shard that there is not."""
    match = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", str(value).strip())
    if match is None:
        raise click.BadParameter(f"{value!r} is not a shard: write 2/5 for the second of five")
    number, count = int(match[1]), int(match[2])
    if count == 0:
        raise click.BadParameter(f"{value!r} is not a shard: there is at least one, write 1/1 for all cases")
    if not 1 <= number <= count:
        raise click.BadParameter(f"{value!r} is not a shard: the first of {count} is 1/{count}")
    return number, count


def _time_of_day(value: Any) -> tuple[int, int]:
    """Convert `02:30`."""
    match = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", str(value))
    if match is None:
        raise click.BadParameter(f"{value!r} is not a time; expected HH:MM, such as 02:00")
    return int(match[1]), int(match[2])


SCHEDULE = FuncParamType(_schedule)
SECONDS = FuncParamType(_seconds)
SHARD = FuncParamType(_shard)
SHARE = FuncParamType(_share)
CLUSTER = FuncParamType(_cluster)
TIME_OF_DAY = FuncParamType(_time_of_day)
REPORT = ReportTarget()
REPORT_FILE = ReportFile()


def is_report(text: str) -> bool:
    """Whether a text is a valid `ReportTarget`; only then is the report of a wrong command line written."""
    try:
        REPORT.convert(text, None, None)
    except click.BadParameter:
        return False
    return True


def forbid_empty(command: click.Command) -> None:
    """Forbid empty text in all options and arguments of a command."""
    for param in command.params:
        if isinstance(param.type, click.types.StringParamType | click.Path):
            param.type = NonEmpty(param.type)


def program(_: click.Context, parameter: click.Parameter, words: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse a program without a name; its own arguments may be empty."""
    if not words[0].strip():
        raise click.BadParameter("it is empty", param=parameter)
    return words

"""Completion of jobs, cases, runs, tags and devices in bash, zsh and fish, through click's.

bash parts words at `=` and `:`, which the names of cases hold. So its script hands over the line up to the cursor, and
gets back what follows the last such sign. The script of fish keeps the commas of a name.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, add_completion_class, split_arg_string

from gpuregress.session.runs import case_names
from gpuregress.store import project
from gpuregress.store.dumps import run_names
from gpuregress.store.project import Project

_LINE, _BREAKS = "_GPUREGRESS_LINE", "_GPUREGRESS_WORDBREAKS"
MOST_WITH_JOBS = 200
"""Cases that are offered beside their jobs; of more only when their job is typed."""
_GPUS = Path("/proc/driver/nvidia/gpus")

Completer = Callable[[click.Context, str], Iterable[str]]


class _Bash(BashComplete):
    """bash, with words that hold `=` and `:`."""

    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n' response type value
    response=$(env _GPUREGRESS_LINE="${COMP_LINE:0:COMP_POINT}" _GPUREGRESS_WORDBREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1")
    COMPREPLY=()
    while IFS=',' read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done <<< "$response"
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=/] ]]; then compopt -o nospace; fi
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor, and the beginning of the one at it."""
        line = os.environ.get(_LINE)
        if line is None:
            return super().get_completion_args()
        words = split_arg_string(line)
        is_at_new_word = not words or line[-1:].isspace()
        return (words[1:], "") if is_at_new_word else (words[1:-1], words[-1])

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """A line for the script, without what bash takes for earlier words."""
        line = os.environ.get(_LINE, "")
        words = [] if line[-1:].isspace() else split_arg_string(line)
        typed = words[-1] if words else ""
        breaks = set(os.environ.get(_BREAKS, "")) & {"=", ":"}
        start = max((typed.rfind(sign) + 1 for sign in breaks), default=0)
        return f"{item.type},{item.value.removeprefix(typed[:start])}"


class _Fish(FishComplete):
    """fish, with words that hold commas."""

    source_template = """\
function %(complete_func)s;
    set -l response (env %(complete_var)s=fish_complete COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) \
        %(prog_name)s);
    for completion in $response;
        set -l metadata (string split --max 1 "," $completion);
        switch $metadata[1];
            case dir; __fish_complete_directories $metadata[2];
            case file; __fish_complete_path $metadata[2];
            case plain; echo $metadata[2];
        end;
    end;
end;

complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)";
"""


add_completion_class(_Bash, "bash")
add_completion_class(_Fish, "fish")


class _Completed(click.ParamType):  # type: ignore[type-arg]  # generic only in new versions of click
    """A type with completions; it converts nothing, for a completion runs no command."""

    name = "text"

    def __init__(self, completer: Completer, *, takes_paths: bool = False) -> None:
        self._completer = completer
        self._takes_paths = takes_paths

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002 - click's signature
        incomplete: str,
    ) -> list[CompletionItem]:
        """The names that begin with what was typed; without any, files."""
        names: list[str] = []
        with contextlib.suppress(Exception):  # a traceback in the middle of a line helps nobody
            names = [name for name in self._completer(ctx, incomplete) if name.startswith(incomplete)]
        if not names and self._takes_paths:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(name) for name in dict.fromkeys(names)]


def attach(command: click.Command) -> None:
    """Give the parameters of a command their completions, by their names."""
    for param in command.params:
        completer = _COMPLETERS.get(param.name or "")
        if completer is not None and not (isinstance(param, click.Option) and param.is_flag):
            param.type = _Completed(completer, takes_paths=param.name in _PATHS)


def _project(ctx: click.Context) -> Project:
    return project.find(Path(ctx.find_root().params.get("directory") or ".").absolute())


def _cases(ctx: click.Context, incomplete: str) -> Iterator[str]:
    """Jobs, and cases: of few all, of many those of the job that is typed."""
    cases: list[str] = []
    for named in case_names.names(_project(ctx)):
        yield named.job
        if named.job.startswith(incomplete) or incomplete.startswith(f"{named.job}/"):
            cases += named.cases
    if "/" in incomplete or len(cases) <= MOST_WITH_JOBS:
        yield from cases


def _tags(ctx: click.Context, _incomplete: str) -> Iterator[str]:
    tags: set[str] = set()
    for named in case_names.names(_project(ctx)):
        tags.update(named.tags)
    yield from sorted(tags)


def _runs(ctx: click.Context, _incomplete: str) -> Iterator[str]:
    """The runs, the newest first."""
    yield from (folder.name for folder in reversed(run_names.every(_project(ctx).runs)))


def _devices(_ctx: click.Context, _incomplete: str) -> Iterator[str]:
    yield from ("auto", "cpu", "cuda")
    if _GPUS.is_dir():
        yield from (f"cuda:{number}" for number, _ in enumerate(_GPUS.iterdir()))


_COMPLETERS: dict[str, Completer] = {
    "jobs": _cases,
    "cases": _cases,
    "case": _cases,
    "job": _cases,
    "name_glob": _cases,
    "tags": _tags,
    "run": _runs,
    "run_name": _runs,
    "device": _devices,
    "devices": _devices,
}
_PATHS = ("jobs",)

"""What is written from the commands: their options in docs/reference/commands.md, and what share/ installs.

share/ has a manual page for each command, and the scripts of completion. The wheel installs both, so they are kept in
the repository: building it imports nothing of the package.

    python -m tests.documents.generated       writes all of it
"""

from __future__ import annotations

import os
import re
from inspect import cleandoc
from pathlib import Path

import click
from click.shell_completion import get_completion_class
from click_man.man import ManPage

from gpuregress import __version__
from gpuregress.cli import COMMANDS, COMPLETION, main
from gpuregress.cli import completion as _teaches_click_our_scripts  # noqa: F401
from tests.documents.snippets import ROOT

PAGE = ROOT / "docs" / "reference" / "commands.md"
SHARE = ROOT / "share"
_SCRIPTS = {
    "bash": "bash-completion/completions/gpuregress",
    "zsh": "zsh/site-functions/_gpuregress",
    "fish": "fish/vendor_completions.d/gpuregress.fish",
}


def program() -> click.Context:
    """A context of the program itself."""
    return click.Context(main, info_name="gpuregress")


def contexts() -> list[click.Context]:
    """A context of each command, by which click writes its help."""
    result = []
    parent = program()
    for name in COMMANDS:
        command = main.get_command(parent, name)
        assert command is not None
        result.append(click.Context(command, info_name=name, parent=parent))
    return result


def options(context: click.Context) -> list[tuple[str, str]]:
    """The options of a command and what they mean, without `--help`."""
    records = [option.get_help_record(context) for option in context.command.params if isinstance(option, click.Option)]
    return [record for record in records if record is not None]


def commands_page(text: str) -> str:
    """The page of commands with its tables written anew between their marks."""
    rows = [f"| [`gpuregress {name}`](#{name}) | {entry.summary} |" for name, entry in COMMANDS.items()]
    tables = {"commands": ["| command | purpose |", *rows]}
    for context in contexts():
        rows = [f"| `{_cell(names)}` | {_cell(meaning)} |" for names, meaning in options(context)]
        tables[f"options: {context.info_name}"] = ["| option | meaning |", *rows]
    for mark, (head, *rows) in tables.items():
        before, begin, rest = text.partition(f"<!-- {mark} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        assert begin, f"{PAGE} has no place for <!-- {mark} -->"
        assert end, f"{PAGE} has no end of <!-- {mark} -->"
        text = "".join([before, begin, head, "\n|---|---|\n", *(f"{row}\n" for row in rows), end, after])
    return text


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def manual_pages() -> dict[str, str]:
    """Name of the file → a manual page, in roff."""
    pages = {}
    whole = _manual_page(program(), cleandoc(main.help or ""))
    whole.commands = [(name, entry.summary) for name, entry in COMMANDS.items()]
    pages["gpuregress.1"] = str(whole)
    for context in contexts():
        page = _manual_page(context, COMMANDS[context.info_name or ""].summary)
        pages[f"gpuregress-{context.info_name}.1"] = str(page)
    return pages


def _manual_page(context: click.Context, summary: str) -> ManPage:
    command = context.command
    page = ManPage(context.command_path)
    page.short_help = summary.splitlines()[0]
    page.synopsis = " ".join(command.collect_usage_pieces(context))
    page.description = roff(f"{cleandoc(command.help or '')}\n\n{command.epilog}")
    page.options = [(names, roff(meaning)) for names, meaning in options(context)]
    page.version, page.date = __version__, ""
    return page


def roff(text: str) -> str:
    """Text in which roff finds no commands, and no hyphens at which a line may end."""
    return re.sub(
        r"^(?=[.'])", r"\\&", text.replace("\\", r"\e").replace("-", r"\-").replace("\b\n", ""), flags=re.MULTILINE
    )


def completions() -> dict[str, str]:
    """Name of the file → the script by which a shell completes commands."""
    scripts = {}
    for shell, name in _SCRIPTS.items():
        complete = get_completion_class(shell)
        assert complete is not None
        scripts[name] = complete(main, {}, "gpuregress", COMPLETION).source()
    return scripts


def files() -> dict[Path, str]:
    """Every file that is written, and its text."""
    return {
        PAGE: commands_page(PAGE.read_text(encoding="utf-8")),
        **{SHARE / "man" / "man1" / name: text for name, text in manual_pages().items()},
        **{SHARE / name: text for name, text in completions().items()},
    }


if __name__ == "__main__":
    os.environ.pop("COLUMNS", None)
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

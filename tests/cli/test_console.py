"""Text from outside never commands a terminal, and colours are for those who see them."""

from __future__ import annotations

import io
import json
import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from gpuregress.cli import COMMANDS, console, progress
from gpuregress.session import accepting
from gpuregress.session.events import Compiling, Started
from gpuregress.store import project
from tests import preloaded
from tests.workshop import JOB, Workshop

FORGED = "##[error]y\n::stop-commands::t\n  \u00a0::error::x\npass     everything  0.001 s"
HOSTILE = f"\x1b[31m\x1b]8;;http://evil\x07\x9b2J\x07\x1bc\u202e\u2028\r[red]\x7f{FORGED}"
COMMANDS_OF_CI = re.compile(r"##\[|^\s*::", re.MULTILINE)
CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
C_ESCAPES = r"\033[31m\033]8;;http://evil\007\033c\r[red]\177::error::x\n"
PRINTS = rf"""
#include <cassert>
extern "C" __global__ void scale(float *out, const float *x, float a, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) printf("{C_ESCAPES}");
    if (i < n) out[i] = a * x[i];
}}
"""
REFERENCE = f"""
import sys
def fails(*arguments, **more):
    print({HOSTILE!r}, file=sys.stderr)
    raise ValueError({HOSTILE!r})
def differs(*arguments, **more):
    raise RuntimeError({HOSTILE!r})
"""


def quoted(text: str) -> str:
    """As a YAML scalar."""
    return json.dumps(text)


def hostile_jobs(shop: Workshop) -> None:
    """Jobs that are right, and whose kernels and functions say what they should not."""
    shop.write("kernels/prints.cu", PRINTS)
    shop.write("kernels/asserts.cu", PRINTS.replace("out[i] = a * x[i]", f'assert(!"{C_ESCAPES}")'))
    shop.write("kernels/error.cu", f"#error {HOSTILE}\n{PRINTS}")
    shop.write("configs/functions.py", REFERENCE)
    shop.write("configs/prints.yaml", JOB.replace("scale.cu", "prints.cu"))
    shop.write("configs/asserts.yaml", JOB.replace("scale.cu", "asserts.cu"))
    shop.write("configs/error.yaml", JOB.replace("scale.cu", "error.cu"))
    shop.write("configs/reference.yaml", JOB + "reference: {out: functions.py:fails}\n")
    shop.write("configs/verify.yaml", JOB + "verify: {out: functions.py:differs}\n")
    name = f"fills{re.sub('[/:]', '', HOSTILE)}.py"
    shop.write(f"configs/{name}", REFERENCE)
    fill = f"fill: {{python: {quoted(f'{name}:differs')}}}"
    shop.write("configs/fill.yaml", JOB.replace("fill: arange", fill))


def clean(shop: Workshop, *arguments: str) -> str:
    """Runs a command; whatever it says holds no control character."""
    result = shop.call(*arguments)
    assert "inside gpuregress" not in result.output
    assert CONTROLS.findall(result.stdout) == []
    assert CONTROLS.findall(result.stderr) == []
    assert COMMANDS_OF_CI.findall(result.stdout) == []
    assert COMMANDS_OF_CI.findall(result.stderr) == []
    if "<html" not in result.stdout and "<testsuite" not in result.stdout:  # a page, and XML, do not go by lines
        assert re.findall(r"^\s*pass     everything", result.output, re.MULTILINE) == []
    return result.output


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports with hostile names stay out of the repository."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def hostile(shop: Workshop) -> Workshop:
    hostile_jobs(shop)
    return shop


@pytest.mark.slow
def test_what_kernels_compilers_and_functions_say_is_visible(hostile: Workshop) -> None:
    printed = clean(hostile, "run", "--device", "cpu", "-v")
    for verdict in ("new prints/n=100", "fault asserts/n=100", "error error/n=100", "differ reference/n=100"):
        assert verdict in printed
    assert printed.count(r"\x1b[31m") > 5
    assert "[red]" in printed
    for arguments in (
        ("report",),
        ("report", "--json"),
        ("log",),
        ("review",),
        ("history",),
        ("history", "prints", "error"),
        ("run", "--device", "cpu", "--junit", "-"),
        ("run", "--device", "cpu", "--html", "-"),
        ("run", "--device", "cpu", "--json", "-", "-q"),
        ("nightly", "--device", "cpu"),
        ("check",),
        ("show", "prints", "--ptx"),
        ("show", "fill"),
        ("list",),
        ("accept", "-m", "right"),
        ("diff", "baseline", "1.4"),
        ("calibrate", "verify", "--repeat", "2", "--device", "cpu"),
        ("build",),
    ):
        clean(hostile, *arguments)
    for text in (hostile.root / "runs/latest").glob("*.txt"):
        assert CONTROLS.findall(text.read_text()) == []


def test_what_child_processes_print_does_not_reach_the_terminal(hostile: Workshop) -> None:
    hostile.call("run", "--device", "cpu", "verify")
    hostile.call("accept", "-m", "right")
    hostile.job(("float32: 2.0", "float32: 3.0"), name="verify")
    with (hostile.root / "configs/verify.yaml").open("a") as job:
        job.write("verify: {out: functions.py:differs}\n")
    command = ("-m", "gpuregress", "-C", str(hostile.root), "run", "--device", "cpu", "-v")
    _, out, err = preloaded.run(command, Path.cwd(), os.environ, 120.0)
    printed = out + err
    assert CONTROLS.findall(printed) == []
    assert not re.search("^::", printed, re.MULTILINE)
    assert "out: differs raised RuntimeError: \\x1b" in printed
    assert "functions.py:fails raised ValueError: \\x1b" in printed


@pytest.mark.parametrize(
    "text",
    [
        JOB.replace("float32, shape: [n]}", f"{quoted(HOSTILE)}, shape: [n]}}"),
        JOB.replace("shape: [n]}", f"shape: [{quoted(HOSTILE)}]}}"),
        JOB.replace("parameters:", f"{quoted(HOSTILE)}: 1\nparameters:"),
        JOB.replace("kernel: scale", f"kernel: {quoted(HOSTILE)}"),
        JOB.replace("../kernels/scale.cu", quoted(HOSTILE)),
        f"job: {quoted(HOSTILE)}\n{JOB}",
        f"revision: {quoted(HOSTILE)}\n{JOB}",
        f"tags: [{quoted(HOSTILE)}]\n{JOB}",
        f"reference: {{out: {quoted(HOSTILE)}}}\n{JOB}",
        f"checks: {{{quoted(HOSTILE)}: [finite]}}\n{JOB}",
        f"compile: {{options: [{quoted(HOSTILE)}]}}\n{JOB}",
        f"compile: {{defines: {{{quoted(HOSTILE)}: 1}}}}\n{JOB}",
        f"x: [{HOSTILE}",
    ],
)
def test_what_a_job_says_is_visible(shop: Workshop, text: str) -> None:
    shop.write("configs/bad.yaml", text)
    for arguments in (("check",), ("run", "bad"), ("nightly",), ("list",), ("show", "bad"), ("check", "--json")):
        clean(shop, *arguments)


def test_names_of_files_are_visible(shop: Workshop) -> None:
    name = HOSTILE.replace("/", "")
    shop.write(f"configs/{name}.yaml", JOB)
    (shop.root / "configs" / os.fsdecode(b"\xff\x1b.yaml")).write_text("x: [")
    for arguments in (("check",), ("run",), ("nightly",), ("list",), ("new", f"{name}.cu"), ("report", "-o", name)):
        clean(shop, *arguments)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "schema"])
def test_what_stands_on_the_command_line_is_visible(shop: Workshop, command: str) -> None:
    for arguments in ((HOSTILE,), (f"--{HOSTILE}",), (HOSTILE, HOSTILE), ("--json", HOSTILE)):
        clean(shop, command, *arguments)
    clean(shop, HOSTILE)
    clean(shop, "-C", HOSTILE, command)


def test_a_message_with_control_characters_is_refused_and_an_old_one_is_shown(fake_shop: Workshop) -> None:
    fake_shop.call("run", "--device", "cpu")
    assert r"'\x1b[1mx' holds a control character" in fake_shop.fails(2, "accept", "-m", "\x1b[1mx")
    assert r"'x\x0d\x0a::stop-commands::t' holds" in clean(fake_shop, "reject", "-m", "x\r\n::stop-commands::t")
    fake_shop.call("accept", "-m", "right\nand\twell")
    assert r"right\x0aand\x09well" in clean(fake_shop, "blame", "scale")
    fake_shop.call("run", "--device", "cpu")
    accepting.accept(project.find(fake_shop.root), ("scale",), accepting.Terms(HOSTILE))
    assert r"\x1b[31m" in clean(fake_shop, "blame", "scale")
    fake_shop.job(("float32: 2.0", "float32: 3.0"))
    clean(fake_shop, "run", "--device", "cpu")
    assert "control character" in fake_shop.fails(2, "accept", "--unwritten-ok", "\x07")
    assert "control character" in fake_shop.fails(2, "reject", "scale", "-m", "\x07")
    assert "control character" in fake_shop.fails(2, "review", "-m", "\x07")


def test_what_a_run_left_is_visible_when_it_is_told_again(fake_shop: Workshop) -> None:
    fake_shop.call("run", "--device", "cpu")
    log = fake_shop.root / "runs/latest/launch.log"
    log.write_text(log.read_text().replace("scale<<<", f"{HOSTILE.replace(chr(13), '')}<<<"))
    results = fake_shop.root / "runs/latest/results.json"
    document = json.loads(results.read_text())
    document["device"] = document["run"] = document["notes"] = HOSTILE
    document["cases"][0] |= {"reason": HOSTILE, "case": HOSTILE, "job": HOSTILE, "output": HOSTILE, "verdict": HOSTILE}
    results.write_text(json.dumps(document))
    with sqlite3.connect(fake_shop.root / "runs/history.sqlite") as history:
        history.execute("UPDATE texts SET text = ? || id", (HOSTILE,))
        history.execute("UPDATE runs SET device = ?", (HOSTILE,))
    fake_shop.write("runs/nightly.json", json.dumps({"run": HOSTILE, "cases": [HOSTILE]}))
    for arguments in (
        ("log",),
        ("log", "--blame"),
        ("report",),
        ("history",),
        ("history", "scale"),
        ("accept",),
        ("review",),
        ("nightly", "--device", "cpu"),
        ("accept", "--prune"),
    ):
        clean(fake_shop, *arguments)


# --- colours ----------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    for name in ("NO_COLOR", "FORCE_COLOR", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")

    def change(**values: str) -> None:
        for name, value in values.items():
            monkeypatch.setenv(name, value)

    return change


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({}, (True, False, True)),
        ({"NO_COLOR": ""}, (True, False, True)),
        ({"NO_COLOR": "0"}, (False, False, False)),
        ({"TERM": "dumb"}, (False, False, False)),
        ({"CI": "true"}, (True, False, False)),
        ({"CI": "false"}, (True, False, True)),
        ({"FORCE_COLOR": "1"}, (True, True, True)),
        ({"FORCE_COLOR": "0"}, (True, False, True)),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, (True, True, False)),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, (False, False, False)),
    ],
)
def test_who_wants_colours(
    environment: Callable[..., None], values: dict[str, str], wanted: tuple[bool, bool, bool]
) -> None:
    """Colours on a terminal, colours in a pipe, a bar on a terminal."""
    environment(**values)
    terminal, pipe = Terminal(), io.StringIO()
    assert (console.has_colour(terminal), console.has_colour(pipe), console.can_animate(terminal)) == wanted
    assert not console.can_animate(io.StringIO())


def test_stdout_and_stderr_are_judged_apart(environment: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    environment()
    out, err = Terminal(), io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", err)
    console.say("\x1b[1mx", colour="red")
    console.say("\x1b[1mx", colour="red", err=True)
    assert out.getvalue() == click.style(r"\x1b[1mx", fg="red") + "\n"
    assert err.getvalue() == "\\x1b[1mx\n"


def test_what_the_stream_cannot_encode_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    console.say("λ → \ud83d")
    assert raw.getvalue() == b"\\u03bb \\u2192 \\ud83d\n"


@pytest.mark.parametrize(("name", "escapes"), [("NO_COLOR", 0), ("FORCE_COLOR", 2)])
def test_a_run_follows_the_environment(
    fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch, name: str, escapes: int
) -> None:
    monkeypatch.setenv(name, "1")
    assert fake_shop.call("run", "--device", "cpu").stdout.count("\x1b[") == escapes


def test_the_bar_takes_no_name_for_a_command(environment: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    environment()
    out = Terminal()
    monkeypatch.setattr("sys.stdout", out)
    with progress.BarProgress(0, to_stderr=False) as bar:
        for event in (Compiling("[red]\x07.cu", 1), Started("[b]\x1b[5m\r/n=1", "cpu")):
            bar(event)
            bar._progress.refresh()
    printed = out.getvalue()
    assert r"compiling [red]\x07.cu" in printed
    assert r"[b]\x1b[5m\x0d/n=1" in printed
    assert not set(printed) & {"\x07"}
    assert "\x1b[5m" not in printed


def test_no_file_of_the_command_line_prints_past_the_console() -> None:
    package = Path(console.__file__).parent.parent
    actual = [
        path.name
        for path in (*(package / "cli").glob("*.py"), *(package / "report").glob("*.py"))
        if re.search(r"click\.s?echo\(|sys\.std(out|err)\.write", path.read_text())
    ]
    assert actual == []

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation.errors import StorageError, UsageError
from gpuregress.report.messages.installation import hosts
from gpuregress.report.messages.installation.night_command import NightCommand
from tests.report.messages.installation.nights import AWKWARD, NIGHT, SEEN, in_folder

CRONTAB = """\
#!/bin/sh
case "$1" in
-l) [ -f {file} ] || {{ echo "no crontab for me" >&2; exit 1; }}; cat {file};;
-) cat > {file}.new; {refusal} mv {file}.new {file};;
esac
"""


def as_cron_reads(line: str) -> str:
    """The command that cron hands to the shell: do_command.c of Debian's cron, which stops at a bare `%`."""
    read, is_escaped = "", False
    for sign in line.split(maxsplit=5)[5]:
        if is_escaped:
            read = read[:-1] + sign if sign == "%" else read + sign
            is_escaped = False
        elif sign == "%":
            return read
        else:
            read += sign
            is_escaped = sign == "\\"
    return read


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("tells", [True, False])
def test_the_line_works_in_any_folder(tmp_path: Path, name: str, *, tells: bool) -> None:
    night = in_folder(tmp_path / name, tells=tells)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "SHELL": "/bin/sh"}
    command = ["/bin/sh", "-c", as_cron_reads(hosts.crontab_line(night))]
    done = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=False)
    mailed = "1 new failure\nnote: no mail\n"
    if tells:
        mailed = "note: no mail\n"
    assert (done.stdout, done.stderr) == (mailed, "")
    seen = json.loads((night.root / "seen.json").read_text())
    assert seen == {**SEEN, "folder": str(night.root), "secret": None}
    assert (night.root / "runs/nightly.log").read_text() == "1 new failure\nnote: no mail\n"


def test_secrets_come_from_their_file(tmp_path: Path) -> None:
    file = tmp_path / "it's secret.env"
    file.write_text("PING_KEY='a b'\n")
    night = in_folder(tmp_path / "p", secrets=("PING_KEY",), secrets_file=file)
    line = hosts.crontab_line(night)
    assert "a b" not in line.partition("cpu")[2]
    subprocess.run(["/bin/sh", "-c", as_cron_reads(line)], cwd="/", check=True, capture_output=True)
    assert json.loads((night.root / "seen.json").read_text())["secret"] == "a b"


@settings(max_examples=50)
@given(st.text("ab%\\' \"$`#", min_size=1).filter(lambda text: text.strip() and "/" not in text))
def test_what_cron_reads_is_the_shells_command(name: str) -> None:
    night = in_folder_without_files(name)
    read = as_cron_reads(hosts.crontab_line(night))
    words = subprocess.run(
        ["/bin/sh", "-c", f'set -- {read.partition("cd ")[2].partition(" && mkdir")[0]}; printf %s "$1"'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert words.stdout == f"/srv/{name}"


def in_folder_without_files(name: str) -> NightCommand:
    root = Path(f"/srv/{name}")
    return NightCommand(root, root / "runs", root, ("/bin/true",))


def test_a_line_that_cron_refuses_is_an_error() -> None:
    root = Path("/srv/" + "x/" * 600)
    with pytest.raises(UsageError, match="bytes, and cron takes 998"):
        hosts.crontab_line(NightCommand(root, root / "runs", root, ("/bin/true",)))


@pytest.fixture
def crontab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file behind a stand-in for crontab(1)."""
    file = tmp_path / "crontab.txt"
    stand_in(tmp_path, file)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return file


def stand_in(folder: Path, file: Path, refusal: str = "") -> None:
    (folder / "crontab").write_text(CRONTAB.format(file=file, refusal=refusal))
    (folder / "crontab").chmod(0o755)


def test_other_lines_of_the_crontab_stay(crontab: Path) -> None:
    earlier = "0 2 * * *  cd /srv/kernels && .venv/bin/gpuregress nightly --junit nightly.xml >> nightly.log 2>&1"
    others = (
        "# a comment, ünïcode",
        f"# {earlier}",
        "MAILTO=me",
        "0 3 * * *  cd /srv/kernels2 && gpuregress nightly",
        "0 4 * * *  cd /srv/kernels && make clean",
    )
    crontab.write_text("\n".join((*others, earlier)) + "\n")
    assert hosts.install_crontab(NIGHT) == "replaced the line of this project in your crontab"
    assert crontab.read_text().splitlines() == [*others, hosts.crontab_line(NIGHT)]
    hosts.install_crontab(NIGHT)
    assert crontab.read_text().splitlines() == [*others, hosts.crontab_line(NIGHT)]


def test_a_first_crontab_is_made(crontab: Path) -> None:
    assert hosts.install_crontab(NIGHT) == "added a line to your crontab"
    assert crontab.read_text() == hosts.crontab_line(NIGHT) + "\n"


def test_a_crontab_that_refuses_leaves_the_old_one(crontab: Path, tmp_path: Path) -> None:
    crontab.write_text("# mine\n")
    stand_in(tmp_path, crontab, 'echo "bad minute" >&2; exit 1;')
    with pytest.raises(StorageError, match="crontab refused: bad minute; your crontab is as it was"):
        hosts.install_crontab(NIGHT)
    assert crontab.read_text() == "# mine\n"


def test_a_host_without_crontab_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StorageError, match="crontab cannot be used: No such file"):
        hosts.install_crontab(NIGHT)

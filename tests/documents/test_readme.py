"""The README, typed from the top in an empty home."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.documents.snippets import ROOT, Command, agrees, commands, steps

CLONE = "git clone https://github.com/gpuregress/gpuregress && "
_INDENTED = re.compile(r" {4}(\S.*)")


def typed() -> list[Command]:
    """What the README has a reader type, in order, but for the tests and what needs a GPU."""
    result = [command for step in steps("README.md") if step.kind == "console" for command in commands(step)]
    mark = ""
    for number, line in enumerate((ROOT / "README.md").read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("<!-- "):
            mark = line
        elif (command := _INDENTED.fullmatch(line)) and mark != "<!-- tests -->":
            result.append(Command(number, command[1], ()))
    # Lines of the job are indented, too; commands begin with one of these.
    starts = ("git ", "python3 ", ". ", "sed ", "gpuregress ")
    return sorted((one for one in result if one.text.startswith(starts)), key=lambda one: one.line)


def clone(folder: Path) -> None:
    """What a clone would hold: every file that git tracks, or will, as it is now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in listed.rstrip("\0").split("\0"):
        if (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)


def python_with_our_packages(folder: Path) -> None:
    """Write a `python3` whose environments see the packages of this one, so that none is downloaded again."""
    folder.mkdir()
    program = folder / "python3"
    packages = sysconfig.get_path("purelib")
    # NVIDIA's loader looks only into the environment's own folder, so a .pth file would not do.
    program.write_text(f"""#!/bin/sh
"{sys.executable}" "$@" || exit 1
cd .venv/lib/python3*/site-packages || exit 1
for package in "{packages}"/*; do
    case "$package" in
        */gpuregress* | */pip* | */*editable* | *.pth) ;;
        *) [ -e "${{package##*/}}" ] || ln -s "$package" . ;;
    esac
done
""")
    program.chmod(0o755)


@pytest.mark.slow
def test_the_readme_works_as_it_is_typed(tmp_path: Path) -> None:
    """The packages are those that are installed; gpuregress itself is built and installed as the README says."""
    clone(tmp_path / "home" / "gpuregress")
    python_with_our_packages(tmp_path / "bin")
    environment = {
        "HOME": str(tmp_path / "home"),
        "PATH": f"{tmp_path / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        "PIP_NO_DEPS": "1",
        "COLUMNS": "100",
        "CUDA_VISIBLE_DEVICES": "",
        **{name: os.environ[name] for name in ("GPUREGRESS_CACHE", "PIP_CONFIG_FILE") if name in os.environ},
    }
    shown = typed()
    assert [one.text.split()[0] for one in shown[:3]] == ["git", "python3", "."]
    script = []
    for one in shown:
        # .ci/run has run all jobs by the same line; here one job shows that what was installed works.
        command = re.sub(r"gpuregress run$", "gpuregress run vector_add", one.text.replace(CLONE, ""))
        script += [command, 'printf "\\n<<<%s>>>\\n" $?']
    done = subprocess.run(
        ["bash", "-c", "exec 2>&1\n" + "\n".join(script)],
        cwd=tmp_path / "home", env=environment, capture_output=True, text=True, timeout=540, check=False,
    )  # fmt: skip
    printed = re.findall(r"(.*?)\n?<<<(\d+)>>>\n", done.stdout, re.DOTALL)
    assert len(printed) == len(shown)
    for one, (output, status) in zip(shown, printed, strict=True):
        where = f"README.md:{one.line}: {one.text}\n{output}"
        if one.expected:
            assert agrees(one.expected, output.splitlines()), where
        else:
            assert status == "0", where

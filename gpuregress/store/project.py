"""Project: the folder of jobs, baselines and runs, and its settings.

The settings are optional: a `gpuregress.yaml`, or `[tool.gpuregress]` in a pyproject.toml:

    folders: {configs: configs, baselines: baselines, runs: runs, dumps: s3://bucket/prefix}
    compile: {commands: build/compile_commands.json}
    compare:                      # the rule of float buffers that no job's own rule names, by dtype
      float32: {rtol: 1.0e-5, atol: 0}
    limits: {timeout: 30, memory: 4GiB, timeouts: 3, instructions: 1.05, time: 1.1}
    retention: {runs: 30, age: 90d, size: 20GiB}
    dumps: {compress_above: 64MiB}
    ping: https://hc.example.org/${PING_KEY}
    notify: {mail: team@example.org, webhook: "${CHAT_URL}"}
    cluster: tcp://node0:8786     # run and nightly use the hosts of this Dask cluster
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from gpuregress.foundation.document import forms, reader
from gpuregress.foundation.document.keys import show
from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Document, Key
from gpuregress.foundation.errors import JobError, JobErrors, UsageError
from gpuregress.gpu.records import Record, replace
from gpuregress.store.settings import FoldersSpec, SettingsSpec

SETTINGS_FILE = "gpuregress.yaml"
_FALLBACK_MEMORY = 4 << 30


class Project(Record):
    """The folders of a project; all paths are absolute.

    Attributes:
        root: the project's folder.
        configs: jobs, also in folders below.
        baselines: accepted dumps.
        runs: one folder a run.
        settings: of `gpuregress.yaml`.
        earlier_runs: where inputs of earlier runs are found; None: in `runs`.
        dumps: the address of the folder of accepted dumps; "": they are in `baselines`.
        compile_commands: the compilation database of the project's build; None: it names none.
        original: the folder that is checked out elsewhere, where the database was written for that; else None.
        copy: where it is checked out.
    """

    root: Path
    configs: Path
    baselines: Path
    runs: Path
    settings: SettingsSpec = SettingsSpec()
    earlier_runs: Path | None = None
    dumps: str = ""
    compile_commands: Path | None = None
    original: Path | None = None
    copy: Path | None = None

    @property
    def settings_files(self) -> tuple[Path, ...]:
        """List the files that may hold settings of every job, also those that are not there."""
        files = (self.root / SETTINGS_FILE, self.root / "pyproject.toml")
        if self.compile_commands is None:
            return files
        return (*files, self.compile_commands)

    def with_runs(self, folder: Path) -> Project:
        """Return the project with another folder for its runs; inputs of earlier runs come from the same one."""
        return replace(self, runs=folder, earlier_runs=self.earlier_runs or self.runs)


def default_memory() -> int:
    """Return half of this machine's memory, bytes."""
    sysconf: Callable[[str], int] | None = getattr(os, "sysconf", None)
    try:
        return sysconf("SC_PAGE_SIZE") * sysconf("SC_PHYS_PAGES") // 2 if sysconf else _FALLBACK_MEMORY
    except (OSError, ValueError):
        return _FALLBACK_MEMORY


def find(start: Path) -> Project:
    """Find the project that a folder or file belongs to.

    Args:
        start: where to look first; then the folders above it.

    Raises:
        UsageError: there is none.
        JobErrors: its settings are wrong.
    """
    start = start.absolute()
    folders = [start, *start.parents]
    for folder in folders:
        document = _settings(folder)
        if document is not None:
            return _project(folder, document)
    for folder in folders:
        if (folder / "configs").is_dir() or _has_baselines(folder):
            return _project(folder, None)
    message = f"there is no project in {start} or above it: make a folder configs/ for your jobs, or an empty"
    raise UsageError(
        f"{message} {SETTINGS_FILE} in the project's folder (`gpuregress new KERNEL.cu` writes a first job)"
    )


def _has_baselines(folder: Path) -> bool:
    """Whether results were accepted here; a project without jobs has no configs/ in git."""
    return any(any((folder / "baselines").glob(f"{case}/baseline.yaml")) for case in ("*", "*/*"))


def _settings(folder: Path) -> Document | None:
    """The settings that stand in this very folder."""
    path = folder / SETTINGS_FILE
    if os.path.lexists(path):
        return reader.read(path) if _has_content(path) else Document(path, {}, {})
    path = folder / "pyproject.toml"
    return _from_toml(path) if path.is_file() else None


def _has_content(path: Path) -> bool:
    lines = reader.content(path).splitlines()
    return any(line.strip() and not line.lstrip().startswith(b"#") for line in lines)


def _from_toml(path: Path) -> Document | None:
    content = reader.content(path)
    try:
        text = content.decode()
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        if b"tool.gpuregress" not in content:
            return None  # another tool's business
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise JobErrors((JobError(path, None, "", f"cannot be read: {reason}"),)) from None
    tool = data.get("tool", {})
    if not isinstance(tool, dict) or "gpuregress" not in tool:
        return None
    return Document(path, tool["gpuregress"], _toml_lines(text))


_TABLE = re.compile(r"\s*\[tool\.gpuregress(?:\.([A-Za-z0-9_.-]+))?\]")
_ASSIGNMENT = re.compile(r"\s*([A-Za-z0-9_.-]+)\s*=")


def _toml_lines(text: str) -> dict[Key, int]:
    """The lines of the keys below [tool.gpuregress], found by regular expressions: tomllib gives none."""
    lines: dict[Key, int] = {}
    table: Key | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        header = _TABLE.match(line)
        if header:
            table = tuple((header[1] or "").split(".")) if header[1] else ()
        elif line.lstrip().startswith("["):
            table = None
        assignment = _ASSIGNMENT.match(line)
        key = table if header else (*table, *assignment[1].split(".")) if table is not None and assignment else None
        for length in range(1, len(key or ()) + 1):
            lines.setdefault((key or ())[:length], number)
    return lines


def _project(root: Path, document: Document | None) -> Project:
    if document is None:
        return Project(root, root / "configs", root / "baselines", root / "runs")
    problems = Problems(document)
    if not isinstance(document.data, dict):
        keys = ", ".join(SettingsSpec.key_names())
        problems.add((), f"is {show(document.data)}: settings are a mapping: {keys}")
        problems.raise_if_any()
    given, errors = forms.read_parts(SettingsSpec, document.data)
    for error in errors:
        problems.add(error.key_in_file(document.data), error.message)
    settings = SettingsSpec(**given, written=frozenset(given))
    written = settings.folders
    folders = {name: root / getattr(written, name) for name in ("configs", "baselines", "runs")}
    dumps = written.dumps
    if dumps and "://" not in dumps:
        folders["dumps"] = root / dumps
        dumps = f"file://{root / dumps}"
    _check_places(problems, folders, written)
    problems.raise_if_any()
    configs, baselines, runs = folders["configs"], folders["baselines"], folders["runs"]
    commands = settings.compile.commands
    return Project(
        root=root,
        configs=configs,
        baselines=baselines,
        runs=runs,
        settings=settings,
        dumps=dumps.rstrip("/"),
        compile_commands=root / commands if commands else None,
    )


def _check_places(problems: Problems, folders: Mapping[str, Path], written: FoldersSpec) -> None:
    """Report a folder that is the root of the file system, or another folder of the project."""
    places = {name: os.path.realpath(folder) for name, folder in folders.items()}
    for name in folders:
        if name not in written.written:
            continue
        same = [other for other in places if other != name and places[other] == places[name]]
        if places[name] == os.sep:
            problems.add(("folders", name), "is the root of the file system; expected a folder in it")
        elif same:
            problems.add(("folders", name), f"is the folder of {same[0]}, too; expected one of its own")

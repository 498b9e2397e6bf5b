"""Project: the folder of jobs, baselines and runs, and its settings.

The settings are optional: a `gpuregress.yaml`, or `[tool.gpuregress]` in a pyproject.toml:

    folders: {configs: configs, baselines: baselines, runs: runs, dumps: s3://bucket/prefix}
    compare:                      # the rule of float buffers that no job's own rule names, by dtype
      float32: {rtol: 1.0e-5, atol: 0}
    limits: {timeout: 30, memory: 4GiB, timeouts: 3}
    retention: {runs: 30, age: 90d, size: 20GiB}
    dumps: {compress_above: 64MiB}
    ping: https://hc.example.org/${PING_KEY}
    notify: {mail: team@example.org, webhook: "${CHAT_URL}"}
    cluster: tcp://node0:8786     # run and nightly use the hosts of this Dask cluster
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import field

from gpuregress.foundation import dtypes
from gpuregress.foundation.document import reader, units
from gpuregress.foundation.document.problems import Problems, show, suggestion
from gpuregress.foundation.document.reader import Document, Key
from gpuregress.foundation.errors import JobError, JobErrors, UsageError
from gpuregress.foundation.numeric.tolerances import loose, tight
from gpuregress.gpu.records import Record, replace

SETTINGS_FILE = "gpuregress.yaml"
KEYS: dict[str, tuple[str, str, str]] = {
    "folders.configs": ("a folder", "`configs`", "the jobs, including subfolders"),
    "folders.baselines": ("a folder", "`baselines`", "the accepted dumps"),
    "folders.runs": ("a folder", "`runs`", "the runs, one folder each"),
    "folders.dumps": (
        "an address such as s3://bucket/prefix, or a folder",
        "in the baselines",
        "the accepted dumps, by digest; `baseline.yaml` stays in the baselines",
    ),
    "compare.DTYPE.rtol": (
        "a number",
        "`0`",
        "relative tolerance of buffers of this dtype without a rule",
    ),
    "compare.DTYPE.atol": ("a number", "`0`", "absolute tolerance of buffers of this dtype without a rule"),
    "limits.timeout": ("seconds, or a time such as 2min", "`30`", "for cases whose job sets none"),
    "limits.memory": (
        "bytes, or a size such as 4GiB",
        "half of this machine's",
        "for cases whose job sets none",
    ),
    "limits.timeouts": (
        "a whole number",
        "`3` at night",
        "timeouts of one kernel in a run, after which its other cases are skipped",
    ),
    "ping": ("a URL", "none", "a dead man's switch, called when a night starts and when it ends"),
    "notify.mail": ("an address, or a list", "none", "who gets a mail of a night that has something to say"),
    "notify.webhook": ("a URL", "none", "where a night that has something to say is posted as JSON"),
    "cluster.scheduler": (
        "an address such as tcp://node0:8786",
        "none",
        "the [Dask cluster](cluster.md) of `run` and `nightly`; `cluster: ADDRESS` is short for it",
    ),
    "cluster.wait": (
        "seconds, or a time such as 2min",
        "`30`",
        "how long to wait for the scheduler, for its first worker, and for another one where all are gone",
    ),
    "retention.runs": ("a whole number", "`30`", "the number of runs that are kept"),
    "retention.age": ("a time such as 90d or 12w", "no limit", "the age from which on a run is removed"),
    "retention.size": ("bytes, or a size such as 20GiB", "no limit", "the disk space of all runs together"),
    "dumps.compress_above": ("bytes, or a size such as 64MiB", "`64MiB`", "larger dumps are compressed with zstd"),
}
"""Every setting: what it takes, its default, its meaning."""

COMPRESS_ABOVE = 64 << 20
"""That of `records`, which would take a tenth of a second to import."""
LARGEST = sys.float_info.max
MOST_RUNS = 1_000_000
_FALLBACK_MEMORY = 4 << 30
_SECRET_IN_ADDRESS = re.compile(
    r"://[^/@]*:(?!\d+/)[^@]*@|[?&][^=/]*(key|token|secret|signature|sig)[^=/]*=", re.IGNORECASE
)


class Tolerance(Record):
    """The default rule of a float dtype: |actual - baseline| <= atol + rtol * |baseline|."""

    rtol: float = 0.0
    atol: float = 0.0


class ClusterSettings(Record):
    """The Dask cluster that runs the cases: the address of its scheduler, "" for none, and the patience in seconds."""

    scheduler: str = ""
    wait: float = 30.0


class Settings(Record):
    """The settings of a project.

    Attributes:
        timeout: time limit in seconds of a case whose job has none.
        memory: bytes of device memory for a case whose job has no limit; None: half of this machine's.
        compare: dtype → the rule of its buffers where a job has none; not given: every bit.
        keep_runs: the number of runs that are kept.
        keep_seconds: the age from which on a run is removed; None: any.
        keep_bytes: the disk space of all runs together; None: any.
        compress_above: bytes of text above which a dump is compressed.
        ping: the URL of a dead man's switch, "" for none; as `webhook` with `${VARIABLE}` for what is secret.
        mail: addresses for what a night has to say.
        webhook: a URL for it, "" for none.
        timeouts: of one kernel in a run, after which its other cases are skipped; None: not said.
        cluster: where `run` and `nightly` run the cases.
    """

    timeout: float = 30.0
    memory: int | None = None
    compare: Mapping[str, Tolerance] = field(default_factory=dict)
    keep_runs: int = 30
    keep_seconds: float | None = None
    keep_bytes: int | None = None
    compress_above: int = COMPRESS_ABOVE
    ping: str = ""
    mail: tuple[str, ...] = ()
    webhook: str = ""
    timeouts: int | None = None
    cluster: ClusterSettings = field(default_factory=ClusterSettings)


class Project(Record):
    """The folders of a project; all paths are absolute.

    Attributes:
        root: the project's folder.
        configs: jobs, also in folders below.
        baselines: accepted dumps.
        runs: one folder a run.
        settings: see Settings.
        earlier_runs: where inputs of earlier runs are found; None: in `runs`.
        dumps: the address of the folder of accepted dumps; "": they are in `baselines`.
    """

    root: Path
    configs: Path
    baselines: Path
    runs: Path
    settings: Settings = field(default_factory=Settings)
    earlier_runs: Path | None = None
    dumps: str = ""

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


def is_cluster_address(text: str) -> bool:
    """Tell whether a text may be the address of a Dask scheduler: `PROTOCOL://HOST:PORT`."""
    return re.fullmatch(r"(?:tcp|tls|ws|wss|ucx|ucxx)://[^\s/:]\S*:[0-9]{1,5}", text) is not None


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
    import tomllib  # noqa: PLC0415 - many projects have no pyproject.toml

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


_URL = re.compile(r"(https?://|\$\{[A-Za-z_])[^\s\x00-\x1f\x7f]+")
_PASSWORD = re.compile(r"https?://[^/?#]*:[^/?#$]*@")
_ADDRESS = re.compile(r"[^-\s,<>][^\s,<>]*")


def _notify(value: Any) -> Any:
    """The mapping that a single URL or address stands for."""
    if not isinstance(value, str):
        return value
    return {"webhook" if value.startswith(("http://", "https://")) else "mail": value}


def _below(start: str) -> tuple[str, ...]:
    """The keys one level below another, `limits.` or ""."""
    names = [key.removeprefix(start).partition(".")[0] for key in KEYS if key.startswith(start)]
    return tuple(dict.fromkeys(names))


def _project(root: Path, document: Document | None) -> Project:
    if document is None:
        return Project(root, root / "configs", root / "baselines", root / "runs")
    problems = Problems(document)
    if not isinstance(document.data, dict):
        problems.add((), f"is {show(document.data)}: settings are a mapping: {', '.join(_below(''))}")
        problems.raise_if_any()
    checker = _Checker(problems)
    data = checker.mapping((), document.data, _below(""))
    folders = checker.folders(root, data.get("folders"))
    dumps_address = checker.dumps_address(root, data.get("folders"))
    limits = checker.mapping(("limits",), data.get("limits"), _below("limits."))
    notify = checker.mapping(("notify",), _notify(data.get("notify")), _below("notify."))
    retention = checker.mapping(("retention",), data.get("retention"), _below("retention."))
    dumps = checker.mapping(("dumps",), data.get("dumps"), _below("dumps."))
    settings = Settings(
        timeout=checker.amount(("limits", "timeout"), limits.get("timeout", 30.0), units.seconds) or 30.0,
        memory=checker.amount(("limits", "memory"), limits["memory"], units.size) if "memory" in limits else None,
        compare=checker.tolerances(data.get("compare")),
        keep_runs=checker.count(("retention", "runs"), retention.get("runs", 30)),
        keep_seconds=checker.amount(("retention", "age"), retention["age"], units.age) if "age" in retention else None,
        keep_bytes=checker.amount(("retention", "size"), retention["size"], units.size)
        if "size" in retention
        else None,
        compress_above=checker.amount(
            ("dumps", "compress_above"), dumps.get("compress_above", COMPRESS_ABOVE), units.size
        )
        or COMPRESS_ABOVE,
        ping=checker.url(("ping",), data.get("ping")),
        mail=checker.addresses(("notify", "mail"), notify.get("mail")),
        webhook=checker.url(("notify", "webhook"), notify.get("webhook")),
        timeouts=checker.count(("limits", "timeouts"), limits["timeouts"]) if "timeouts" in limits else None,
        cluster=checker.cluster(data.get("cluster")),
    )
    problems.raise_if_any()
    return Project(root, folders["configs"], folders["baselines"], folders["runs"], settings, dumps=dumps_address)


_FLEETING = ("memory", "data")
"""Protocols of fsspec whose files live in the process."""
_LOCAL = ("file", "local")
_ADDRESS_LIKE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def _folder_problem(name: str, text: Any) -> str:
    """Say why a text does not name the folder that its writer means; "" if it does."""
    if not isinstance(text, str) or not text.strip():
        return f"expected a folder such as {name}, got {show(text)}"
    if not text.isprintable() or text != text.strip():
        return f"holds a control character, or begins or ends with a space: {show(text)}"
    if "://" in text:
        return f"expected a folder such as {name}, got the address {show(text)}; only folders.dumps may be one"
    if text.startswith("~") or "$" in text:
        return f"expected a folder such as {name}, got {show(text)}; neither ~ nor variables are replaced here"
    if _ADDRESS_LIKE.match(text):
        return f"{show(text)} is neither an address, as s3://bucket/prefix, nor a plain folder, as ./{text}"
    return ""


class _Checker(Record):
    """Validator of settings; without pydantic, whose import costs every command a tenth of a second."""

    problems: Problems

    def mapping(self, key: Key, value: Any, known: tuple[str, ...]) -> dict[str, Any]:
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.problems.add(key, f"expected a mapping with the keys {', '.join(known)}, got {show(value)}")
            return {}
        for name in value:
            if name not in known:
                hint = suggestion(name, known, there_are="the keys are")
                self.problems.add((*key, name), f"unknown key{hint}")
        return {name: item for name, item in value.items() if name in known}

    def folders(self, root: Path, value: Any) -> dict[str, Path]:
        given = self.mapping(("folders",), value, _below("folders."))
        folders = {name: root / name for name in _below("folders.") if name != "dumps"}
        for name, text in given.items():
            if name == "dumps" and isinstance(text, str) and "://" in text:
                continue
            problem = _folder_problem(name, text)
            if problem:
                self.problems.add(("folders", name), problem)
            else:
                folders[name] = root / text
        places = {name: os.path.realpath(folder) for name, folder in folders.items()}
        for name in given:
            same = [other for other in places if other != name and places[other] == places.get(name)]
            if places.get(name) == os.sep:
                self.problems.add(("folders", name), "is the root of the file system; expected a folder in it")
            elif same:
                self.problems.add(("folders", name), f"is the folder of {same[0]}, too; expected one of its own")
        return folders

    def dumps_address(self, root: Path, value: Any) -> str:
        text = value.get("dumps") if isinstance(value, dict) else None
        if not isinstance(text, str) or not text.strip():
            return ""
        if "://" in text:
            protocol, _, path = text.partition("://")
            if protocol.lower() in _FLEETING:
                problem = f"a {protocol}:// address is gone when the command ends, and the dumps with it"
            elif not path.strip("/"):
                problem = "names no folder"
            elif protocol.lower() in _LOCAL and not path.startswith("/"):
                problem = f"does not begin with {protocol}:///, so it is relative to the folder of each command"
            elif not text.isprintable() or text != text.strip():
                problem = "holds a control character, or begins or ends with a space"
            else:
                problem = ""
            if problem:
                problem += f"; expected an address such as s3://bucket/prefix, got {show(text)}"
        else:
            text, problem = f"file://{root / text}", ""
        if not problem and "::" in text:
            problem = f"holds `::`, which chains addresses; expected one address or folder, got {show(text)}"
        if problem:
            self.problems.add(("folders", "dumps"), problem)
        if _SECRET_IN_ADDRESS.search(text):
            self.problems.add(
                ("folders", "dumps"),
                "holds a user's password; leave it out: credentials come from the environment or from an agent",
            )
        return text.rstrip("/")

    def amount(self, key: Key, value: Any, read: Callable[[Any], Any]) -> Any:
        try:
            return read(value)
        except ValueError as error:
            self.problems.add(key, str(error))
            return None

    def count(self, key: Key, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_RUNS:
            self.problems.add(key, f"expected a whole number from 1 to {MOST_RUNS:,}, got {show(value)}")
            return 1
        return value

    def url(self, key: Key, value: Any) -> str:
        """A URL; the message quotes none, for its path may be a secret."""
        if value is None:
            return ""
        if not isinstance(value, str) or not _URL.fullmatch(value):
            self.problems.add(key, "expected a URL such as https://hc.example.org/${PING_KEY}, in one word")
            return ""
        if _PASSWORD.match(value):
            self.problems.add(
                key, "holds a password: put the URL into the environment, and name it here as ${VARIABLE}"
            )
        return value

    def addresses(self, key: Key, value: Any) -> tuple[str, ...]:
        values = value if isinstance(value, list) else [] if value is None else [value]
        for one in values:
            if not isinstance(one, str) or not _ADDRESS.fullmatch(one):
                self.problems.add(key, f"expected an address such as team@example.org, or a list, got {show(one)}")
                return ()
        return tuple(values)

    def cluster(self, value: Any) -> ClusterSettings:
        if isinstance(value, str):
            return ClusterSettings(self.address(("cluster",), value))
        given = self.mapping(("cluster",), value, _below("cluster."))
        settings = ClusterSettings()
        if "scheduler" in given:
            settings = replace(settings, scheduler=self.address(("cluster", "scheduler"), given["scheduler"]))
        if "wait" in given:
            wait = self.amount(("cluster", "wait"), given["wait"], units.seconds)
            settings = replace(settings, wait=wait or settings.wait)
        return settings

    def address(self, key: Key, value: Any) -> str:
        if isinstance(value, str) and is_cluster_address(value):
            return value
        self.problems.add(key, f"expected the address of a Dask scheduler, as tcp://node0:8786, got {show(value)}")
        return ""

    def tolerances(self, value: Any) -> dict[str, Tolerance]:
        names = tuple(name for name in dtypes.known_names() if dtypes.parse(name).is_float)
        tolerances = {}
        for name, item in self.mapping(("compare",), value, names).items():
            given = self.mapping(("compare", name), item, _below("compare.DTYPE."))
            numbers = {}
            for kind, number in given.items():
                if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= LARGEST:
                    self.problems.add(("compare", name, kind), f"expected a number of at least 0, got {show(number)}")
                else:
                    numbers[kind] = float(number)
            element, rtol = dtypes.parse(name), numbers.get("rtol")
            for key, text in (*loose(element, rtol=rtol, atol=numbers.get("atol")), *tight(element, rtol)):
                self.problems.add(("compare", name, *key), text)
            tolerances[name] = Tolerance(**numbers)
        return tolerances

"""The command of a night as a scheduler runs it: program, arguments, environment, log, time."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import field

from gpuregress import __version__
from gpuregress.foundation import storage, user_home
from gpuregress.foundation.errors import StorageError, UsageError
from gpuregress.gpu.records import Record
from gpuregress.report.messages import web_request
from gpuregress.store.project import Project
from gpuregress.toolchain import cache

LOG = "nightly.log"
"""In the folder of runs, which is not part of the repository."""
_TOOLS = ("git", "g++", "c++", "nvcc", "ptxas", "compute-sanitizer", "sendmail")
"""Programs that a run may start."""
_SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
_CARRIED = (
    "VIRTUAL_ENV",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_HOME",
    "CUDA_PATH",
    "LD_LIBRARY_PATH",
    "TZ",
    "GPUREGRESS_CPU_THREADS",
    "GPUREGRESS_CPU_BLOCK_ORDER",
)
"""Variables that change what a night does; no others, for one may hold a secret."""
_ZONES = "zoneinfo/"


class NightCommand(Record):
    """A night of one project.

    Attributes:
        root: the project's folder, absolute.
        runs: its folder of runs, absolute.
        repository: the root of its git repository, absolute; `root` outside of any.
        program: the command `gpuregress`, absolute, with its first arguments.
        arguments: of `nightly`.
        environment: variables that the night needs; none is a secret.
        secrets: variables that the settings name.
        secrets_file: a file that sets them.
        tells: whether the settings name somebody who gets a message of a night.
        hour: local time.
        minute: local time.
        zone: the time zone, as `Europe/Berlin`; "" where its name is not known.
        package: what `pip install` takes on a CI server; a path of the repository, absolute, or a requirement.
    """

    root: Path
    runs: Path
    repository: Path
    program: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    secrets_file: Path = Path("~/.config/gpuregress/nightly.env")
    tells: bool = False
    hour: int = 2
    minute: int = 0
    zone: str = ""
    package: str | Path = f"gpuregress[cpu]=={__version__}"

    def pip_install(self, folder: Path) -> str:
        """The shell command that installs gpuregress on a CI server, in this folder of the repository."""
        package = self.package
        if isinstance(package, Path):
            package = f"./{Path(os.path.relpath(package, folder)).as_posix()}[cpu]"
        return shlex.join(("python", "-m", "pip", "install", package))

    @property
    def time(self) -> str:
        """`02:00`."""
        return f"{self.hour:02}:{self.minute:02}"

    @property
    def name(self) -> str:
        """A name for units and jobs, the same for the same folder: `gpuregress-kernels-3f2a9c`."""
        word = re.sub(r"[^A-Za-z0-9]+", "-", self.root.name).strip("-").lower()[:30] or "project"
        return f"gpuregress-{word}-{hashlib.sha256(os.fsencode(self.root)).hexdigest()[:6]}"

    @property
    def log(self) -> str:
        """The log, relative to the project where it is below it."""
        return _relative(self.runs / LOG, self.root)

    @property
    def log_folder(self) -> str:
        """The folder of the log, likewise; `.` for the project's own."""
        return self.log.rpartition("/")[0] or "."

    @property
    def below_repository(self) -> str:
        """The project's folder, relative to the repository; `.` for its root."""
        return self.root.relative_to(self.repository).as_posix()

    @property
    def mark(self) -> str:
        """The comment by which an installed file is known as ours."""
        return f"{MARK} of {self.root}"

    def assignments(self) -> str:
        """`A=1 B='2 3'` for a shell."""
        return " ".join(f"{name}={shlex.quote(value)}" for name, value in self.environment.items())

    def secrets_loaded(self) -> str:
        """Shell commands that load the secrets where their file exists; "" where no setting needs one."""
        if not self.secrets:
            return ""
        file = shlex.quote(str(self.secrets_file))
        return f"{{ [ ! -r {file} ] || {{ set -a; . {file}; set +a; }}; }} && "

    def shell(self, output: str) -> str:
        """The shell command of a night; it needs neither PATH nor a current folder.

        Args:
            output: where its output goes, as `>> F 2>&1`.
        """
        start = (
            f"cd {shlex.quote(str(self.root))} && mkdir -p {shlex.quote(self.log_folder)} && {self.secrets_loaded()}"
        )
        return f"{start}{self.assignments()} {shlex.join((*self.program, 'nightly', *self.arguments))} {output}"


MARK = "gpuregress nightly"


def of_project(project: Project, arguments: Sequence[str], at: tuple[int, int]) -> NightCommand:
    """The night of a project, with the environment of this process.

    Args:
        project: whose.
        arguments: of `nightly`.
        at: hour and minute.

    Raises:
        UsageError: a path holds a newline, which no scheduler takes.
    """
    settings = project.settings
    notify = settings.notify
    texts = (settings.ping, notify.webhook, notify.smtp, *notify.mail)
    secrets: dict[str, None] = {}
    for text in texts:
        secrets |= dict.fromkeys(web_request.variables(text))
    program: tuple[str, ...] = (sys.executable, "-m", "gpuregress")
    script = Path(sys.executable).with_name("gpuregress")
    if script.is_file():
        program = (str(script),)
    night = NightCommand(
        root=project.root,
        runs=project.runs,
        repository=_repository(project.root),
        program=program,
        arguments=tuple(arguments),
        environment={"PATH": _path(program[0]), "GPUREGRESS_CACHE": str(cache.folder()), **_carried(secrets)},
        secrets=tuple(secrets),
        secrets_file=user_home.configuration() / "gpuregress" / "nightly.env",
        tells=bool(notify.webhook or notify.mail),
        hour=at[0],
        minute=at[1],
        zone=local_zone(),
    )
    for text in (str(night.root), str(night.runs), *program, *arguments, *night.environment.values()):
        if not text.isprintable():
            raise UsageError(f"{text!r} holds a newline or a control character, which a scheduler's file cannot hold")
    return night


def _carried(secrets: Collection[str]) -> dict[str, str]:
    """Variables of this process that change what a night does, without those that the settings name."""
    return {name: os.environ[name] for name in _CARRIED if os.environ.get(name) and name not in secrets}


def _path(program: str) -> str:
    """The folders of the programs that a run may start; a shell's whole PATH would not fit into a crontab line."""
    found = (shutil.which(tool) for tool in _TOOLS)
    folders = [str(Path(path).parent.absolute()) for path in (program, *found) if path]
    return os.pathsep.join(dict.fromkeys((*folders, *_SYSTEM_PATH)))


def _repository(root: Path) -> Path:
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)


def local_zone() -> str:
    """The name of the local time zone: TZ, else what /etc/localtime links to; "" where it has none."""
    zone = os.environ.get("TZ", "").removeprefix(":")
    if not zone:
        target = os.path.realpath("/etc/localtime")
        zone = target.partition(_ZONES)[2]
    return zone if re.fullmatch(r"[A-Za-z][A-Za-z0-9_+/-]*", zone) else ""


def _relative(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def render(template: str, night: NightCommand, **values: object) -> str:
    """Write a file of a scheduler.

    Args:
        template: of this folder; values stand in `[[ ]]`, because Actions has braces of its own.
        night: the command.
        values: what else it names.
    """
    import jinja2  # noqa: PLC0415 - 40 ms, which every night would take and only an installation needs

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("gpuregress.report.messages.installation", "."),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - no HTML: each value has the filter of its place
        variable_start_string="[[",
        variable_end_string="]]",
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "shell": lambda value: shlex.quote(str(value)),
        "json": _json,
        "github": lambda text: _json(text.replace("${{", "${{ '${{' }}")),  # in which nothing is an expression
        "unit_comment": lambda text: text.replace("\\", "/"),  # whose line would go on after a backslash at its end
        "unit_text": lambda text: text.replace("%", "%%").replace("\\", "/"),
        "unit_word": _unit_word,
    }
    return environment.get_template(template).render(night=night, **{"runs": night.log_folder, **values})


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _unit_word(text: str) -> str:
    r"""A word of a command line of systemd: `%` begins a specifier, a backslash an escape."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


_HEAD_LINES = 3


class InstalledFile(Record):
    """A file of a scheduler.

    Attributes:
        path: absolute.
        text: its content, with the mark in one of its first lines.
        executable: whether it is a program.
    """

    path: Path
    text: str
    executable: bool = False


class Installation(Record):
    """What a scheduler needs.

    Attributes:
        text: the lines to install, and no others.
        files: what `--write` writes; none for cron, whose lines `cron.install` puts into the crontab.
        todo: what is left to do where the user installs the lines.
        after: what is left to do after `--write`.
    """

    text: str
    files: tuple[InstalledFile, ...] = ()
    todo: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def write_files(files: tuple[InstalledFile, ...]) -> None:
    """Write the files; all are judged before the first is written.

    Raises:
        UsageError: a file of somebody else has one of the names.
        StorageError: no space, no permission.
    """
    for file in files:
        if file.path.is_symlink() or (file.path.exists() and not _is_ours(file.path)):
            raise UsageError(
                f"{file.path} was not written by gpuregress and is left as it is: remove it, or install the printed "
                "lines by hand"
            )
    for file in files:
        with storage.disk_errors(file.path):
            file.path.parent.mkdir(parents=True, exist_ok=True)
        storage.write_atomic(file.path, file.text.encode())
        if file.executable:
            with storage.disk_errors(file.path):
                file.path.chmod(0o755)


def _is_ours(path: Path) -> bool:
    try:
        head = path.read_text(encoding="utf-8", errors="replace").splitlines()[:_HEAD_LINES]
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}") from None
    return any(line.startswith("# ") and MARK in line for line in head)

"""Settings of a project: what `gpuregress.yaml` and `[tool.gpuregress]` may hold.

They are read by the machinery of jobs (`document/forms.py`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

import msgspec

from gpuregress.foundation import dtypes
from gpuregress.foundation.document import units
from gpuregress.foundation.document.forms import FormError, FormErrors, Reads, Spec, doc
from gpuregress.foundation.document.keys import show
from gpuregress.foundation.numeric.tolerances import loose, tight

COMPRESS_ABOVE = 64 << 20
"""That of `records`, which would take a tenth of a second to import."""
LARGEST = sys.float_info.max
MOST_RUNS = 1_000_000
_SECRET_IN_ADDRESS = re.compile(
    r"://[^/@]*:(?!\d+/)[^@]*@|[?&][^=/]*(key|token|secret|signature|sig)[^=/]*=", re.IGNORECASE
)
_URL = re.compile(r"(https?://|\$\{[A-Za-z_])[^\s\x00-\x1f\x7f]+")
_PASSWORD = re.compile(r"https?://[^/?#]*:[^/?#$]*@")
_SMTP = re.compile(r"(smtps?://|\$\{[A-Za-z_])[^\s\x00-\x1f\x7f]+")
_SMTP_PASSWORD = re.compile(r"smtps?://[^/?#]*:(?!\$\{)[^/?#@]*@")
_ATOM = r"[+A-Za-z0-9!#$%&'*/=?^_`{|}~-]+"
ADDRESS = re.compile(rf"(?!-){_ATOM}(\.{_ATOM})*(@({_ATOM}(\.{_ATOM})*|\[[0-9A-Fa-f.:IPv]+\]))?")
"""An address for a mail: `dot-atom` of RFC 5322, or a name of this host. A program reads it, so it has no leading `-`;
not every server takes a sign that is not ASCII. Variables, `${TEAM}`, are atoms, too.
"""
_FLEETING = ("memory", "data")
"""Protocols of fsspec whose files live in the process."""
_LOCAL = ("file", "local")
_ADDRESS_LIKE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


# --- the values -------------------------------------------------------------------------------------------------------


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
        return f"{show(text)} is neither an address, such as s3://bucket/prefix, nor a plain folder, such as ./{text}"
    return ""


def _folder_form(name: str) -> Reads:
    """Return the form of a folder."""

    def read(value: Any) -> str:
        problem = _folder_problem(name, value)
        if problem:
            raise ValueError(problem)
        return str(value)

    return Reads(read, {"$comment": "a folder"})


def _dumps_folder(value: Any) -> str:
    """Take an address, or a folder."""
    if not isinstance(value, str) or "://" not in value:
        problem = _folder_problem("dumps", value)
        if not problem and "::" in value:
            problem = f"holds `::`, which chains addresses; expected one address or folder, got {show(value)}"
    else:
        problem = _address_problem(value)
    if problem:
        raise ValueError(problem)
    if _SECRET_IN_ADDRESS.search(value):
        raise ValueError(
            "holds a user's password; leave it out: credentials come from the environment or from an agent"
        )
    return str(value)


def _address_problem(text: str) -> str:
    """Say why an address names no folder of dumps; "" if it does."""
    protocol, _, path = text.partition("://")
    if protocol.lower() in _FLEETING:
        problem = f"a {protocol}:// address is gone when the command ends, and the dumps with it"
    elif not path.strip("/"):
        problem = "names no folder"
    elif protocol.lower() in _LOCAL and not path.startswith("/"):
        problem = f"does not begin with {protocol}:///, so it is relative to the folder of each command"
    elif not text.isprintable() or text != text.strip():
        problem = "holds a control character, or begins or ends with a space"
    elif "::" in text:
        return f"holds `::`, which chains addresses; expected one address or folder, got {show(text)}"
    else:
        return ""
    return f"{problem}; expected an address such as s3://bucket/prefix, got {show(text)}"


def _url(value: Any) -> str:
    """Take a URL; the message quotes none, for its path may be a secret."""
    if not isinstance(value, str) or not _URL.fullmatch(value):
        raise ValueError("expected a URL such as https://hc.example.org/${PING_KEY}, in one word")
    if _PASSWORD.match(value):
        raise ValueError("holds a password: put the URL into the environment, and name it here as ${VARIABLE}")
    return value


def _smtp(value: Any) -> str:
    """Take a mail server; the message quotes none, for it may hold a password."""
    if not isinstance(value, str) or not _SMTP.fullmatch(value):
        raise ValueError("expected a mail server such as smtp://mail.example.org:587, in one word")
    if _SMTP_PASSWORD.match(value):
        raise ValueError("holds a password: put it into the environment, and name it here as user:${VARIABLE}@host")
    return value


def addresses(value: Any) -> tuple[str, ...]:
    """Take an address for mails, or a list of them.

    Raises:
        ValueError: it is none.
    """
    values = value if isinstance(value, list) else [value]
    for address in values:
        if not isinstance(address, str) or not ADDRESS.fullmatch(address):
            raise ValueError(f"expected an address such as team@example.org, or a list, got {show(address)}")
    return tuple(values)


def is_cluster_address(text: str) -> bool:
    """Tell whether a text may be the address of a Dask scheduler: `PROTOCOL://HOST:PORT`."""
    return re.fullmatch(r"(?:tcp|tls|ws|wss|ucx|ucxx)://[^\s/:]\S*:[0-9]{1,5}", text) is not None


def _scheduler(value: Any) -> str:
    if isinstance(value, str) and is_cluster_address(value):
        return value
    raise ValueError(f"expected the address of a Dask scheduler, such as tcp://node0:8786, got {show(value)}")


def _tolerance(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
        raise ValueError(f"expected a number of at least 0, got {show(value)}")
    return float(value)


def _takes(function: Callable[[Any], Any], takes: str) -> Reads:
    return Reads(function, {"$comment": takes})


def _means(text: str, default: str) -> msgspec.Meta:
    """Describe a key; its default is given in words."""
    return doc(text, default_text=default)


_Seconds = Annotated[float, _takes(units.seconds, "seconds, or a time such as 2min")]
_Url = Annotated[str, _takes(_url, "a URL")]
_Count = Annotated[int, _takes(units.whole_number(1, MOST_RUNS), "a whole number")]
_Ratio = Annotated[float, _takes(units.slowdown, "a ratio of at least 1, such as 1.05")]
_Number = Annotated[float, _takes(_tolerance, "a number")]


def _size(example: str) -> Reads:
    return _takes(units.size, f"bytes, or a size such as {example}")


# --- the keys ---------------------------------------------------------------------------------------------------------


class FoldersSpec(Spec, frozen=True):
    """Folders of a project."""

    configs: Annotated[str, _folder_form("configs"), doc("the jobs, including subfolders")] = "configs"
    baselines: Annotated[str, _folder_form("baselines"), doc("the accepted dumps")] = "baselines"
    runs: Annotated[str, _folder_form("runs"), doc("the runs, one folder each")] = "runs"
    dumps: Annotated[
        str,
        _takes(_dumps_folder, "an address such as s3://bucket/prefix, or a folder"),
        _means("the accepted dumps, by digest; `baseline.yaml` stays in the baselines", "in the baselines"),
    ] = ""


class ToleranceSpec(Spec, frozen=True):
    """Tolerance of buffers of a dtype without a rule."""

    element_name: ClassVar[str] = "float32"

    rtol: Annotated[_Number | None, _means("relative tolerance of buffers of this dtype without a rule", "`0`")] = None
    atol: Annotated[_Number | None, _means("absolute tolerance of buffers of this dtype without a rule", "`0`")] = None

    def check(self) -> None:
        """Refuse a tolerance that can hardly fail, or is tighter than rounding."""
        element = dtypes.parse(self.element_name)
        unsound = (*loose(element, rtol=self.rtol, atol=self.atol), *tight(element, self.rtol))
        if unsound:
            raise FormErrors([FormError(key, text) for key, text in unsound])


def _tolerances_spec() -> type[Spec]:
    """Return a model with a key for each dtype of floats."""
    fields = []
    for name in dtypes.known_names():
        if dtypes.parse(name).is_float:
            namespace = {"element_name": name}
            model = msgspec.defstruct(name, [], bases=(ToleranceSpec,), namespace=namespace, frozen=True)
            fields.append((name, model | None, None))
    tolerances: type[Spec] = msgspec.defstruct("TolerancesSpec", fields, bases=(Spec,), module=__name__, frozen=True)  # type: ignore[assignment] # by its base
    return tolerances


TolerancesSpec = _tolerances_spec()


class LimitsSpec(Spec, frozen=True):
    """Limits of cases whose job sets none."""

    timeout: Annotated[_Seconds, _means("for cases whose job sets none", "`30`")] = 30.0
    memory: Annotated[int | None, _size("4GiB"), _means("for cases whose job sets none", "half of this machine's")] = (
        None
    )
    timeouts: Annotated[
        _Count | None,
        _means("timeouts of one kernel in a run, after which its other cases are skipped", "`3` at night"),
    ] = None
    instructions: Annotated[
        _Ratio | None,
        _means("on the CPU device: more times the accepted instructions fail a case", "none: it is only reported"),
    ] = None
    time: Annotated[
        _Ratio | None,
        _means(
            "on a GPU: more times the accepted time fail a [timed](../how-to/timing.md) case",
            "none: it is only reported",
        ),
    ] = None


class NotifySpec(Spec, frozen=True):
    """What is sent after a night."""

    may_be_empty: ClassVar[frozenset[str]] = frozenset({"mail", "smtp", "webhook"})

    mail: Annotated[
        tuple[str, ...],
        _takes(addresses, "an address, or a list"),
        _means("who gets a mail of a night that has something to say", "none"),
    ] = ()
    smtp: Annotated[
        str,
        _takes(_smtp, "a server such as smtp://mail.example.org:587"),
        _means("the server that takes the mails; also smtps://, and user:${PASSWORD}@ before the host", "sendmail"),
    ] = ""
    webhook: Annotated[_Url, _means("where a night that has something to say is posted as JSON", "none")] = ""

    @classmethod
    def as_mapping(cls, value: Any) -> Any:
        """Take a single URL or address."""
        if not isinstance(value, str):
            return value
        return {"webhook" if value.startswith(("http://", "https://")) else "mail": value}


class ClusterSpec(Spec, frozen=True):
    """The Dask cluster that runs the cases."""

    scheduler: Annotated[
        str,
        _takes(_scheduler, "an address such as tcp://node0:8786"),
        _means(
            "the [Dask cluster](../how-to/cluster.md) of `run` and `nightly`; `cluster: ADDRESS` is short for it",
            "none",
        ),
    ] = ""
    wait: Annotated[
        _Seconds,
        _means(
            "how long to wait for the scheduler, for its first worker, and for another one where all are gone", "`30`"
        ),
    ] = 30.0

    @classmethod
    def as_mapping(cls, value: Any) -> Any:
        """Take the address alone."""
        return {"scheduler": value} if isinstance(value, str) else value


class RetentionSpec(Spec, frozen=True):
    """The runs that are kept."""

    runs: Annotated[_Count, doc("the number of runs that are kept")] = 30
    age: Annotated[
        float | None,
        _takes(units.age, "a time such as 90d or 12w"),
        _means("the age from which on a run is removed", "no limit"),
    ] = None
    size: Annotated[int | None, _size("20GiB"), _means("the disk space of all runs together", "no limit")] = None


class DumpsSpec(Spec, frozen=True):
    """How dumps are written."""

    compress_above: Annotated[int, _size("64MiB"), _means("larger dumps are compressed with zstd", "`64MiB`")] = (
        COMPRESS_ABOVE
    )


def _file(value: Any) -> str:
    """Take the path of a file in the project."""
    problem = _folder_problem("build/compile_commands.json", value).replace("a folder", "a file")
    if problem:
        raise ValueError(problem)
    return str(value)


class ProjectCompileSpec(Spec, frozen=True):
    """Compilation of all sources of a project."""

    may_be_empty: ClassVar[frozenset[str]] = frozenset({"commands"})

    commands: Annotated[
        str,
        _takes(_file, "a file"),
        _means("the build's compile_commands.json: include folders, macros and options of each source", "none"),
    ] = ""


class SettingsSpec(Spec, frozen=True):
    """All settings of a project, in the order of the reference."""

    may_be_empty: ClassVar[frozenset[str]] = frozenset(
        ["folders", "compile", "compare", "limits", "ping", "notify", "cluster", "retention", "dumps"]
    )

    folders: FoldersSpec = FoldersSpec()
    compile: ProjectCompileSpec = ProjectCompileSpec()
    compare: TolerancesSpec | None = None  # type: ignore[valid-type] # a key for each dtype of floats
    limits: LimitsSpec = LimitsSpec()
    ping: Annotated[_Url, _means("a dead man's switch, called when a night starts and when it ends", "none")] = ""
    notify: NotifySpec = NotifySpec()
    cluster: ClusterSpec = ClusterSpec()
    retention: RetentionSpec = RetentionSpec()
    dumps: DumpsSpec = DumpsSpec()

    @property
    def tolerances(self) -> Mapping[str, ToleranceSpec]:
        """The tolerance of each dtype that has one."""
        return self.compare.present() if self.compare is not None else {}

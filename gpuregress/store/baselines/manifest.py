"""Manifest of a baseline, `baseline.yaml`: the accepted dumps and the facts that decided them.

Its last line is a digest of all above, so that an edit by hand is refused.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from msgspec import field

from gpuregress.foundation.document import yaml_parser
from gpuregress.foundation.errors import BaselineError, GpuregressError
from gpuregress.foundation.records import (
    Acceptance,
    AcceptedTiming,
    Case,
    DeviceInfo,
    Dump,
    LaunchDigests,
    MadeOf,
    Outcome,
    Program,
    from_json,
    to_json,
)
from gpuregress.foundation.storage import digest_text
from gpuregress.gpu.records import Record
from gpuregress.toolchain import cubin
from gpuregress.toolchain.cache import digest as digest_of
from gpuregress.toolchain.cubin_linker import build_cubin

if TYPE_CHECKING:
    from gpuregress.foundation.document.yaml_parser import YamlResult

VERSION = 1
FILE = "baseline.yaml"
AGAIN = "take it from version control again, or accept the case anew"

_HEAD = "# Written by `gpuregress accept`. Not to be edited: the last line is a digest of all above it.\n"


class ManifestEntry(Record):
    """A dump in a manifest: its revision, type and digests."""

    revision: str
    dtype: str
    shape: tuple[int, ...]
    digest: str
    text_digest: str


class Manifest(Record):
    """The contents of `baseline.yaml`.

    Attributes:
        version: of this format.
        revision: the one accepted last.
        made_of: what made it.
        dumps: buffer → its accepted dump.
        first: buffer → the first dump accepted; its file is in `first/` unless it is still the accepted one.
        history: every accept, the oldest first.
        launch_digests: of the buffers after each launch of the run that was accepted last.
        timings: model of a device → the accepted times there.
    """

    version: int
    revision: str
    made_of: MadeOf
    dumps: Mapping[str, ManifestEntry]
    first: Mapping[str, ManifestEntry]
    history: tuple[Acceptance, ...]
    launch_digests: LaunchDigests | None = None
    timings: Mapping[str, AcceptedTiming] = field(default_factory=dict)


class _OneLine(list[float]):
    """Samples, which are one fact and so have one line."""


def render(document: Manifest) -> bytes:
    """Render a manifest as text: sorted, one fact a line, closed by its own digest."""
    data = to_json(document)
    for event in data["history"]:
        for key in ("unwritten_ok", "case"):
            if not event[key]:
                del event[key]  # seldom needed, or not known to earlier versions
    for key in ("sources", "code"):
        if not data["made_of"][key]:
            del data["made_of"][key]  # as above
    if not document.timings:
        del data["timings"]
    if document.launch_digests is None:
        del data["launch_digests"]
    base = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    dumper: Any = type("Dumper", (base,), {})
    dumper.add_representer(_OneLine, lambda own, line: own.represent_sequence("tag:yaml.org,2002:seq", line, True))
    for timing in data.get("timings", {}).values():
        if "samples_ms" in timing:
            timing["samples_ms"] = _OneLine(timing["samples_ms"])
    body = _HEAD + yaml.dump(data, Dumper=dumper, default_flow_style=False, width=1 << 20)
    return f"{body}whole: {digest_text(body.encode())}\n".encode()


def parse(data: bytes, path: Path) -> Manifest:
    """Parse a manifest.

    Raises:
        BaselineError: it was cut short or edited, or is of another version.
    """
    body, mark, digest = data.rpartition(b"whole: ")
    if not mark or digest != digest_text(body).encode() + b"\n":
        raise BaselineError(f"{path}: cut short or edited by hand; {AGAIN}")
    # A case of many launches has as many lines here, and nothing that was accepted may be too long to be read again.
    built = yaml_parser.parse_yaml(body, resolvers=yaml_parser.YAML_1_1, most=len(body))
    try:
        return _document(built, path)
    except (TypeError, AttributeError, ValueError) as error:
        raise BaselineError(f"{path}: not a baseline of version {VERSION} ({_line(error)}); {AGAIN}") from None


def _document(built: YamlResult, path: Path) -> Manifest:
    if built.flaws:
        raise ValueError(built.flaws[0].message)
    version = built.data.get("version")
    if version != VERSION:
        raise BaselineError(f"{path}: written in version {version}; this gpuregress reads {VERSION}")
    return from_json(Manifest, built.data)


def made_of(case: Case, outcome: Outcome, programs: Sequence[Program], launches: Sequence[str]) -> MadeOf:
    """Collect the facts that decided a run's results.

    Args:
        case: what was run.
        outcome: its result on the worker.
        programs: what its sources were compiled to; none where that is not known.
        launches: `launch_log.render` of each launch.
    """
    device = outcome.device
    compilers = dict.fromkeys(program.compiler for program in programs)
    digests = [source.digest for source in case.sources]
    return MadeOf(
        source=case.source_digest,
        inputs=dict(outcome.inputs),
        seed=case.seed,
        compiler=", ".join(compilers),
        options=_without_folders(_options(case, programs)),
        contract=case.source.contract,
        arch=programs[0].arch if programs else case.source.arch,
        device=_model(case, device) if device else "",
        card=device.card.uuid if device else "",
        driver=device.driver if device else "",
        launches=tuple(dict.fromkeys(launches)),
        resources=outcome.resources,
        determinism=outcome.observations.determinism,
        orders=outcome.observations.orders,
        sources=dict(zip(case.source_names, digests, strict=True)) if case.other_sources else {},
        code=_code(case, outcome, programs),
    )


def _model(case: Case, device: DeviceInfo) -> str:
    """The device's model, and whose tensor cores it had."""
    is_other = case.source.card not in ("", device.arch)
    return f"{device.model}, tensor cores of {case.source.card}" if is_other else device.model


def _code(case: Case, outcome: Outcome, programs: Sequence[Program]) -> str:
    """A digest of the code that a timed case ran on its device."""
    if case.settings.timing is None or outcome.device is None:
        return ""

    if outcome.device.name.startswith("cuda"):
        digests = [digest(cubin_of(program)) for program in programs]
    else:
        digests = [digest(program.ptx) for program in programs]
    return digest_text(" ".join(digests).encode()) if all(digests) else ""


def _options(case: Case, programs: Sequence[Program]) -> tuple[str, ...]:
    """The options of the compiled source, or of all that are compiled: a `.ptx` has none."""
    given = dict.fromkeys(program.options for program in programs if program.options)
    return next(iter(given), ()) if programs else case.source.options


def manifest_entry(dump: Dump, revision: str) -> ManifestEntry:
    """Return the manifest's entry of a dump."""
    return ManifestEntry(revision, dump.dtype, dump.shape, dump.digest, dump.text_digest)


def _without_folders(options: Sequence[str]) -> tuple[str, ...]:
    """Drop the options that name folders of this machine: the source's digest stands for their contents."""
    kept, skip = [], False
    for option in options:
        is_folder = skip or re.match(r"(-I|-isystem|--include-path|--pre-include|-include)", option) is not None
        skip = not skip and option in ("-I", "-isystem", "--include-path", "--pre-include", "-include")
        if not is_folder and not re.search(r"(^|=)/", option):
            kept.append(option)
    return tuple(kept)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


_SAYS_NOTHING = re.compile(rb"^[ \t]*(?:\.loc\b|\.file\b|//)[^\n]*\n|[ \t]*//[^\n]*", re.MULTILINE)
_SECTION = re.compile(rb"^[ \t]*\.section\b[^{]*\{[^}]*\}", re.MULTILINE)


@functools.lru_cache(maxsize=256)
def digest(path: str) -> str:
    """A digest of a cubin's or a PTX file's code; "" where the file is gone or cannot be read.

    Args:
        path: absolute; what is there never changes, for compiled programs are found by content.
    """
    if not path:
        return ""
    try:
        data = Path(path).read_bytes()
        if path.endswith(".cubin"):
            return digest_of([part for named in cubin.code_sections(data) for part in named])
    except (OSError, ValueError):
        return ""
    return digest_of([_SECTION.sub(b"", _SAYS_NOTHING.sub(b"", data))])


def cubin_of(program: Program) -> str:
    """The path of the cubin that a GPU ran, "" where it is not known.

    A worker assembles what its device needs, so the program of a first run names no cubin, and the next one does.
    """
    try:
        return build_cubin(program).cubin
    except GpuregressError:
        return ""

"""References that the cases of one run share, each computed by the first worker that needs it.

    FOLDER/KEY/seen/DIGEST.json       names of facts of a case that a computation looked at
    FOLDER/KEY/results/DIGEST.json    a result, by the values of such facts
    FOLDER/KEY/lock-DIGEST            held (flock) while a result is computed

The key stands for all that decides a result before it is computed: compiled code, launches, the bytes of the inputs. A
user function gets its case, too. The facts that it looked at are known only afterwards, so they select one of the
results of a key. The folder belongs to one run and is removed with its end.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import field

from gpuregress.foundation import storage, usermodules
from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import Buffer, Case, DeviceInfo, Dump, Launch, Program, to_json, to_plain
from gpuregress.gpu.records import Record, replace
from gpuregress.toolchain import kernel_text

# Read set of a user function: the facts of its case that it looked at.
# A result of the function holds for every case in which these facts are the same. The case that the function is
# given notes each field that is read, and each parameter apart. What reads all parameters (a loop, a copy, their
# number) is noted as that.
_PARAMETERS = "parameters"


def watched(case: Case, note: Callable[[str], None]) -> Case:
    """A stand-in for a case that notes what is read of it: the name of a field, or `parameters.NAME`.

    Args:
        note: receives each fact, as often as it is read.
    """
    return cast("Case", _WatchedCase(case, note))


def facts(case: Case, names: Iterable[str]) -> str:
    """Digest of the values that a case has for these facts."""
    values = [[name, _value(case, name)] for name in sorted(names)]
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _value(case: Case, name: str) -> Any:
    field, _, parameter = name.partition(".")
    if not parameter:
        return to_json(getattr(case, field))
    return [case.parameters[parameter]] if parameter in case.parameters else []


class _WatchedCase:
    """A stand-in for a case that notes which of its fields are read.

    It is no `Case` itself, because msgspec copies a structure without asking its attributes.
    """

    __slots__ = ("_case", "_note", "_parameters")

    def __init__(self, case: Case, note: Callable[[str], None]) -> None:
        self._case = case
        self._note = note
        self._parameters = _WatchedParameters(case.parameters, note)

    @property  # type: ignore[misc] # an instance of Case for `isinstance`
    def __class__(self) -> type[Case]:  # type: ignore[override]
        return Case

    def __getattr__(self, name: str) -> Any:
        if name == _PARAMETERS:
            return self._parameters
        if name in Case.__struct_fields__:
            self._note(name)
            return getattr(self._case, name)
        attribute = getattr(Case, name)
        if isinstance(attribute, property):
            return attribute.__get__(self)
        return getattr(self._whole(), name)

    def _whole(self) -> Case:
        """The case, all of whose fields may be read."""
        for name in Case.__struct_fields__:
            self._note(name)
        return self._case

    def __eq__(self, other: object) -> bool:
        return self._whole() == other

    def __hash__(self) -> int:
        return hash(self._whole())

    def __repr__(self) -> str:
        return repr(self._whole())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return replace, (self._whole(),)


class _WatchedParameters(dict[str, Any]):
    """Parameters that note which of them are read."""

    def __init__(self, values: Mapping[str, Any], note: Callable[[str], None]) -> None:
        super().__init__(values)
        self.note = note

    def __reduce_ex__(self, protocol: Any) -> Any:
        self.note(_PARAMETERS)
        return dict, (dict(dict.items(self)),)


def _noting(name: str, *, reads_one: bool) -> Callable[..., Any]:
    """A method of a dictionary that notes the parameter of its first argument, or that it reads all of them."""
    method = getattr(dict, name)

    def noting(parameters: _WatchedParameters, *arguments: Any) -> Any:
        parameters.note(f"{_PARAMETERS}.{arguments[0]}" if reads_one else _PARAMETERS)
        return method(parameters, *arguments)

    return noting


_OF_ONE = ("__contains__", "__getitem__", "get")
_OF_ALL = (
    *("__eq__", "__iter__", "__len__", "__ne__", "__or__", "__repr__", "__reversed__", "__ror__"),
    *("copy", "items", "keys", "pop", "popitem", "setdefault", "values"),
)
for _name in (*_OF_ONE, *_OF_ALL):
    setattr(_WatchedParameters, _name, _noting(_name, reads_one=_name in _OF_ONE))
# Error messages of the user's function have these names.
_WatchedCase.__name__ = Case.__name__
_WatchedParameters.__name__ = dict.__name__


PATIENCE_S = 600.0
"""Seconds to wait for another worker; then the reference is computed here."""
_POLL_S = 0.02


class SharedResult(Record):
    """A reference that was computed.

    Attributes:
        rounded: buffer → its dump.
        unrounded: buffer → the same in float64, where rounding changed a value.
        errors: buffer → why there is no reference.
        seen: the facts of the case that decided it, beside the key.
        files: file of the user's code → its stamp; see `usermodules.stamp`.
        is_final: whether another case may take it.
    """

    rounded: Mapping[str, Dump] = field(default_factory=dict)
    unrounded: Mapping[str, Dump] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    seen: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    is_final: bool = True


class SharedReferences(Record):
    """The references of a run.

    Attributes:
        waiting: is called before a wait for another worker.
    """

    folder: Path
    waiting: Callable[[], None]

    def once(self, key: str, case: Case, compute: Callable[[], SharedResult]) -> tuple[SharedResult, bool]:
        """Take a result of another case, or compute and keep it.

        Args:
            key: from `kernels_key` or `function_key`.
            compute: called unless another case has a result that holds for this one.

        Returns:
            The result, and whether it was computed here.
        """
        folder, deadline = self.folder / key, time.monotonic() + PATIENCE_S
        while True:
            seen = _seen(folder)
            known = _result(folder, seen, case)
            if known is not None:
                return known, False
            with self._held(folder / f"lock-{_digest(seen, case)}", deadline):
                if _seen(folder) == seen:  # else another lock is that of this case
                    known = _result(folder, seen, case)
                    if known is not None:
                        return known, False
                    return _kept(folder, case, compute()), True

    @contextlib.contextmanager
    def _held(self, path: Path, deadline: float) -> Iterator[None]:
        """Hold a lock, or go on without it where the file system has none or the wait was long."""
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
                stack.callback(os.close, descriptor)
                self._acquire(descriptor, deadline)
                # A process that user code forked has the descriptor, too, and would keep the lock.
                stack.callback(fcntl.flock, descriptor, fcntl.LOCK_UN)
            yield

    def _acquire(self, descriptor: int, deadline: float) -> None:
        is_waiting = False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not is_waiting:
                    self.waiting()
                is_waiting = True
                if time.monotonic() > deadline:
                    return
                time.sleep(_POLL_S)
            else:
                return


def kernels_key(
    names: Sequence[str],
    program: Program,
    launches: Sequence[Launch],
    buffers: Sequence[Buffer],
    inputs: Mapping[str, str],
    device: DeviceInfo,
) -> str:
    """Digest of all that decides what trusted kernels store.

    Args:
        names: the buffers that are read then, and what they are compared with.
        program: their compiled source.
        buffers: those that the launches can reach.
        inputs: filled buffer → digest of its bytes.
        device: where they run.

    Raises:
        StorageError: the compiled source cannot be read.
    """
    entries = {launch.kernel: program.entries[launch.kernel].mangled for launch in launches}
    code = _code(program, entries.values())
    plain = [{**to_json(buffer), "fill": inputs.get(buffer.name)} for buffer in buffers]
    symbols = dict(program.symbols)
    on = [device.name.partition(":")[0], device.model, device.arch, device.driver]
    return _sha256(["kernels", names, code, program.arch, program.card, entries, symbols, to_json(launches), plain, on])


def _code(program: Program, kernels: Collection[str]) -> str:
    """Digest of the code of some kernels and of all that they can call."""
    data = b""
    if program.ptx or program.cubin:
        data = storage.read_bytes(Path(program.ptx or program.cubin))
    if program.ptx:
        data = kernel_text.of_kernels(data.decode(errors="surrogateescape"), kernels).encode(errors="surrogateescape")
    return hashlib.sha256(data).hexdigest()


def function_key(
    function: str, buffer: Buffer, buffers: Mapping[str, Buffer], inputs: Mapping[str, str], *, verified: bool = False
) -> str:
    """Digest of all that decides the result of a user function, but for its code and its case.

    Args:
        function: `/abs/module.py:name`.
        buffer: whose reference it computes.
        inputs: filled buffer → digest of its bytes, in the order in which the function gets them.
        verified: a `verify` function takes a result of any shape and dtype.
    """
    given = [[name, digest, buffers[name].dtype, buffers[name].shape] for name, digest in inputs.items()]
    return _sha256(["function", function, buffer.name, buffer.dtype, buffer.shape, given, verified])


def _sha256(values: Any) -> str:
    return hashlib.sha256(json.dumps(to_plain(values), sort_keys=True).encode()).hexdigest()


# --- files ------------------------------------------------------------------------------------------------------------


def _seen(folder: Path) -> tuple[tuple[str, ...], ...]:
    """The sets of facts that computations of a key looked at."""
    with contextlib.suppress(OSError):
        names = sorted(entry.name for entry in os.scandir(folder / "seen") if entry.name.endswith(".json"))
        sets = [_json(folder / "seen" / name) for name in names]
        return tuple(tuple(facts) for facts in sets if isinstance(facts, list))
    return ()


def _result(folder: Path, seen: Sequence[Sequence[str]], case: Case) -> SharedResult | None:
    """A result that holds for a case; None without one."""
    for names in seen:
        result = _read(folder / "results" / f"{_digest([names], case)}.json")
        if result is None or not (result.rounded or result.errors):
            continue
        if all(usermodules.stamp(file) == stamp for file, stamp in result.files.items()):
            return result
    return None


def _read(path: Path) -> SharedResult | None:
    """A result as it was written; a damaged one is computed again."""
    with contextlib.suppress(StorageError):
        return storage.read_record(path, SharedResult, "")
    return None


def _kept(folder: Path, case: Case, result: SharedResult) -> SharedResult:
    """Keep a result for further cases; a disk that refuses costs no more than its computation there."""
    if result.is_final:
        with contextlib.suppress(StorageError):
            path = folder / "results" / f"{_digest([result.seen], case)}.json"
            storage.write_record(path, result, durable=False)
            path = folder / "seen" / f"{_sha256(result.seen)}.json"
            if not path.exists():
                storage.write_atomic(path, json.dumps(result.seen).encode(), durable=False)
    return result


def _digest(seen: Sequence[Sequence[str]], case: Case) -> str:
    return facts(case, {name for names in seen for name in names})


def _json(path: Path) -> Any:
    with contextlib.suppress(OSError, ValueError):
        return json.loads(path.read_bytes())
    return None

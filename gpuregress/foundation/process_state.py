"""State of this process that code of a user may change: put back when the code returns.

Attributes of numpy, `math` and Python's builtins that the code replaced are that code's own: they are put back for
everybody else, and are there again when it is called the next time.
"""

from __future__ import annotations

import contextlib
import gc
import operator
import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from gpuregress.foundation.numeric import float_environment

Patches = dict[tuple[str, str], Any]
"""Module and attribute → the value that code of a user gave it."""

_LIMITS = tuple(sorted({getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")}))
_REMOVED = object()
LEFT_CHANGED: list[str] = []


class StateNotRestored(Exception):
    """Code of a user changed what nobody can put back; the message says what."""


def left_changed() -> bool:
    """Whether a call left something that may have reached other code meanwhile: this process should serve no other."""
    return bool(LEFT_CHANGED)


@contextlib.contextmanager
def restored(patches: Patches) -> Iterator[None]:
    """Run code of a user: the process has its present state again when the block ends.

    Args:
        patches: attributes that this code replaced before; updated.

    Raises:
        StateNotRestored: a limit cannot be raised again.
    """
    path, finders, hooks = list(sys.path), list(sys.meta_path), list(sys.path_hooks)
    folder, environment = _working_folder(), dict(os.environ)
    streams, writes = (sys.stdout, sys.stderr, sys.stdin), sys.dont_write_bytecode
    recursion, collects = sys.getrecursionlimit(), gc.isenabled()
    umask, limits = _umask(), {number: resource.getrlimit(number) for number in _LIMITS}
    is_main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()} if is_main else {}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    attributes = _attributes()
    _patch(attributes, patches)
    try:
        with float_environment.default():
            yield
    finally:
        sys.path[:], sys.meta_path[:], sys.path_hooks[:] = path, finders, hooks
        sys.stdout, sys.stderr, sys.stdin = streams
        sys.dont_write_bytecode = writes
        sys.setrecursionlimit(recursion)
        (gc.enable if collects else gc.disable)()
        if dict(os.environ) != environment:
            os.environ.clear()
            os.environ.update(environment)
        if folder is not None and _working_folder() != folder:
            with contextlib.suppress(OSError):
                os.chdir(folder)
        if os.umask(umask) != umask:
            LEFT_CHANGED.append("umask")
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        _restore_handlers(handlers)
        patches.clear()
        patches.update(_replaced(attributes))
        _restore_attributes(attributes, patches)
        _restore_limits(limits)


def _umask() -> int:
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _working_folder() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:  # it was removed
        return None


def _restore_handlers(handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        if handler is not None and signal.getsignal(number) != handler:
            signal.signal(number, handler)
            LEFT_CHANGED.append("a signal handler")
    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF) if handlers else ():
        signal.setitimer(timer, 0)


def _restore_limits(limits: Mapping[int, tuple[int, int]]) -> None:
    changed = {number: limit for number, limit in limits.items() if resource.getrlimit(number) != limit}
    for number, limit in changed.items():
        LEFT_CHANGED.append("a limit")
        try:
            resource.setrlimit(number, limit)
        except (OSError, ValueError):
            names = (name for name in dir(resource) if name.startswith("RLIMIT_") and getattr(resource, name) == number)
            raise StateNotRestored(f"it lowered {next(names)}, which cannot be raised again") from None


# --- attributes of modules --------------------------------------------------------------------------------------------

_Attributes = dict[str, tuple[ModuleType, dict[str, Any]]]
"""Name → a module, and its attributes."""


def _attributes() -> _Attributes:
    """The attributes of the modules in which this package's computations look their functions up."""
    return {
        name: (module, dict(vars(module)))
        for name, module in list(sys.modules.items())
        if (name.partition(".")[0] == "numpy" and "._" not in name) or name in ("builtins", "math")
    }


def _patch(attributes: _Attributes, patches: Patches) -> None:
    for (name, attribute), value in patches.items():
        if name in attributes:
            _set(attributes[name][0], attribute, value)


def _replaced(before: _Attributes) -> Patches:
    """The attributes that have another value now, with it. New ones are left: nobody else looks for them."""
    replaced: Patches = {}
    for name, (module, attributes) in before.items():
        now = vars(module)
        if all(map(operator.is_, attributes.values(), map(now.get, attributes))):
            continue
        for attribute, value in attributes.items():
            if now.get(attribute, _REMOVED) is not value:
                replaced[name, attribute] = now.get(attribute, _REMOVED)
    return replaced


def _restore_attributes(before: _Attributes, patches: Patches) -> None:
    for name, attribute in patches:
        module, attributes = before[name]
        _set(module, attribute, attributes[attribute])
        LEFT_CHANGED.append(f"{name}.{attribute}")


def _set(module: ModuleType, attribute: str, value: Any) -> None:
    if value is _REMOVED:
        vars(module).pop(attribute, None)
    else:
        setattr(module, attribute, value)

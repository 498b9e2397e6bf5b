"""The host's C compiler: shared libraries that are built once and kept in the cache."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import HarnessError
from gpuregress.toolchain import cache

OPTIONS = ("-O2", "-std=gnu11", "-shared", "-fPIC", "-fvisibility=hidden", "-w")
_COMPILERS = ("cc", "gcc", "clang")
_SECONDS = 120


def shared_library(name: str, folder: Path, options: Iterable[str] = (), libraries: Iterable[str] = ()) -> Path:
    """Return the library that the C files of a folder make, compiled if the cache does not have it.

    Args:
        name: what it is, for messages and the cache: `injection library`.
        folder: of the sources; its headers are part of the key.
        options: of the compiler, after `OPTIONS`.
        libraries: that it is linked with: `-ldl`.

    Raises:
        HarnessError: there is no compiler, or it fails.
        StorageError: the cache cannot be written.
    """
    compiler = _find_compiler(name)
    sources = sorted(folder.glob("*.c"))
    texts = [storage.read_bytes(path) for path in (*sources, *sorted(folder.glob("*.h")))]
    command = [*compiler, *OPTIONS, *options, *map(str, sources), *libraries]
    key = cache.digest((name, *compiler, _identity(compiler[0]), *OPTIONS, *options, *libraries, *texts))
    if cache.load(key) is None:
        with cache.making(key):
            if cache.load(key) is None:
                cache.store(key, {"compiler": _version(compiler)}, {".so": _compile(name, command)})
    return cache.file_path(key, ".so")


def _find_compiler(name: str) -> list[str]:
    named = shlex.split(os.environ.get("CC", ""))
    if named and shutil.which(named[0]):
        return named
    found = next((compiler for compiler in _COMPILERS if shutil.which(compiler)), None)
    if found is None:
        raise HarnessError(
            f"there is no C compiler ({', '.join(_COMPILERS)}) to build the {name} with: "
            "install gcc, or name a compiler in the variable CC"
        )
    return [found]


def _identity(compiler: str) -> str:
    """Tell a compiler from a later one in its place by its file; to ask it for its version takes longer."""
    found = shutil.which(compiler)
    if found is None:
        return ""
    file = Path(found).resolve()
    facts = file.stat()
    return f"{file} {facts.st_size} {facts.st_mtime_ns}"


def _version(compiler: list[str]) -> str:
    try:
        done = subprocess.run([*compiler, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise HarnessError(f"the C compiler {compiler[0]} cannot be started: {error}") from error
    return done.stdout.partition("\n")[0]


def _compile(name: str, command: list[str]) -> bytes:
    with storage.scratch() as folder:
        target = folder / "library.so"
        try:
            done = subprocess.run(
                [*command, "-o", str(target)], capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise HarnessError(f"the C compiler {command[0]} cannot be started: {error}") from error
        if done.returncode or not target.exists():
            lines = (done.stderr or done.stdout).strip().splitlines() or ["it says nothing"]
            reason = next((line for line in lines if "error" in line), lines[0])
            raise HarnessError(f"{command[0]} cannot build the {name}: {reason}")
        return target.read_bytes()

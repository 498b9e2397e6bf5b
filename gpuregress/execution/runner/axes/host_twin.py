"""Run of a function under test on the host, in a process of its own that is watched."""

from __future__ import annotations

import resource
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import field

from gpuregress.execution.runner.poison import POISON, poison
from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import HarnessError
from gpuregress.foundation.interrupts import FROM_OUTSIDE
from gpuregress.foundation.records import Case
from gpuregress.gpu.records import Record
from gpuregress.toolchain.functions import host
from gpuregress.toolchain.functions.host import HostCompiler

Array = npt.NDArray[np.generic]
PLAIN = ("-ffp-contract=off",)
"""Each operation rounds once, as C++ says."""


class HostFailed(Exception):
    """The host's program crashed or did not end in time; the message says which."""


class HostTwin(Record):
    """The host's version of a case's function.

    Attributes:
        case: with a function that has a host text.
        compiler: of the host.
        scratch: a folder for programs and buffers.
        filled: filled buffer → its contents.
    """

    case: Case
    compiler: HostCompiler
    scratch: Path
    filled: Mapping[str, Array] = field(default_factory=dict)

    def results(self, flags: Sequence[str] = PLAIN) -> dict[str, Array]:
        """Compile and run the function, and return each dumped buffer.

        Args:
            flags: of the host's compiler.

        Raises:
            HostFailed: it crashed, or did not end within the case's limit.
            CompileError: the compiler refuses it.
            HarnessError: the compiler or the program cannot be run.
        """
        call = self.case.function
        assert call is not None
        program = host.build(self.case.source, call.host, self.compiler, flags, self.scratch)
        files: dict[str, Path] = {}
        words = [str(program), str(call.calls), self._file(call.result, files) if call.result else "-"]
        for one in call.arguments:
            is_buffer = one.given == "buffer"
            words.append(self._file(one.name, files) if is_buffer else repr(self.case.parameters[one.name]))
        self._run(words)
        return {name: self._read(name, files) for name in self.case.dump}

    def _file(self, name: str, files: dict[str, Path]) -> str:
        """Write a buffer's contents before the calls to a file, and return its path."""
        path = files[name] = self.scratch / f"buffer-{len(files)}"
        filled = self.filled.get(name)
        data = poison(self.case.buffers[name].size, POISON) if filled is None else np.ascontiguousarray(filled)
        path.write_bytes(data.tobytes())
        return str(path)

    def _read(self, name: str, files: Mapping[str, Path]) -> Array:
        buffer = self.case.buffers[name]
        if name not in files:  # the function does not take it
            filled = self.filled.get(name)
            data = poison(buffer.size, POISON) if filled is None else np.ascontiguousarray(filled)
        else:
            data = np.fromfile(files[name], np.uint8)
        return data.reshape(-1).view(dtypes.parse(buffer.dtype).storage).reshape(buffer.shape)

    def _run(self, words: Sequence[str]) -> None:
        limit = self.case.limits.timeout
        try:
            ran = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=limit,
                check=False,
                cwd=self.scratch,
                preexec_fn=_without_core,
            )
        except subprocess.TimeoutExpired as error:
            raise HostFailed(f"did not end within its limit of {limit:g} s") from error
        except OSError as error:
            raise HarnessError(f"the host's program cannot be run: {error.strerror}") from error
        if -ran.returncode in FROM_OUTSIDE:
            name = signal.Signals(-ran.returncode).name
            raise HarnessError(f"the host's program died of {name}: {FROM_OUTSIDE[-ran.returncode]}")
        if ran.returncode < 0:
            raise HostFailed(f"crashed with {signal.Signals(-ran.returncode).name}{_last_line(ran.stderr)}")
        if ran.returncode > 0:
            raise HostFailed(f"ended with exit code {ran.returncode}{_last_line(ran.stderr)}")


def _without_core() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _last_line(said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    return f": {lines[-1][:200]}" if lines else ""

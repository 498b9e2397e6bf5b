"""Child processes forked from an interpreter that has their libraries loaded.

Starting Python and importing numpy takes longer than most cases of the tests. The server is a process with one thread.
What it forks becomes a child of the test's own process, so that process groups, signals, exit statuses and death with
the parent are those of a process started the usual way. Linux only.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import functools
import gc
import importlib
import json
import os
import pkgutil
import platform
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import _pytest.config
import pytest

from gpuregress.execution.workers import worker_spawn

ROOT = Path(__file__).parents[1]
PYTEST_OPTIONS = ("-p", "no:hypothesispytest", "-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning")
"""Of a pytest that is forked: no Hypothesis for one line of the summary; its plugins are imported already."""
KERNEL = 'extern "C" __global__ void k(float *out, int n) { if (threadIdx.x < n) out[threadIdx.x] = 1.0f; }'
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_TID_ADDRESS = 40
_SYS_CLONE = 56  # of x86-64
_CLONE_FLAGS = 0x8000 | 0x200000 | 0x1000000 | signal.SIGCHLD  # PARENT, CHILD_CLEARTID, CHILD_SETTID
_LARGEST = 1 << 17
_LIBRARY_PATH = os.environ.get("LD_LIBRARY_PATH", "")
"""Before a test put a driver of its own there, under which NVRTC may crash."""


def use(patch: pytest.MonkeyPatch) -> None:
    """Start all processes of workers and compilers in this way from now on."""
    if sys.platform == "linux":
        patch.setattr(worker_spawn, "_spawn", functools.partial(_spawn, worker_spawn._spawn))


def _spawn(
    original: Callable[..., Any],
    arguments: Sequence[str],
    output: int,
    passed: tuple[int, ...],
    environment: Mapping[str, str],
) -> Any:
    """Stand in for the start of a worker."""
    if _is_module(arguments):
        return Forked(arguments, output, passed, environment)
    return original(arguments, output, passed, environment)


def _is_module(arguments: Sequence[str]) -> bool:
    return arguments[0] == sys.executable and "-m" in arguments[1:3]


class Forked:
    """A process with the part of `subprocess.Popen` that workers use."""

    def __init__(self, arguments: Sequence[str], output: int, passed: tuple[int, ...], env: Mapping[str, str]) -> None:
        self.returncode: int | None = None
        self._lock = threading.Lock()
        request = {"arguments": arguments, "env": dict(env), "cwd": str(Path.cwd())}
        self.pid = _fork(request, {1: output, 2: output, **{number: number for number in passed}})

    def poll(self) -> int | None:
        with self._lock:
            if self.returncode is None:
                ended, status = os.waitpid(self.pid, os.WNOHANG)
                self.returncode = os.waitstatus_to_exitcode(status) if ended else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Raises `subprocess.TimeoutExpired`, as the original does."""
        end = time.monotonic() + (60.0 if timeout is None else timeout)
        while (code := self.poll()) is None:
            left = end - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 60.0)
            with contextlib.suppress(ProcessLookupError), contextlib.closing(_Pidfd(self.pid)) as ended:
                select.select([ended], [], [], left)
        return code


class Program(subprocess.Popen[str]):
    """`python -m MODULE ...` or `python FILE ...`; it starts its own workers and compilers in this way, too."""

    def _execute_child(self, *given: Any) -> None:
        """Does in place of fork and exec what the original does."""
        arguments, _, _, _, _, cwd, env, _, _, _, stdin, _, _, stdout, _, stderr, *_ = given
        if sys.platform != "linux":
            super()._execute_child(*given)  # type: ignore[misc]
            return
        request = {"arguments": arguments, "env": dict(os.environ if env is None else env), "program": True}
        streams = {number: stream for number, stream in enumerate((stdin, stdout, stderr)) if stream != -1}
        self.pid = _fork({**request, "cwd": str(cwd or Path.cwd())}, {1: 1, 2: 2, **streams})
        self._child_created = True
        self._close_pipe_fds(*given[10:16])  # type: ignore[attr-defined]


def run(arguments: Sequence[str], cwd: Path, env: Mapping[str, str], timeout_s: float) -> tuple[int, str, str]:
    """Run `python` with these arguments; its exit code, stdout and stderr.

    Raises:
        subprocess.TimeoutExpired: it took longer; it is killed.
    """
    pipe = subprocess.PIPE
    with Program([sys.executable, *arguments], cwd=cwd, env=env, stdout=pipe, stderr=pipe, text=True) as program:
        try:
            printed, errors = program.communicate(timeout=timeout_s)
        except BaseException:
            program.kill()
            raise
    return program.returncode, printed, errors


_turn = threading.Lock()


def _fork(request: dict[str, Any], streams: Mapping[int, int]) -> int:
    """Ask the server for a process; its id.

    Args:
        request: what it is to be.
        streams: its file descriptors -> those of this process.
    """
    request = {**request, "parent": os.getpid(), "streams": list(streams)}
    libc = ctypes.CDLL(None)
    with _turn:
        server = _server()
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
        try:
            socket.send_fds(server, [json.dumps(request).encode()], list(streams.values()))
            return int(server.recv(_LARGEST))
        finally:
            libc.prctl(_PR_SET_CHILD_SUBREAPER, 0)


class _Pidfd:
    def __init__(self, pid: int) -> None:
        self._descriptor = os.pidfd_open(pid)

    def fileno(self) -> int:
        return self._descriptor

    def close(self) -> None:
        os.close(self._descriptor)


_own_server: list[socket.socket] = []
"""In a program that was forked: the copy of the server that is its child."""


@functools.cache
def _server() -> socket.socket:
    """Start the server of this process; it ends when this process does."""
    if _own_server:
        return _own_server[0]
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    paths = (str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")]))
    own = {
        "PYTHONPATH": os.pathsep.join(paths),
        "LD_LIBRARY_PATH": _LIBRARY_PATH,
        "OPENBLAS_NUM_THREADS": "1",
    }
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-P", __file__, str(theirs.fileno())],
            cwd=ROOT,
            env={**os.environ, **own},
            stdin=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
        )
    atexit.register(server.wait)
    atexit.register(ours.close)
    return ours


def _serve(requests: socket.socket) -> Callable[[], object]:
    """Fork a process for each request; return in that process what it is to execute."""
    assert threading.active_count() == 1 == len(list(Path("/proc/self/task").iterdir()))
    while True:
        data, descriptors, _, _ = socket.recv_fds(requests, _LARGEST, 8)
        if not data:
            os._exit(0)
        if _fork_for_parent():
            break
        for descriptor in descriptors:
            os.close(descriptor)
    return _become(json.loads(data), descriptors, requests)


def _fork_for_parent() -> bool:
    """Fork a child of this process's parent; whether this is the new process.

    CLONE_PARENT does so with one fork, which takes 7 ms, most of it for page tables. `os.fork` has no flags, so the
    rest of what it does is done here. Where the system refuses the flag, a child forks and ends, and the test's
    process takes what it leaves (as a "subreaper").
    """  # fmt: skip
    if platform.machine() == "x86_64":
        api, address = ctypes.PyDLL(None), ctypes.c_void_p()
        api.prctl(_PR_GET_TID_ADDRESS, ctypes.byref(address))  # where the C library keeps the number of this thread
        api.PyOS_BeforeFork()
        number: int = api.syscall(ctypes.c_long(_SYS_CLONE), ctypes.c_long(_CLONE_FLAGS), None, None, address, None)
        if number == 0:
            api.PyOS_AfterFork_Child()
            return True
        api.PyOS_AfterFork_Parent()
        if number > 0:
            return False
    if os.fork() == 0:
        first = os.getpid()
        if os.fork() == 0:
            _wait_for_end(first)
            return True
        os._exit(0)
    os.wait()
    return False


def _wait_for_end(process: int) -> None:
    """Wait for the end of a process that is no child of this one. Polling would take some milliseconds."""
    with contextlib.suppress(ProcessLookupError), contextlib.closing(_Pidfd(process)) as ended:
        select.select([ended], [], [])


def _load_libraries() -> None:
    """Import what the processes need."""
    import numpy.ma  # noqa: PLC0415 - all of these are for the server only
    import numpy.random  # noqa: F401, PLC0415
    import tree_sitter_cuda  # noqa: F401, PLC0415
    from cuda.bindings import nvrtc  # noqa: F401, PLC0415

    from gpuregress.execution.runner import execution  # noqa: F401, PLC0415
    from gpuregress.jobs import plan  # noqa: F401, PLC0415
    from gpuregress.jobs.inputs import fills  # noqa: F401, PLC0415
    from gpuregress.judge.compare import comparators, user_functions  # noqa: F401, PLC0415
    from gpuregress.session import session  # noqa: F401, PLC0415
    from gpuregress.store.dumps import parse, reader  # noqa: F401, PLC0415
    from gpuregress.toolchain.host_code import unit  # noqa: F401, PLC0415
    from gpuregress.virtual_gpu import device, isa  # noqa: F401, PLC0415
    from gpuregress.virtual_gpu.compilation import translate  # noqa: F401, PLC0415
    from tests import fakes  # noqa: F401, PLC0415

    _pytest.config.get_config()  # imports its own plugins, and none of others
    for module in pkgutil.walk_packages(isa.__path__, f"{isa.__name__}."):
        importlib.import_module(module.name)
    _load_a_program()
    gc.collect()
    gc.freeze()


def _load_a_program() -> None:
    """Compile a kernel and load it. The first time, compilers bind their symbols and digest our code, half of the
    processor time of a process that does it once.
    """  # fmt: skip
    from gpuregress.foundation.records import Source  # noqa: PLC0415 - as above
    from gpuregress.toolchain import cache, programs  # noqa: PLC0415 - as above
    from gpuregress.virtual_gpu.device import CpuDevice  # noqa: PLC0415 - as above

    with tempfile.TemporaryDirectory() as folder, cache.used_folder(Path(folder)), CpuDevice(cache) as device:
        path = Path(folder, "k.cu")
        path.write_text(KERNEL)
        device.load(programs.compile(Source(str(path), kernels=("k",))), 1)
    tempfile.tempdir = None  # each process asks its own environment


def _become(request: dict[str, Any], descriptors: list[int], requests: socket.socket) -> Callable[[], object]:
    """Turn this copy of the server into the process that was asked for."""
    assert os.getppid() == request["parent"]
    requests.send(str(os.getpid()).encode())
    requests.close()
    moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 1 << 9) for descriptor in descriptors]
    os.closerange(3, 1 << 9)
    for source, target in zip(moved, request["streams"], strict=True):
        os.dup2(source, target)
    os.closerange(1 << 9, (1 << 9) + len(moved))
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    _, *options = request["arguments"]
    if request.get("program"):
        first = str(Path.cwd()) if options[0] == "-m" else str(Path(options[0]).resolve().parent)
        sys.path[:] = [first, *paths, *(path for path in sys.path if path != str(ROOT))]
        nested = _fork_server()
        if nested is not None:
            return nested
        use(pytest.MonkeyPatch())
    else:
        os.setsid()
        sys.path[1:1] = paths
    if "-m" not in options:
        path, *sys.argv[1:] = options
        return functools.partial(runpy.run_path, path, run_name="__main__")
    module: str
    module, *sys.argv[1:] = options[options.index("-m") + 1 :]
    return functools.partial(runpy.run_module, module, run_name="__main__", alter_sys=True)


def _fork_server() -> Callable[[], object] | None:
    """Fork a server for the workers of this program; in one of them, return what it is to execute."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork():
        theirs.close()
        _own_server.append(ours)
        return None
    ours.close()
    with Path(os.devnull).open("r+b") as nowhere:
        for stream in range(3):  # a reader of the program's output waits for the program alone
            os.dup2(nowhere.fileno(), stream)
    return _serve(theirs)


def _execute(program: Callable[[], object]) -> None:
    """Execute a program, and end without dismantling its interpreter, which takes 60 ms of processor time.

    Every error takes Python's own way, and so does an exit code that is a text.
    """
    code = 0
    try:
        program()
    except SystemExit as leaving:
        if isinstance(leaving.code, str):
            raise
        code = leaving.code or 0
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _load_libraries()
    _execute(_serve(socket.socket(fileno=int(sys.argv[1]))))

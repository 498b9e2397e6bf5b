"""What every test starts from."""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import functools
import gc
import importlib
import os
import signal
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook
from hypothesis import HealthCheck, settings

from gpuregress.execution import device_registry as registry
from gpuregress.execution.workers import worker_spawn
from gpuregress.session.run_request import Machinery
from gpuregress.store.project import Project
from gpuregress.store.settings import RetentionSpec, SettingsSpec
from gpuregress.toolchain.cache import STAND_INS
from tests import preloaded, workshop
from tests.session.bench import Bench

# No test may fail because the machine is busy, and each example may have the folder of the test for its own.
# A property that does not hold mostly fails within a few examples, and every run draws others: 40 instead of 100.
settings.register_profile(
    "unhurried",
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("unhurried")

ROOT = Path(__file__).parents[1]

DEADLINE_S = 600
"""Ten times what the slowest test takes on a busy machine."""


def pytest_configure(config: pytest.Config) -> None:
    """Collect garbage as seldom as `gpuregress` does, and rewrite assertions of tests only. pytest would rewrite those
    of all modules of its plugins, gpuregress among them: twice the time to compile them, and byte code that no other
    process uses.
    """  # fmt: skip
    gc.set_threshold(worker_spawn.COLLECT_EVERY)
    if "PYTEST_XDIST_WORKER" in os.environ:
        atexit.register(os._exit, 0)  # taking the interpreter apart takes a second or more
    else:
        atexit.register(gc.unfreeze)  # the interpreter frees the tests as it ends, which extension modules expect
    hook = config.pluginmanager.rewrite_hook
    if isinstance(hook, AssertionRewritingHook):
        hook._must_rewrite.discard("gpuregress")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Before all tests are collected, let each process of xdist import a part of the modules that the others do not.
    Rewriting their assertions takes longer than all else of a collection, and its result is kept as byte code.
    """  # fmt: skip
    number, count = (os.environ.get(f"PYTEST_XDIST_{name}", "") for name in ("WORKER", "WORKER_COUNT"))
    if not number or session.config.args != session.config.getini("testpaths"):
        return
    modules = sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py"))
    for path in modules[int(number.removeprefix("gw")) :: int(count)]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # the collection tells what is wrong
            importlib.import_module(".".join(path.with_suffix("").parts))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Never walk through the collected tests, which stay."""
    gc.freeze()


def pytest_unconfigure() -> None:
    """Stop the timer of `_postpone_end_of_process`."""
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="session", autouse=True)
def _default_signals() -> Iterator[None]:
    """Restore the signals that a shell or `nohup` ignores for its jobs: child processes inherit that, and tests that
    interrupt them would wait for ever.
    """  # fmt: skip
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)}
    for number in before:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One cache for all processes of the session, unless one was carried here with programs built elsewhere."""
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    os.environ.setdefault("GPUREGRESS_CACHE", str(folder / "cache"))


@pytest.fixture(scope="module")
def without_llvm_passes() -> Iterator[None]:
    """Leave LLVM's passes out of compilations in this process: they take half of the time, and are not ours. The bits
    are the same. Conformance tests, and all that start workers, run with them.
    """  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpuregress.virtual_gpu.runtime.llvm_backend.OPTIMISATION", 0)
        yield


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A project whose cases run on the fake device."""
    (tmp_path / "configs").mkdir()
    configs, baselines, runs = (tmp_path / name for name in ("configs", "baselines", "runs"))
    return Bench(Project(tmp_path, configs, baselines, runs, SettingsSpec(retention=RetentionSpec(runs=3))))


@functools.lru_cache(maxsize=1)
def _postpone_end_of_process(_minute: int) -> None:
    """Start the timer again that ends the process. It waits for a thread: a millisecond, hence once a minute."""
    faulthandler.dump_traceback_later(DEADLINE_S + 120, exit=True, file=2)


@pytest.fixture(autouse=True)
def _deadline() -> Iterator[None]:
    """Fail a test that waits for ever, wherever it waits. A kernel that loops for ever lets no handler of a signal run:
    the process ends, and pytest-xdist names the test.
    """  # fmt: skip

    def fail(_number: int, _frame: object) -> None:
        pytest.fail(f"not over after {DEADLINE_S} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(DEADLINE_S)
    _postpone_end_of_process(int(time.monotonic() / 60))
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def _no_github_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print no annotations: the tests themselves may be run by GitHub Actions."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork workers from a process with their libraries."""
    preloaded.use(monkeypatch)


@pytest.fixture(autouse=True)
def _workers_are_forked(request: pytest.FixtureRequest) -> None:
    """Fork all workers, but in the room where their start itself is tested. Modules there ask for it by name."""
    is_on_driver = request.node.get_closest_marker("gpu") and os.environ.get(STAND_INS)
    # Where NVML is not there, this process has asked the driver itself, and none that it forks can use the device.
    if "workers" not in request.path.parts and not is_on_driver:
        request.getfixturevalue("forked_workers")


@functools.cache
def _has_gpu() -> bool:
    return any(name.startswith("cuda") for name in registry.available())


@pytest.fixture(autouse=True)
def _skip_without_gpu(request: pytest.FixtureRequest) -> None:
    """Skip what is marked `gpu` where there is none, in this one place, so that no test can forget it."""
    if request.node.get_closest_marker("gpu") and not _has_gpu():
        pytest.skip("no NVIDIA GPU, or no pycuda, on this machine")
    of_card = request.node.get_closest_marker("card")
    if of_card and os.environ.get(STAND_INS):
        pytest.skip(f"needs a card, not the virtual GPU behind its driver: {of_card.args[0]}")


@pytest.fixture
def gpu() -> str:
    """A GPU's name; skips where there is none."""
    names = [name for name in registry.available() if name.startswith("cuda")]
    if not names:
        pytest.skip("no NVIDIA GPU, or no pycuda, on this machine")
    return names[0]


@pytest.fixture
def shop(tmp_path: Path) -> workshop.Workshop:
    return workshop.make(tmp_path)


@pytest.fixture
def fake_shop(shop: workshop.Workshop, monkeypatch: pytest.MonkeyPatch) -> workshop.Workshop:
    """A project whose cases run on the fake device: everything but the device is real."""
    command = (sys.executable, "-m", "tests.fake_worker")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # `tests` is found from any folder
    monkeypatch.setattr("gpuregress.session.session.MACHINERY", Machinery(command))
    return shop


@pytest.fixture(scope="session")
def _object_server() -> Iterator[str]:
    """The address of an S3-compatible server on loopback."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3_folder(_object_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty folder in a bucket; its credentials are in the environment."""
    boto3 = pytest.importorskip("boto3")
    for name, value in (
        ("AWS_ENDPOINT_URL", _object_server),
        ("AWS_ACCESS_KEY_ID", "access-of-tests"),
        ("AWS_SECRET_ACCESS_KEY", "secret-of-tests"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    boto3.client("s3").create_bucket(Bucket="accepted-dumps")
    return f"s3://accepted-dumps/{uuid.uuid4().hex}"

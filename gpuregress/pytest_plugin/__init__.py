"""Plugin of pytest: the cases of jobs as tests, and baselines of arrays.

Every session of pytest loads it where gpuregress is installed. So nothing of gpuregress is imported before a job file
is collected or the fixture is used.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gpuregress.pytest_plugin.regression import KernelRegression

_COLLECTION = "gpuregress.pytest_plugin.collection"
_RUN = "gpuregress.pytest_plugin.run_of_session"
_TEXTS = pytest.StashKey[list[str]]()
_KEY = "gpuregress"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options; those of pytest-regressions only where it is not installed."""
    group = parser.getgroup("gpuregress", "regression tests of CUDA kernels")
    group.addoption(
        "--gpuregress-device",
        default="auto",
        metavar="auto|cpu|cuda[:N]",
        help="where the cases of jobs run: auto takes a GPU if there is one",
    )
    group.addoption(
        "--gpuregress-accept",
        action="store_true",
        help="make what is new or differs the baseline, of jobs and of kernel_regression",
    )
    group.addoption(
        "--gpuregress-message", default="", metavar="WHY", help="with --gpuregress-accept: kept with the baselines"
    )
    if importlib.util.find_spec("pytest_regressions") is None:
        group.addoption("--force-regen", action="store_true", help="kernel_regression: write new baselines, and fail")
        group.addoption("--regen-all", action="store_true", help="kernel_regression: write new baselines, and pass")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker of cases."""
    config.addinivalue_line("markers", "gpuregress: a case of a gpuregress job, or a baseline of arrays")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the job files of gpuregress projects, and no other YAML."""
    if file_path.suffix.lower() not in (".yaml", ".yml"):
        return None
    from gpuregress.pytest_plugin import job_files

    home = job_files.project_of(file_path)
    if home is None:
        return None
    from gpuregress.pytest_plugin.collection import CollectedJob

    return CollectedJob.from_parent(parent, path=file_path, project=home)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Begin the run of the selected cases, unless pytest is about to stop for errors of the collection."""
    option = session.config.option
    is_stopped = option.collectonly or (session.testsfailed and not option.continue_on_collection_errors)
    if _COLLECTION in sys.modules and not is_stopped:
        from gpuregress.pytest_plugin import run_of_session
        from gpuregress.pytest_plugin.collection import CaseItem

        selected = [(item.project, item.case) for item in session.items if isinstance(item, CaseItem)]
        if selected:
            run_of_session.begin(session, selected)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Wait for the run's end; hand its report to the process that prints."""
    texts = session.config.stash.setdefault(_TEXTS, [])
    if _RUN in sys.modules:
        from gpuregress.pytest_plugin import run_of_session

        texts += run_of_session.finish(session)
    output = getattr(session.config, "workeroutput", None)
    if output is not None and texts:
        output[_KEY] = texts


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:  # noqa: ARG001 - xdist's hook
    """Take the report of a worker of pytest-xdist."""
    texts = getattr(node, "workeroutput", {}).get(_KEY, [])
    node.config.stash.setdefault(_TEXTS, []).extend(texts)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the report of the run as a section."""
    texts = config.stash.get(_TEXTS, [])
    if texts:
        from gpuregress.foundation.escapes import entry

        terminalreporter.section("gpuregress")
        for text in texts:
            terminalreporter.write_line(entry(text))


@pytest.fixture
def kernel_regression(request: pytest.FixtureRequest) -> Iterator[KernelRegression]:
    """Compare arrays with baselines that are dumps beside the test: `kernel_regression.check(y=y, rtol=1e-6)`."""
    from gpuregress.pytest_plugin.regression import KernelRegression

    regression = KernelRegression(request)
    yield regression
    request.config.stash.setdefault(_TEXTS, []).extend(regression.notes)

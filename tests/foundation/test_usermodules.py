from __future__ import annotations

import inspect
import os
import py_compile
import resource
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuregress.foundation import process_state, usermodules
from gpuregress.foundation.usermodules import UserCodeExit, UserModuleError, load
from tests import float_environments


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / f"{name.replace('__in__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def call(folder: Path, function: str = "r.py:f", *arguments: Any) -> Any:
    return load(f"{folder}/{function}")(*arguments)


def test_neighbours_of_one_name_are_two_modules(tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path / name, r="import dep\ndef f(): return dep.WHO", dep=f"WHO = {name!r}")
    assert [call(tmp_path / name) for name in "abab"] == ["a", "b", "a", "b"]
    assert "dep" not in sys.modules
    assert not [entry for entry in sys.path if str(tmp_path) in entry]


def test_what_is_imported_late_is_the_folders_own(tmp_path: Path) -> None:
    late = "def f():\n    import pkg.inner\n    return pkg.inner.who()"
    for name in "ab":
        inner = "from .other import WHO\ndef who(): return WHO"
        write(tmp_path / name, r=late, pkg__in____init__="", pkg__in__inner=inner, pkg__in__other=f"WHO = {name!r}")
    assert [call(tmp_path / name) for name in "abab"] == ["a", "b", "a", "b"]


def test_a_folder_that_a_file_puts_on_the_path_is_its_own(tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path / f"lib_{name}", dep=f"WHO = {name!r}")
        text = f"import sys\nsys.path.insert(0, {str(tmp_path / f'lib_{name}')!r})\nimport dep\ndef f(): return dep.WHO"
        write(tmp_path / name, r=text)
    assert [call(tmp_path / name) for name in "abab"] == ["a", "b", "a", "b"]


@pytest.mark.parametrize("package", ["mine", "json", "my-own", "numpy"])
@pytest.mark.parametrize("init", ["WHO = 1", "WHO = 1\nfrom .deep import r"])
def test_a_file_of_a_package_imports_its_neighbours(tmp_path: Path, package: str, init: str) -> None:
    before = sys.modules.get(package)
    own = "from .. import WHO\nfrom .beside import N\nfrom ..dep import K\ndef f(): return WHO + N + K"
    texts = {"__init__": init, "dep": "K = 100", "deep__in____init__": "", "deep__in__beside": "N = 10"}
    write(tmp_path / package, **texts, deep__in__r=own, r="from .deep.r import f")
    assert [call(tmp_path / package / "deep"), call(tmp_path / package)] == [111, 111]
    write(tmp_path / package, dep="K = 200")
    assert call(tmp_path / package / "deep") == 211
    assert sys.modules.get(package) is before


def test_a_file_of_a_package_imports_the_package_by_its_name(tmp_path: Path) -> None:
    write(tmp_path / "mine", __init__="", r="from mine.dep import K\ndef f(): return K", dep="K = 3")
    assert call(tmp_path / "mine") == 3


def test_a_module_keeps_its_state_between_calls(tmp_path: Path) -> None:
    write(tmp_path, r="import dep\ndef f():\n    dep.N += 1\n    return dep.N", dep="N = 0")
    assert [call(tmp_path), call(tmp_path)] == [1, 2]


def test_a_name_of_pythons_own_stays_pythons(tmp_path: Path) -> None:
    names = ("json", "random", "numpy", "gpuregress", "colorsys")
    write(tmp_path, **dict.fromkeys(names, "raise RuntimeError('the wrong one')"))
    write(tmp_path, r="import json, random, numpy, gpuregress, colorsys\ndef f(): return json.dumps([1])")
    assert call(tmp_path) == "[1]"


def test_a_neighbour_comes_before_what_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "site-packages", gpuregress_probe="WHO = 'installed'")
    write(
        tmp_path / "mine", gpuregress_probe="WHO = 'neighbour'", r="import gpuregress_probe as p\ndef f(): return p.WHO"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    assert call(tmp_path / "mine") == "neighbour"


_FIRST_USE_OF_SYSCONFIG = """
import sys, sysconfig, types
from gpuregress.foundation import usermodules

asked = []

def outermost(name):
    assert not asked, f"{name} is asked for while sysconfig prepares {asked[0]}"
    asked.append(name)
    path = sysconfig.get_path(name)
    asked.pop()
    return path

usermodules.sysconfig = types.SimpleNamespace(get_path=outermost)
usermodules.load(sys.argv[1])
"""


def test_sysconfig_is_not_asked_by_the_imports_of_its_first_use(tmp_path: Path) -> None:
    """Python 3.13 and 3.14 cannot answer then, and fail in every later call."""
    write(tmp_path, r="def f(): pass")
    command = (sys.executable, "-c", _FIRST_USE_OF_SYSCONFIG, f"{tmp_path}/r.py:f")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_installed_is_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "site-packages", gpuregress_shared="N = []")
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    for name in "ab":
        write(tmp_path / name, r="import gpuregress_shared as s\ndef f():\n    s.N.append(1)\n    return len(s.N)")
    assert [call(tmp_path / name) for name in "ab"] == [1, 2]
    monkeypatch.delitem(sys.modules, "gpuregress_shared")


def test_modules_of_this_package_are_shared_wherever_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "gpuregress.lab.fuzzing.candidates"
    for loaded in [module for module in sys.modules if module.startswith("gpuregress.lab")]:
        monkeypatch.delitem(sys.modules, loaded)
    write(tmp_path, r=f"import {name}\ndef f(): return {name}")
    assert call(tmp_path) is sys.modules[name]


def test_a_dataclass_with_postponed_annotations(tmp_path: Path) -> None:
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n"
    write(tmp_path, r=text + "def f(): return P(3).x")
    assert call(tmp_path) == 3


CHANGES = {
    "path": "sys.path.insert(0, '/nowhere')",
    "folder": "os.chdir('/')",
    "environment": "os.environ['GPUREGRESS_PROBE'] = '1'",
    "stdout": "sys.stdout = None",
    "handler": "signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
    "alarm": "signal.alarm(1)",
    "umask": "os.umask(0o777)",
    "limit": "resource.setrlimit(resource.RLIMIT_NOFILE, (99, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))",
    "blocked signal": "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})",
    "recursion": "sys.setrecursionlimit(12345)",
    "finders": "sys.meta_path.clear()",
    "modules": "del sys.modules['numpy']",
    "numpy": "np.add = len; del np.sqrt; np.linalg.norm = len",
    "built in": "import builtins; builtins.sum = len",
    "rounding": "ctypes.CDLL('libm.so.6').fesetround(0x800)",
    "flushing": "from tests.float_environments import flush; flush()",
    "failing": "os.chdir('/'); raise ValueError",
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_a_function_changes_of_its_process_is_put_back(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"import ctypes, os, resource, signal, sys\nimport numpy as np\ndef f():\n    {CHANGES[what]}"
    write(tmp_path, r=text)
    monkeypatch.setattr(process_state, "LEFT_CHANGED", [])

    def state() -> tuple[object, ...]:
        streams = id(sys.stdout), id(sys.stderr)
        limits = (
            resource.getrlimit(resource.RLIMIT_NOFILE),
            sys.getrecursionlimit(),
            Path("/proc/self/status").read_text().partition("Umask")[2][:6],
        )
        functions = np.add, np.sqrt, np.linalg.norm, sum, sys.modules["numpy"]
        signals = signal.getsignal(signal.SIGUSR1), signal.pthread_sigmask(signal.SIG_BLOCK, ())
        paths = list(sys.path), list(sys.meta_path), Path.cwd(), dict(os.environ)
        return *paths, streams, *limits, *functions, *signals, float_environments.traits()

    before = state()
    if what == "failing":
        with pytest.raises(ValueError):  # noqa: PT011 - its own
            call(tmp_path)
    else:
        call(tmp_path)
    assert state() == before
    assert signal.alarm(0) == 0
    assert process_state.left_changed() == (what in ("handler", "umask", "limit", "numpy", "built in"))


def test_functions_that_a_folder_replaced_are_its_own(tmp_path: Path) -> None:
    write(tmp_path / "a", r="import numpy as np\nnp.add = lambda *a: 'mine'\ndef f(): return np.add(1, 1)")
    write(tmp_path / "b", r="import numpy as np\ndef f(): return np.add(1, 1)")
    assert [call(tmp_path / name) for name in "abab"] == ["mine", 2, "mine", 2]


@pytest.mark.parametrize(
    "raised", ["SystemExit('why')", "GeneratorExit('why')", "type('Mine', (BaseException,), {})('why')"]
)
def test_what_is_no_exception_is_said_as_one(tmp_path: Path, raised: str) -> None:
    write(tmp_path, r=f"def f():\n    raise {raised}", s=f"raise {raised}")
    name = "Mine" if "Mine" in raised else raised.partition("(")[0]
    with pytest.raises(UserCodeExit) as caught:
        call(tmp_path)
    assert usermodules.describe_error(caught.value, f"{tmp_path}/r.py") == f"{name}: why (line 2 of r.py)"
    with pytest.raises(UserModuleError, match=f"cannot be imported: {name}: why"):
        call(tmp_path, "s.py:f")


def test_what_numpy_and_warnings_do_is_each_folders_own(tmp_path: Path) -> None:
    strict = "import warnings, numpy as np\nwarnings.simplefilter('error')\nnp.seterr(all='raise')\n"
    body = "def f():\n    np.log(np.zeros(1))\ndef g():\n    warnings.warn('w')"
    write(tmp_path / "strict", r=strict + body)
    write(tmp_path / "lax", r="import warnings, numpy as np\n" + body)
    before = np.geterr(), list(warnings.filters)
    for _ in range(2):
        with pytest.raises(FloatingPointError):
            call(tmp_path / "strict")
        with pytest.raises(UserWarning):
            call(tmp_path / "strict", "r.py:g")
        with pytest.warns(RuntimeWarning):
            np.log(np.zeros(1))
        assert (np.geterr(), list(warnings.filters)) == before
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(tmp_path / "lax")
        call(tmp_path / "lax", "r.py:g")


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_process_that_a_function_forks_ends_where_it_returns(tmp_path: Path) -> None:
    write(tmp_path, r="import os\ndef f(): return os.fork()")
    ours = os.getpid()
    forked = call(tmp_path)
    if os.getpid() != ours:
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 0


def test_only_the_source_text_counts(tmp_path: Path) -> None:
    names = "import dep, pkg.inner\ndef f(): return WHO, dep.WHO, pkg.WHO, pkg.inner.WHO, alone.WHO\n"
    by_path = "import importlib.util as u\nspec = u.spec_from_file_location('x', __file__[:-4] + 'alone.py')\n"
    by_path += "alone = u.module_from_spec(spec)\nspec.loader.exec_module(alone)\n"
    others = ("dep", "pkg__in____init__", "pkg__in__inner", "alone")
    texts = {"r": f"{names}{by_path}WHO = 1", **dict.fromkeys(others, "WHO = 1")}

    def write_at_one_time(who: int) -> None:
        write(tmp_path, **{name: text.replace("WHO = 1", f"WHO = {who}") for name, text in texts.items()})
        for path in tmp_path.rglob("*.py"):
            os.utime(path, (1e9, 1e9))  # as `cp -p` and `rsync -t` do

    write_at_one_time(1)
    for path in tmp_path.rglob("*.py"):
        py_compile.compile(str(path))
    compiled = {path: path.read_bytes() for path in tmp_path.rglob("*.pyc")}
    write_at_one_time(2)
    assert call(tmp_path) == (2, 2, 2, 2, 2), "bytecode of other code"
    write_at_one_time(3)
    assert call(tmp_path) == (3, 3, 3, 3, 3), "modules of other code"
    shown = usermodules.call_with(f"{tmp_path}/r.py", lambda module: inspect.getsource(module.f))
    assert shown == names.splitlines(keepends=True)[1]
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.pyc")} == compiled, "bytecode was written"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("none.py:f", "there is no file"),
        ("r.py:g", "has no function 'g'; it has: f"),
        ("broken.py:f", r"cannot be imported: ZeroDivisionError: .*line 2 of broken.py"),
        ("leaves.py:f", "cannot be imported: SystemExit"),
        ("silent.py:f", r"cannot be imported: E \(line 3 of silent.py\)"),
        ("r.py", "names no function"),
    ],
)
def test_what_cannot_be_loaded_is_said(tmp_path: Path, function: str, message: str) -> None:
    silent = "class E(Exception):\n    def __str__(self): raise ValueError\nraise E"
    write(tmp_path, r="def f(): pass", broken="\n1 / 0", leaves="raise SystemExit(3)", silent=silent)
    with pytest.raises(UserModuleError, match=message):
        load(f"{tmp_path}/{function}")


def test_an_error_names_the_users_line_and_none_of_ours(tmp_path: Path) -> None:
    write(tmp_path, r="def f(x):\n    return 1 / x")
    with pytest.raises(ZeroDivisionError) as raised:
        call(tmp_path, "r.py:f", 0)
    assert usermodules.describe_error(raised.value) == "ZeroDivisionError: division by zero (line 2 of r.py)"
    with pytest.raises(TypeError) as wrong:
        call(tmp_path)
    assert "usermodules" not in usermodules.describe_error(wrong.value)


def test_an_error_of_ours_in_a_call_of_the_user_names_no_file_of_ours(tmp_path: Path) -> None:
    write(tmp_path, r="from gpuregress.gpu.limits import of_architecture\ndef f(): return of_architecture(None)")
    with pytest.raises(AttributeError) as raised:
        call(tmp_path)
    assert usermodules.describe_error(raised.value).endswith("(line 2 of r.py)")

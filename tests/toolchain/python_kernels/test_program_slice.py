from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import PythonKernel, Source
from gpuregress.toolchain import programs
from gpuregress.toolchain.python_kernels import program_slice, source_inputs

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
KERNEL = "@triton.jit\ndef k(x, N: tl.constexpr):\n    tl.store(x, {})\n"


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / f"{name.replace('__in__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "kernel.py"


def sliced(path: Path, *, with_tuning: bool = False) -> dict[str, str]:
    """What is executed of each file."""
    modules = program_slice.of_function(path, "k", with_tuning=with_tuning).modules
    return {str(module.path.relative_to(path.parent)): ast.unparse(module.tree) for module in modules}


@pytest.mark.parametrize(
    ("value", "around", "wanted"),
    [
        ("1", "X = torch.cuda.is_available()\nassert X\n", []),
        ("X", "X = 1\nY = X\n", ["X = 1"]),
        ("X", "X = 1\nX += 1\n", ["X = 1", "X += 1"]),
        ("X[0]", "X = [1]\nX[0] = 2\nprint(X)\n", ["X = [1]", "X[0] = 2"]),
        ("X[0]", "X = []\nX.append(2)\n", ["X = []", "X.append(2)"]),
        ("X[0]", "X = []\ndef add(): X.append(2)\nadd()\n", ["X = []", "def add():", "add()"]),
        ("X", "X = 1\ndef change():\n    global X\n    X = 2\nchange()\n", ["X = 1", "def change():", "change()"]),
        ("X[0]", "X = []\ndef fill(x): x.append(2)\nfill(X)\n", ["X = []", "def fill(x):", "fill(X)"]),
        ("X[0]", "X = []\nlist(map(X.append, [2]))\n", ["X = []", "list(map(X.append, [2]))"]),
        ("X[0]", "X = []\ndef fill(x): x.append(2)\n_ = fill(X)\n", ["X = []", "def fill(x):", "_ = fill(X)"]),
        ("X", "if torch.cuda:\n    X = 1\n    Z = 0\nelse:\n    X = 2\n", ["if torch.cuda:", "X = 1", "X = 2"]),
        ("X", "try:\n    import numpy.nowhere\n    X = 1\nexcept ImportError:\n    X = 2\n", ["import numpy.nowhere"]),
        ("X", "globals()['X'] = 1\n", ["globals()['X'] = 1"]),
        ("X", "X: int = 3\nU: torch.Tensor = 3\n", ["X = 3"]),
        ("X(1)", "def X(a: torch.Tensor) -> torch.Tensor:\n    return a\n", ["def X(a):"]),
        ("X", "tl.extra = 1\nX = tl.extra\n", ["tl.extra = 1"]),
        ("tl.arange", "tl.zeros(1)\n", []),
        ("X", "X = [y for y in (1,)]\ny = torch.ones(3)\n", ["X = [y for y in (1,)]"]),
        ("X", "for y in (1, 2):\n    X = y\n    V = y\n", ["for y in (1, 2):", "X = y", "V = y"]),
    ],
)
def test_statements_that_decide_a_name_are_kept(tmp_path: Path, value: str, around: str, wanted: list[str]) -> None:
    path = write(tmp_path, kernel=HEAD + around + KERNEL.format(value))
    text = sliced(path)["kernel.py"]
    for line in wanted:
        assert line in text
    needs_torch = any("torch" in line for line in wanted)
    assert ("torch" in text) == needs_torch
    for line in ("print(X)", "Z = 0", "Y = X", "tl.zeros(1)"):
        assert line not in text, "it decides nothing"


REGISTER = "X = {}\ndef register(size):\n    def note(f):\n        X[f] = size\n        return f\n    return note\n"


@pytest.mark.parametrize(
    ("around", "wanted"),
    [
        (f"{REGISTER}@register(64)\ndef small(): ...\n", ["@register(64)"]),
        (f"{REGISTER}class A:\n    @register(64)\n    def small(self): ...\n", ["@register(64)"]),
        ("X = []\n@X.append\ndef small(): ...\n", ["@X.append"]),
        ("X = []\ndef put(): X.append(1)\ndef f(a=put()): ...\n", ["def f(a=put()):"]),
        (
            "X = []\nclass Base:\n    def __init_subclass__(cls): X.append(cls)\nclass A(Base): ...\n",
            ["class A(Base):"],
        ),
        ("X = {}\nclass Setup:\n    X['n'] = 2\n", ["class Setup:"]),
        ("X = {}\nclass Setup:\n    c = X\n    c['n'] = 2\n", ["class Setup:"]),
        ("X = {}\nc = X\nc['n'] = 128\n", ["c = X", "c['n'] = 128"]),
        ("X = {'n': {}}\nd = [c for c in (X,)]\nd[0].update(n=1)\n", ["d[0].update(n=1)"]),
        ("X = {'n': {}}\nc = X.get('n')\nc['n'] = 128\n", ["c = X.get('n')", "c['n'] = 128"]),
        ("X = {}\nT = {}\nT['a'] = X\nT['a']['n'] = 128\n", ["T['a']['n'] = 128"]),
        ("X = [{}]\nfor c in X:\n    c['n'] = 1\n", ["for c in X:"]),
        ("X = {}\ndef put(v, c=X): c['n'] = v\nput(128)\n", ["put(128)"]),
        ("X = {}\ndef put(v):\n    c = X\n    c['n'] = v\nput(128)\n", ["put(128)"]),
        ("X = []\nadd = X.append\nadd(7)\n", ["add(7)"]),
        ("X = []\nadd = lambda: X.append(7)\nadd()\n", ["add()"]),
        ("from functools import partial\nX = []\nadd = partial(X.append, 7)\nadd()\n", ["add()"]),
        ("X = []\ndef put(): X.append(7)\nTABLE = {'a': put}\nTABLE['a']()\n", ["TABLE['a']()"]),
    ],
)
def test_changes_by_definitions_and_by_other_names_are_kept(tmp_path: Path, around: str, wanted: list[str]) -> None:
    text = sliced(write(tmp_path, kernel=HEAD + around + KERNEL.format("X")))["kernel.py"]
    for line in wanted:
        assert line in text


def test_definitions_that_change_nothing_are_left_out(tmp_path: Path) -> None:
    host = (
        "X = [1]\n@torch.compile\ndef run(x=torch.ones(3)): X.append(2)\n"
        "def guard(f):\n    def call(ctx, *args):\n        ctx.a = torch.cuda.device(0)\n        return f(*args)\n"
        "    return call\n"
        "class Op(torch.autograd.Function):\n    @staticmethod\n    @guard\n    @checked\n"
        "    def forward(ctx):\n        X.append(1)\n        ctx.y = torch\n"
        "@triton.autotune(configs=X, key=[])\n@triton.jit\ndef other(x): ...\n"
    )
    texts = {"tools": "import torch\nSIZE = 3\ndef checked(f):\n    torch.cuda.init()\n    return f\n"}
    head = f"{HEAD}from tools import SIZE, checked\n"
    kept = sliced(write(tmp_path, kernel=head + host + KERNEL.format("X[0] + SIZE"), **texts))
    assert "torch" not in kept["kernel.py"]
    assert "other" not in kept["kernel.py"]
    assert kept["tools.py"] == "SIZE = 3"


@pytest.mark.parametrize(
    ("imported", "decorator"), [("register as r", "r"), ("register", "register"), ("", "registry.register")]
)
def test_a_decorator_of_another_module_that_registers(tmp_path: Path, imported: str, decorator: str) -> None:
    head = f"import registry\nfrom registry import {', '.join(filter(None, ('X', imported)))}\n"
    kernel = f"{HEAD}{head}@{decorator}(64)\ndef small(): ...\n{KERNEL.format('X')}"
    kept = sliced(write(tmp_path, kernel=kernel, registry=REGISTER))
    assert f"@{decorator}(64)" in kept["kernel.py"]
    assert "def register(" in kept["registry.py"]


def test_modules_are_cut_as_well(tmp_path: Path) -> None:
    texts = {
        "pack__in____init__": "import torch\nfrom .ops import *\nfrom . import deep\nVERSION = torch.__version__\n",
        "pack__in__ops": "import torch\nSIZE = 3\nBAD = torch.ones(3)\n",
        "pack__in__deep": "import torch\nfrom .more import *\nBAD = torch.ones(3)\n",
        "pack__in__more": "DEPTH = 1\n_HIDDEN = 2\nOTHER = 4\n",
        "tools": "import torch\nWIDTH = 5\nBAD = torch.ones(3)\n",
    }
    head = "import triton\nimport triton.language as tl\nimport tools\nfrom pack import SIZE, deep\nimport pack.more\n"
    path = write(tmp_path, kernel=head + KERNEL.format("SIZE + deep.DEPTH + tools.WIDTH + pack.more.OTHER"), **texts)
    kept = sliced(path)
    assert kept["tools.py"] == "WIDTH = 5"
    assert kept["pack/ops.py"] == "SIZE = 3"
    assert kept["pack/more.py"] == "DEPTH = 1\nOTHER = 4"
    assert kept["pack/__init__.py"] == "from .ops import SIZE\nfrom . import deep"
    assert kept["pack/deep.py"] == "from .more import DEPTH"
    assert program_slice.of_function(path, "k").replaced == {}


def test_what_changes_a_module_of_the_slice_is_kept(tmp_path: Path) -> None:
    texts = {
        "state": "SIZES = [1]\ndef grow(): SIZES.append(2)\n",
        "patches": "import state\nstate.SIZES.append(3)\n",
        "other": "def start(): ...\n",
        "chosen": "__all__ = ['HIDDEN']\nHIDDEN = 1\nSIZES = [4]\n",
    }
    head = "from state import SIZES, grow\nfrom chosen import *\nimport other, patches\ngrow()\nother.start()\n"
    path = write(tmp_path, kernel=HEAD + head + KERNEL.format("SIZES[1]"), **texts)
    kept = sliced(path)
    assert "grow()" in kept["kernel.py"]
    assert "import patches\n" in kept["kernel.py"]
    assert "other" not in kept["kernel.py"]
    assert "chosen" not in kept["kernel.py"], "its __all__ has no SIZES"
    assert kept["patches.py"] == texts["patches"].strip()


def test_an_autotuner_counts_for_its_list_alone(tmp_path: Path) -> None:
    tuned = "SIZES = torch.sizes\n@triton.autotune(configs=SIZES, key=[])\n"
    path = write(tmp_path, kernel=HEAD + tuned + KERNEL.format("N"))
    assert "SIZES" not in sliced(path)["kernel.py"]
    assert "SIZES" in sliced(path, with_tuning=True)["kernel.py"]
    assert "torch" not in source_inputs.packages(source_inputs.kernel_inputs(path, "k"))
    needed = source_inputs.packages(source_inputs.kernel_inputs(path, "k", with_tuning=True))
    assert "torch" in needed, "a torch that is installed later reads the list anew"


def test_what_the_kernel_does_not_need_is_no_part_of_its_key(tmp_path: Path) -> None:
    texts = {"tools": "import os\nHOME = os.environ['HOME']\nSIZE = 3\n", "world": "W = 1\n"}
    path = write(
        tmp_path, kernel=HEAD + "from tools import SIZE\nfrom world import W\n" + KERNEL.format("SIZE"), **texts
    )
    before = source_inputs.kernel_inputs(path, "k")
    assert [file.name for file in before.files] == ["kernel.py", "tools.py"]
    assert not before.unknown, "the environment decides nothing of the kernel"
    write(tmp_path, world="W = 2\n")
    assert source_inputs.kernel_inputs(path, "k").digest == before.digest
    write(tmp_path, tools="SIZE = 4\n")
    assert source_inputs.kernel_inputs(path, "k").digest != before.digest


def compiled(path: Path, **constants: int) -> tuple[str, tuple[str, ...]]:
    """The PTX of a kernel, and the remarks on missing modules."""
    kernel = PythonKernel("triton", "k", {"x": "*i32"}, {"N": 1, **constants})
    source = Source(str(path), kernels=("k",), python=kernel)
    program = programs.compile(source)
    return Path(program.ptx).read_text(), programs.missing_modules(source, program)


def test_a_kernel_is_compiled_without_the_modules_of_its_host_code(tmp_path: Path) -> None:
    pytest.importorskip("triton", reason="Triton is not installed: pip install 'gpuregress[triton]'")
    head = HEAD.replace("import torch", "import no_torch as torch\nfrom no_torch.nn import Module")
    host = "from .tools import SIZE, Function\nclass Op(Module): ...\nif torch.cuda.is_available(): raise OSError\n"
    texts = {
        "__init__": "import no_torch\nraise OSError\n",
        "tools": "import no_torch as torch\nSIZE: tl.constexpr = 77\n@torch.compile\ndef Function(): ...\n",
    }
    texts["tools"] = "import triton.language as tl\n" + texts["tools"].replace("77", "tl.constexpr(77)")
    write(tmp_path / "pack", kernel=head + host + KERNEL.format("SIZE"), **texts)
    ptx, remarks = compiled(tmp_path / "pack" / "kernel.py")
    assert " 77;" in ptx
    assert [remark.rpartition("/")[2] for remark in remarks] == [
        "kernel.py: no_torch is not installed; k does not use it"
    ]


@pytest.mark.parametrize(
    ("value", "around", "message"),
    [
        ("torch.zero", "", "uses no_torch (line 7 of kernel.py); kernel.py:1 imports it: install no_torch"),
        ("X", "X = 1 if torch.cuda.is_available() else 2\n", "uses no_torch.cuda (line 4 of kernel.py)"),
        ("X", "try:\n    X = torch.count()\nexcept Exception:\n    X = 1\n", "uses no_torch.count (line 5 of"),
        ("X", "X = 1\nif torch:\n    X = 2\n", "uses no_torch in bool (line 5 of kernel.py)"),
        ("X", "X = 1\nif torch.cuda == 1:\n    X = 2\n", "uses no_torch.cuda (line 5 of kernel.py)"),
        ("X", "X = 3 if tensor else 4\n", "uses no_torch.nn.tensor in bool (line 4 of kernel.py)"),
    ],
)
def test_a_use_of_a_missing_module_is_an_error(tmp_path: Path, value: str, around: str, message: str) -> None:
    pytest.importorskip("triton", reason="Triton is not installed: pip install 'gpuregress[triton]'")
    head = "import no_torch as torch; from no_torch.nn import tensor\nimport triton\nimport triton.language as tl\n"
    path = write(tmp_path, kernel=head + around + "\n" * (around == "") + KERNEL.format(value))
    with pytest.raises(CompileError) as caught:
        compiled(path)
    assert message in str(caught.value)
    assert "no_torch is not installed, and what decides the kernel " in str(caught.value)


def test_a_missing_module_that_the_code_goes_on_without_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("triton", reason="Triton is not installed: pip install 'gpuregress[triton]'")
    tried = "try:\n    import no_torch\n    X = tl.constexpr(5)\nexcept ImportError:\n    X = tl.constexpr(77)\n"
    head = "import triton\nimport triton.language as tl\n"
    path = write(tmp_path, kernel=head + tried + KERNEL.format("X"))
    ptx, (remark,) = compiled(path)
    assert " 77;" in ptx
    assert "the code looks for no_torch at kernel.py:4, which this host lacks" in remark


def test_a_heuristic_that_uses_a_missing_module(tmp_path: Path) -> None:
    pytest.importorskip("triton", reason="Triton is not installed: pip install 'gpuregress[triton]'")
    head = "import no_torch as torch\nimport triton\nimport triton.language as tl\n"
    heuristic = "@triton.heuristics({'N': lambda _: torch.cuda.capability()[0] >= 8})\n"
    path = write(tmp_path, kernel=head + heuristic + KERNEL.format("N + 76"))
    assert " 77;" in compiled(path)[0], "the job gives the value"
    kernel = PythonKernel("triton", "k", {"x": "*i32"})
    text = "'N': no_torch is not installed, .* uses no_torch.cuda .*: install no_torch, or give its value in constants"
    with pytest.raises(CompileError, match=text):
        programs.compile(Source(str(path), kernels=("k",), python=kernel))

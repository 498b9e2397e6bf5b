from __future__ import annotations

import sys
import time
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.toolchain.python_kernels import source_inputs


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / f"{name.replace('__in__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "kernel.py"


def names(path: Path) -> list[str]:
    return [file.relative_to(path.parent).as_posix() for file in source_inputs.inputs(path).files]


def test_local_modules_count_and_installed_ones_do_not(tmp_path: Path) -> None:
    text = "import numpy\nimport helpers\nfrom tools.deep import thing\n"
    path = write(
        tmp_path,
        kernel=text,
        helpers="from more import *\n",
        more="x = 1\n",
        tools__in____init__="",
        tools__in__deep="from . import beside\nfrom .. import helpers\n",
        tools__in__beside="",
        unrelated="",
    )
    assert sorted(names(path)) == [
        "helpers.py",
        "kernel.py",
        "more.py",
        "tools/__init__.py",
        "tools/beside.py",
        "tools/deep.py",
    ]
    assert not source_inputs.inputs(path).unknown


def test_the_digest_tells_a_changed_helper(tmp_path: Path) -> None:
    path = write(tmp_path, kernel="import helpers\n", helpers="x = 1\n")
    before = source_inputs.inputs(path).digest
    write(tmp_path, helpers="x = 2\n")
    assert source_inputs.inputs(path).digest != before


def test_a_module_that_appears_later_changes_the_structure(tmp_path: Path) -> None:
    path = write(tmp_path, kernel="import helpers\n")
    before = source_inputs.inputs(path)
    write(tmp_path, helpers="")
    assert source_inputs.inputs(path).digest != before.digest


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("text = open('x').read()\n", "kernel.py:1: open()"),
        ("\nfrom pathlib import Path\nPath('x').read_text()\n", "kernel.py:3: read_text()"),
        ("import random\n", "kernel.py:1: random"),
        ("import os\nn = os.environ['N']\n", "kernel.py:2: environ"),
        ("import sys\nsys.path.insert(0, '../lib')\n", "kernel.py:2: sys.path"),
        ("import numpy as np\nn = np.random.rand()\n", "kernel.py:2: np.random"),
        ("import numpy as np\nn = np.load('table.npy')\n", "kernel.py:2: np.load"),
        ("import os\nn = os.listdir()\n", "kernel.py:2: listdir()"),
        ("f = declare_device('f', 'int32()', link='f.cu')\n", "kernel.py:1: link="),
        ("f = declare_device('f', 'int32()', link=[cuda.CUSource('')])\n", ""),
    ],
)
def test_what_reads_more_than_its_text(tmp_path: Path, text: str, why: str) -> None:
    assert source_inputs.inputs(write(tmp_path, kernel=text)).unknown == why


def test_the_packages_around_a_source_are_executed(tmp_path: Path) -> None:
    texts = {
        "__init__": "SIZE = 64",
        "utils": "",
        "in__in____init__": "",
        "in__in__kernel": "from .. import utils, SIZE",
    }
    write(tmp_path / "pack", kernel="", **texts)
    found = [str(file.relative_to(tmp_path)) for file in source_inputs.inputs(tmp_path / "pack/in/kernel.py").files]
    assert found == ["pack/in/kernel.py", "pack/__init__.py", "pack/utils.py"]
    (tmp_path / "pack/in/kernel.py").write_text("from .beside import N\nfrom pack.utils import M\n")
    (tmp_path / "pack/in/beside.py").write_text("")
    found = [str(file.relative_to(tmp_path)) for file in source_inputs.inputs(tmp_path / "pack/in/kernel.py").files]
    wanted = ["pack/in/kernel.py", "pack/__init__.py", "pack/in/__init__.py", "pack/in/beside.py", "pack/utils.py"]
    assert found == wanted


def test_a_helper_that_opens_a_file(tmp_path: Path) -> None:
    path = write(tmp_path, kernel="import helpers\n", helpers="open('x')\n")
    assert source_inputs.inputs(path).unknown == "helpers.py:1: open()"


def test_a_source_that_is_not_python_is_reported_later(tmp_path: Path) -> None:
    assert names(write(tmp_path, kernel="def (:\n")) == ["kernel.py"]


@given(st.text(alphabet="importfs .\n*abc(),:\t#'\"", max_size=60))
def test_no_text_is_too_odd(text: str) -> None:
    source_inputs._read(text.encode())  # it does not raise


def test_modules_elsewhere_on_the_path_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "kernels", kernel="from shop.ops import scale\nfrom spread.deep import one\n")
    folder = tmp_path / "lib"
    write(folder, shop__in____init__="", shop__in__ops="import shop.more\n", shop__in__more="", spread__in__deep="")
    monkeypatch.setattr("sys.path", [*sys.path, str(folder)])
    before = source_inputs.inputs(path)
    found = [file.relative_to(tmp_path).as_posix() for file in before.files[1:]]
    assert found == ["lib/shop/__init__.py", "lib/shop/ops.py", "lib/spread/deep.py", "lib/shop/more.py"]
    write(folder, shop__in__more="x = 1\n")
    assert source_inputs.inputs(path).digest != before.digest
    assert source_inputs.packages(before) == {}


def test_of_installed_packages_the_version_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import os, numpy, helpers, nowhere_at_all\nfrom parts.deep import x\n"
    path = write(tmp_path / "kernels", kernel=text, helpers="from yaml import load\n", parts__in__deep="")
    site = tmp_path / "numpy" / "site-packages"  # a clone of a package may have an environment in it
    write(site, parcel__in____init__="")
    monkeypatch.setattr("sys.path", [*sys.path, str(site)])
    assert source_inputs.packages(source_inputs.inputs(path)) == {
        "nowhere_at_all": "",
        "yaml": metadata.version("PyYAML"),
    }
    path.write_text("from numba import cuda\n")
    assert list(source_inputs.packages(source_inputs.inputs(path))) == ["numba"]  # numba-cuda is another package
    path.write_text("import parcel\n")
    found = source_inputs.inputs(path)
    assert found.files == (path,)
    assert source_inputs.packages(found) == {"parcel": "unknown"}
    # As CuTe DSL, whose package is in a folder of another name, which a .pth file puts on the path.
    write(site / "parcels", crate__in____init__="")
    write(site / "parcels.dist-info", x="")
    (site / "parcels.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: parcels\nVersion: 1.2\n")
    (site / "parcels.dist-info/top_level.txt").write_text("parcels\n")
    monkeypatch.setattr("sys.path", [*sys.path, str(site / "parcels")])
    path.write_text("from crate import x\n")
    assert source_inputs.packages(source_inputs.inputs(path)) == {"crate": "1.2"}


def test_the_slice_of_a_long_file_is_taken_in_less_time_than_the_file_is_read_in(tmp_path: Path) -> None:
    """The second call finds the syntax tree. Whether a name is imported is not searched for each statement anew."""
    lines = ["import triton", "import triton.language as tl"]
    for number in range(400):
        lines += [f"T{number} = tl.constexpr({number})", "@triton.jit", f"def k{number}(x): tl.store(x, T{number})"]
    path = tmp_path / "k.py"
    path.write_text("\n".join(lines))
    seconds: list[float] = []
    for _ in range(2):
        start = time.process_time()
        assert source_inputs.kernel_inputs(path, "k5").files == (path,)
        seconds.append(time.process_time() - start)
    assert seconds[1] < seconds[0] / 3

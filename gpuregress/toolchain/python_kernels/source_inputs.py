"""Dependencies of a Python source: the local modules that it imports, read from its syntax tree.

Nothing is imported for it. A module counts where its file is beside the source, or in another folder of `sys.path` that
is not one of installed packages (`PYTHONPATH`, `pip install --editable`). Of installed packages the version counts.
A source that changes `sys.path`, opens or links files, starts programs, or looks at the clock, the environment or
random numbers does not tell all that it is made of. Of a Triton kernel, only its slice counts (`program_slice`).
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from gpuregress.foundation.usermodules import installed_version
from gpuregress.toolchain.include_scanner import SourceInputs
from gpuregress.toolchain.python_kernels import local_modules, program_slice

_TELLING_CALLS = frozenset(
    {
        *("open", "exec", "eval", "__import__", "import_module", "read_text", "read_bytes", "fromfile", "loadtxt"),
        *("genfromtxt", "memmap", "listdir", "scandir", "iterdir", "perf_counter", "cpu_count"),
        *("getenv", "popen", "system", "check_output", "check_call", "run", "Popen", "urlopen"),
        *("time", "time_ns", "now", "today", "urandom", "uuid4", "default_rng"),
    }
)
_TELLING_MODULES = frozenset({"random", "secrets", "subprocess", "socket", "urllib", "requests"})
_TELLING_NAMES = frozenset({"environ", "argv"})
_TELLING_PAIRS = frozenset({("sys", "path"), ("site", "addsitedir"), ("torch", "load")}) | {
    (module, name) for module in ("np", "numpy") for name in ("load", "random")
}


def inputs(path: Path) -> SourceInputs:
    """Return the files that decide what a Python source is compiled to.

    Args:
        path: the source.

    Raises:
        OSError: it cannot be read.
    """
    files = [path]
    contents = [path.read_bytes()]
    tops = local_modules.top_folders(path)
    structure: list[str] = []
    modules: dict[str, None] = {}
    unknown = ""
    for number, file in enumerate(files):  # it grows
        names, telling = _read(contents[number])
        if telling and not unknown:
            unknown = f"{file.name}:{telling}"
        for name in names:
            found = _module_files(name, file.parent, tops)
            modules[name.partition(".")[0]] = None
            for module in found:
                if module not in files:
                    files.append(module)
                    contents.append(_content(module))
            structure.append(f"{number}: {name} {[files.index(module) for module in found]}")
    return SourceInputs(tuple(files), tuple(contents), "\n".join(structure), unknown, tuple(modules))


def kernel_inputs(path: Path, function: str, *, with_tuning: bool = False) -> SourceInputs:
    """Return the files of a Triton kernel's slice.

    Args:
        path: the source.
        function: the kernel.
        with_tuning: of its `@triton.autotune`, too.

    Raises:
        OSError: the source cannot be read.
    """
    try:
        kernel = program_slice.of_function(path, function, with_tuning=with_tuning)
    except (SyntaxError, ValueError):
        return inputs(path)  # the compilation reports it
    files = [module.path for module in kernel.modules]
    structure: list[str] = []
    modules: dict[str, None] = {}
    unknown = ""
    for number, module in enumerate(kernel.modules):
        telling = next(_telling(module.tree), "")
        if telling and not unknown:
            unknown = f"{module.path.name}:{telling}"
        for name, leads_to in sorted(module.imports.items()):
            modules[name.partition(".")[0]] = None
            structure.append(f"{number}: {name} {[files.index(file) for file in leads_to if file in files]}")
    contents = tuple(module.content for module in kernel.modules)
    return SourceInputs(tuple(files), contents, "\n".join(structure), unknown, tuple(modules))


def unused_missing(path: Path, function: str) -> tuple[str, ...]:
    """Return the packages that the files of a Triton kernel's slice import, that are not installed and not needed.

    Args:
        path: the source.
        function: the kernel.
    """
    try:
        return tuple(program_slice.of_function(path, function).left_out)
    except (OSError, SyntaxError, ValueError):
        return ()


def _module_files(name: str, folder: Path, tops: Sequence[Path]) -> tuple[Path, ...]:
    """Find the files of a module that a file of a folder imports; none of an installed one."""
    for top in tops:
        files = local_modules.located(name, folder, top)
        if files:
            return files
    package = name.partition(".")[0]
    if not package or package in local_modules.FRAMEWORKS or package in sys.stdlib_module_names:
        return ()
    for other in local_modules.package_folders(package):
        files = () if local_modules.is_installed(other) else local_modules.located(name, other, other)
        if files:
            return files
    return ()


def packages(files: SourceInputs) -> dict[str, str]:
    """Return the version of each installed package that a source or its local modules import; "" if it is missing.

    Args:
        files: from `inputs` or `kernel_inputs`.
    """
    tops = local_modules.top_folders(files.files[0])
    versions: dict[str, str] = {}
    for package in sorted({*files.modules} - {""} - local_modules.FRAMEWORKS - sys.stdlib_module_names):
        if any(local_modules.located(package, local, local) or (local / package).is_dir() for local in tops):
            continue
        folders = local_modules.package_folders(package)
        if not folders:
            versions[package] = ""
        elif any(local_modules.is_installed(folder) for folder in folders):
            versions[package] = _version(package)
    return versions


def lacks(files: SourceInputs, there: Mapping[str, str]) -> bool:
    """Tell whether this host lacks a package that another one has.

    Args:
        files: from `inputs`.
        there: from `packages`, on the other host.
    """
    here = packages(files)
    return any(version and not here.get(name) for name, version in there.items())


def _version(package: str) -> str:
    """The version of an installed package, or of the distributions that have its folder: `cutlass` has another name."""
    version = installed_version(package)
    if version:
        return version
    from importlib import metadata  # noqa: PLC0415 - see installed_version

    distributions = metadata.packages_distributions()
    names = set(distributions.get(package, ()))
    for folder in local_modules.package_folders(package):
        # CuTe DSL is in site-packages/nvidia_cutlass_dsl/dsl_packages, which a .pth file puts on the path.
        parts = local_modules.parts_below_site(folder)
        names.update(name for part in parts for name in distributions.get(part, ()))
    versions = {metadata.version(name) for name in names}
    return ", ".join(sorted(versions)) or "unknown"


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@lru_cache(maxsize=256)
def _read(content: bytes) -> tuple[tuple[str, ...], str]:
    """The modules that a text imports, and what in it may read more than its text, as `12: open`."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return (), ""  # the compilation reports it
    return tuple(dict.fromkeys(_imports(tree))), next(_telling(tree), "")


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            yield name
            dot = "" if name.endswith(".") or not name else "."
            yield from (f"{name}{dot}{alias.name}" for alias in node.names if alias.name != "*")


def _telling(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if any(_links_file(keyword) for keyword in node.keywords):
                yield f"{node.lineno}: link="
            if _name(node.func) in _TELLING_CALLS:
                yield f"{node.lineno}: {_name(node.func)}()"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in _TELLING_MODULES:
                    yield f"{node.lineno}: {alias.name}"
        elif isinstance(node, ast.ImportFrom):
            if (node.module or "").partition(".")[0] in _TELLING_MODULES:
                yield f"{node.lineno}: {node.module}"
        elif isinstance(node, ast.Attribute):
            if node.attr in _TELLING_NAMES:
                yield f"{node.lineno}: {node.attr}"
            if (_name(node.value), node.attr) in _TELLING_PAIRS:
                yield f"{node.lineno}: {ast.unparse(node)}"


def _links_file(keyword: ast.keyword) -> bool:
    """Whether `link=` of Numba may name a file: it is not made of texts alone."""
    if keyword.arg != "link":
        return False
    value = keyword.value
    for item in value.elts if isinstance(value, ast.List | ast.Tuple) else [value]:
        if not isinstance(item, ast.Call) or _name(item.func) not in ("CUSource", "PTXSource"):
            return True
    return False


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""

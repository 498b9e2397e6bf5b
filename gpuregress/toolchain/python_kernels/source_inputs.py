"""Dependencies of a Python source: the local modules that it imports, read from its syntax tree.

Nothing is imported for it. A module counts where its file is beside the source, or in another folder of `sys.path` that
is not one of installed packages (`PYTHONPATH`, `pip install --editable`). Of installed packages the version counts.
A source that changes `sys.path`, opens or links files, starts programs, or looks at the clock, the environment or
random numbers does not tell all that it is made of.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import metadata, util
from pathlib import Path

from gpuregress.foundation.usermodules import package_names
from gpuregress.toolchain.include_scanner import SourceInputs

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
_SITE_FOLDERS = frozenset({"site-packages", "dist-packages"})
_FRAMEWORKS = frozenset({"triton", "numpy", "torch", "gpuregress"})
"""Packages that are not looked up: Triton's version is part of every key, and the others make no program."""


def inputs(path: Path) -> SourceInputs:
    """Return the files that decide what a Python source is compiled to.

    Args:
        path: the source.

    Raises:
        OSError: it cannot be read.
    """
    files = [path]
    contents = [path.read_bytes()]
    tops = _tops(path)
    structure: list[str] = []
    unknown = ""
    for number, file in enumerate(files):  # it grows
        names, telling = _read(contents[number])
        if telling and not unknown:
            unknown = f"{file.name}:{telling}"
        for name in names:
            modules = _module_files(name, file.parent, tops)
            for module in modules:
                if module not in files:
                    files.append(module)
                    contents.append(_content(module))
            structure.append(f"{number}: {name} {[files.index(module) for module in modules]}")
    return SourceInputs(tuple(files), tuple(contents), "\n".join(structure), unknown)


def _module_files(name: str, folder: Path, tops: Sequence[Path]) -> tuple[Path, ...]:
    """Find the files of a module that a file of a folder imports; none of an installed one."""
    for top in tops:
        files = _located(name, folder, top)
        if files:
            return files
    package = name.partition(".")[0]
    if not package or package in _FRAMEWORKS or package in sys.stdlib_module_names:
        return ()
    for other in _folders(package):
        files = () if _is_installed(other) else _located(name, other, other)
        if files:
            return files
    return ()


def packages(files: SourceInputs) -> dict[str, str]:
    """Return the version of each installed package that a source or its local modules import; "" if it is missing.

    Args:
        files: from `inputs`.
    """
    imported: set[str] = set()
    for content in files.contents:
        imported.update(name.partition(".")[0] for name in _read(content)[0])
    tops = _tops(files.files[0])
    versions: dict[str, str] = {}
    for package in sorted(imported - {""} - _FRAMEWORKS - sys.stdlib_module_names):
        if any(_located(package, local, local) or (local / package).is_dir() for local in tops):
            continue
        folders = _folders(package)
        if not folders:
            versions[package] = ""
        elif any(_is_installed(folder) for folder in folders):
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


def _tops(path: Path) -> list[Path]:
    """The folders in which a source's modules are looked for: its own, and that of the package that it is in."""
    above = len(package_names(str(path)))
    return [path.parent, path.parents[above]] if above else [path.parent]


def _version(package: str) -> str:
    """The version of an installed package, or of the distributions that have its folder: `cutlass` has another name."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        distributions = metadata.packages_distributions()
    names = set(distributions.get(package, ()))
    for folder in _folders(package):
        # CuTe DSL is in site-packages/nvidia_cutlass_dsl/dsl_packages, which a .pth file puts on the path.
        names.update(name for part in folder.parts for name in distributions.get(part, ()))
    versions = {metadata.version(name) for name in names}
    return ", ".join(sorted(versions)) or "unknown"


def _folders(package: str) -> list[Path]:
    """The folders in which Python finds a package or module; none where it does not.

    The first folder of the path is that of the command, or the working one: a compiler's process has another.
    """
    try:
        spec = util.find_spec(package)
    except (ImportError, ValueError, AttributeError):
        return []
    if spec is None:
        return []
    folders: list[Path] = []
    if spec.submodule_search_locations is not None:
        folders = [Path(location).parent for location in spec.submodule_search_locations]
    elif spec.origin and spec.has_location:
        folders = [Path(spec.origin).parent]
    if sys.flags.safe_path:
        return folders
    return [folder for folder in folders if folder.absolute() != Path(sys.path[0]).absolute()]


def _is_installed(folder: Path) -> bool:
    return not _SITE_FOLDERS.isdisjoint(folder.parts)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _located(name: str, folder: Path, top: Path) -> tuple[Path, ...]:
    """Find the files of a module, with those of the packages that hold it.

    Args:
        name: dotted; relative ones begin with dots.
        folder: of the file that imports it.
        top: of the source.
    """
    plain = name.lstrip(".")
    level = len(name) - len(plain)
    base = folder if level else top
    for _ in range(level - 1):
        base = base.parent
    files: list[Path] = []
    if level:
        # The packages around a module are executed before it.
        for package in (base, *base.parents):
            if not (package / "__init__.py").is_file():
                break
            files.insert(0, package / "__init__.py")
    for part in filter(None, plain.split(".")):
        for candidate in (base / part / "__init__.py", base / f"{part}.py"):
            if candidate.is_file():
                files.append(candidate)
                break
        base /= part
    return tuple(files)


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

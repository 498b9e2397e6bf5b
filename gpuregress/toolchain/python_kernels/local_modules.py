"""Location of Python modules without an import.

A module is beside the source, in another folder of the path, or installed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import util
from pathlib import Path

from gpuregress.foundation.usermodules import package_names

FRAMEWORKS = frozenset({"triton", "numpy", "gpuregress"})
"""Packages that are not looked up: Triton's version is part of every key, and the others make no program."""
_SITE_FOLDERS = frozenset({"site-packages", "dist-packages"})


def top_folders(path: Path) -> list[Path]:
    """Return the folders in which a source's modules are looked for: its own, and that of the package around it."""
    above = len(package_names(str(path)))
    return [path.parent, path.parents[above]] if above else [path.parent]


def package_folders(package: str) -> list[Path]:
    """Return the folders in which Python finds a package or module; none where it does not.

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


def is_installed(folder: Path) -> bool:
    """Tell whether a folder is one of installed packages."""
    return not _SITE_FOLDERS.isdisjoint(folder.parts)


def parts_below_site(folder: Path) -> tuple[str, ...]:
    """Return the names of a folder's parts below the folder of installed packages; none where there is none."""
    positions = [position for position, part in enumerate(folder.parts) if part in _SITE_FOLDERS]
    return folder.parts[positions[-1] + 1 :] if positions else ()


def is_missing(module: str, tops: Sequence[Path]) -> bool:
    """Tell whether there is no module of this name: neither Python's own, nor installed, nor beside the source.

    Args:
        module: dotted, and absolute.
        tops: from `top_folders`.
    """
    package = module.partition(".")[0]
    if package in FRAMEWORKS or package in sys.stdlib_module_names or package_folders(package):
        return False
    return not any((top / package).is_dir() or (top / f"{package}.py").is_file() for top in tops)


def located(name: str, folder: Path, top: Path) -> tuple[Path, ...]:
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


def module_file(name: str, folder: Path, tops: Sequence[Path]) -> Path | None:
    """Find the file of one module that is not installed: `pack/__init__.py` of a package; None: there is none.

    Args:
        name: dotted; relative ones begin with dots.
        folder: of the file that imports it.
        tops: from `top_folders`.
    """
    package = name.partition(".")[0]
    if package in FRAMEWORKS or package in sys.stdlib_module_names:
        return None
    for top in _bases(package, tops):
        files = located(name, folder, top)
        parts = [part for part in name.split(".") if part]
        if not files:
            continue
        if not parts:
            return files[-1] if files[-1].parent == _relative_base(name, folder) else None
        last = files[-1]
        stem = last.parent.name if last.name == "__init__.py" else last.stem
        whole = Path(*parts)
        described = last.parent if last.name == "__init__.py" else last.with_suffix("")
        if stem == parts[-1] and described.parts[-len(parts) :] == whole.parts:
            return last
    return None


def _relative_base(dots: str, folder: Path) -> Path:
    for _ in range(len(dots) - 1):
        folder = folder.parent
    return folder


def _bases(package: str, tops: Sequence[Path]) -> Iterator[Path]:
    yield from tops
    if package:
        for other in package_folders(package):
            if not is_installed(other):
                yield other

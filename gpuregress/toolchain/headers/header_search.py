"""Search of a clone for the folder of a header that the compiler did not find."""

from __future__ import annotations

import fnmatch
import itertools
import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

from gpuregress.foundation.user_home import home
from gpuregress.toolchain.headers import made_headers

_MOST_FILES = 200_000
"""A clone of more files is not searched to its end."""
_PARTS = {"cute": "cutlass"}
"""First folders of headers whose library has another name."""
STAND_INS = "stand_ins"
"""The folder beside the jobs with files in place of headers that a build makes or brings."""
_LEFT_OUT = frozenset(("node_modules", "__pycache__", "site-packages", "runs", "baselines", STAND_INS))


def work_tree(folder: Path) -> Path | None:
    """Return the root of the git work tree that holds a folder; of nested ones, as submodules are, the outermost.

    Args:
        folder: absolute.
    """
    outermost = None
    for parent in (folder, *folder.parents):
        if parent in (home(), Path(parent.anchor)):
            break
        if (parent / ".git").exists():
            outermost = parent
    return outermost


def folders_with(header: str, folder: Path) -> tuple[Path, ...]:
    """List the folders of a clone from which a header is found under its name, sorted; () outside of any clone.

    If one of several is nearer to the source than all others, it is the only one: a project may have copies.

    Args:
        header: as it is included, `csrc/util.h`.
        folder: of the source.
    """
    return _nearest(all_folders_with(header, folder), Path(os.path.realpath(folder)))


def all_folders_with(header: str, folder: Path) -> tuple[Path, ...]:
    """List the folders of all copies of a header in a clone, sorted.

    Args:
        header: as it is included, `csrc/util.h`.
        folder: of the source.
    """
    parts = PurePosixPath(header).parts
    if not parts or header.startswith("/") or ".." in parts:
        return ()
    root = work_tree(Path(os.path.realpath(folder)))
    if root is None:
        return ()
    folders: set[Path] = set()
    for path in _files(root).get(parts[-1], ()):
        if path.parts[-len(parts) :] == parts:
            folders.add(path.parents[len(parts) - 1])
    return tuple(sorted(folders))


def _nearest(folders: Iterable[Path], source: Path) -> tuple[Path, ...]:
    """Return the folder that shares more of its path with the source's than all others, or all of them, sorted."""
    shared: dict[Path, int] = {}
    for folder in folders:
        shared[folder] = len(Path(os.path.commonpath((folder, source))).parts)
    most = [folder for folder in shared if shared[folder] == max(shared.values())]
    if len(most) == 1:
        return tuple(most)
    return tuple(shared)


def origin_of(header: str, folder: Path) -> Path | None:
    """Find the file of a clone from which its build makes a header: `config.h.in`, or `data.proto` for `data.pb.h`.

    Of several, it is that in folders as the header's, `a/config.h.in` for `a/config.h`, or else the nearest.

    Args:
        header: as it is included.
        folder: of the source.

    Returns:
        None where there is none, or where several are alike.
    """
    source = Path(os.path.realpath(folder))
    root = work_tree(source)
    if root is None:
        return None
    alike: dict[int, list[Path]] = {}
    for name in made_headers.origins(header):
        for path in _files(root).get(name, ()):
            alike.setdefault(_same_folders(path, PurePosixPath(header)), []).append(path)
    if not alike:
        return None
    origins = _nearest(alike[max(alike)], source)
    return origins[0] if len(origins) == 1 else None


def _same_folders(path: Path, header: PurePosixPath) -> int:
    """Count the folders that end both the path of a file and that of a header."""
    pairs = zip(reversed(path.parts[:-1]), reversed(header.parts[:-1]), strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def named(patterns: Iterable[str], folder: Path) -> tuple[Path, ...]:
    """List the files of a clone whose names match one of some patterns, the nearest first; () outside of any clone.

    Args:
        patterns: as `*.py`.
        folder: of the source.
    """
    source = Path(os.path.realpath(folder))
    root = work_tree(source)
    if root is None:
        return ()
    form = re.compile("|".join(map(fnmatch.translate, patterns)))
    found = [path for name, paths in _files(root).items() if form.match(name) for path in paths]
    return tuple(sorted(found, key=lambda path: (-len(Path(os.path.commonpath((path, source))).parts), path)))


def bringing_command(header: str, folder: Path) -> str:
    """Return the command that brings a header of a submodule which a clone does not hold; "" where there is none.

    Args:
        header: as it is included, `dmlc/omp.h`.
        folder: of the source.
    """
    root = work_tree(Path(os.path.realpath(folder)))
    if root is None:
        return ""
    absent = [path for path in _submodules(root) if not any((root / path).glob("*"))]
    library = re.sub(r"\W", "", _PARTS.get(PurePosixPath(header).parts[0], PurePosixPath(header).parts[0])).lower()
    for path in absent:
        name = re.sub(r"\W", "", PurePosixPath(path).name).lower()
        if len(name) > 2 and (library.startswith(name) or name.startswith(library)):
            return f"git submodule update --init {path}"
    return ""


def _submodules(root: Path) -> list[str]:
    """List the folders of submodules that a clone names."""
    try:
        text = (root / ".gitmodules").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return re.findall(r"^\s*path\s*=\s*(.+?)\s*$", text, re.MULTILINE)


@lru_cache(maxsize=4)
def _files(root: Path) -> dict[str, list[Path]]:
    """The files of a work tree by their names."""
    files: dict[str, list[Path]] = {}
    for number, path in enumerate(_walk(root)):
        if number >= _MOST_FILES:
            break
        files.setdefault(path.name, []).append(path)
    return files


def _walk(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _LEFT_OUT]
        for name in names:
            yield Path(folder, name)

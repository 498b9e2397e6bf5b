"""Paths made of names that a job chose; none leads out of its folder."""

from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.storage.compressed import SUFFIX


def safe_join(root: Path, relative: str) -> Path:
    """Join a path below `root`.

    Raises:
        StorageError: it would leave `root`, or is absolute or empty.
    """
    parts = relative.split("/")
    if not relative or "\0" in relative or any(part in ("", ".", "..") for part in parts):
        raise StorageError(f"{relative!r} is not a path inside {root}: use names without '..' or a leading '/'")
    return root.joinpath(*parts)


def refuse_links(root: Path, path: Path) -> None:
    """Refuse a path with a symbolic link below `root`; `root` itself may be one.

    Raises:
        StorageError: a part of it is a symbolic link.
    """
    prefix = root
    for part in path.relative_to(root).parts:
        prefix /= part
        if prefix.is_symlink():
            raise StorageError(f"{prefix} is a symbolic link, and nothing is written through one; put a folder there")


def dump_name(buffer: str, revision: str) -> str:
    """A dump's file name: `sum.1.4`. A slash in a revision becomes a dash, and so does the dot of a last `.zst`."""
    label = revision.replace("/", "-")
    if label.endswith(SUFFIX):
        label = f"{label.removesuffix(SUFFIX)}-{SUFFIX[1:]}"
    return f"{buffer}.{label}"


def compressed_path(plain: Path) -> Path:
    """The path of a dump that is compressed: `sum.1.4.zst` for `sum.1.4`."""
    return plain.with_name(plain.name + SUFFIX)


def find_dump(folder: Path, buffer: str, revision: str) -> Path:
    """Find the file of a dump: `sum.1.4`, or `sum.1.4.zst` if only that exists."""
    plain = folder / dump_name(buffer, revision)
    compressed = compressed_path(plain)
    return compressed if not plain.exists() and compressed.exists() else plain


def split_name(name: str) -> tuple[str, str] | None:
    """Buffer and revision of a dump's file name; None for other files (hidden ones, `baseline.yaml`).

    `sum.1.4.zst` is the same dump as `sum.1.4`, compressed.
    """
    buffer, dot, revision = name.partition(".")
    if not (buffer and dot and revision) or name == "baseline.yaml":
        return None
    return buffer, revision.removesuffix(SUFFIX)

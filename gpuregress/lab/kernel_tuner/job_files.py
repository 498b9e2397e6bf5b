"""Files of a converted job, written together: the job itself, its arrays and its source."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import storage
from gpuregress.foundation.document import yaml_writer
from gpuregress.foundation.errors import UsageError

_MARK = "# Written by gpuregress.from_kernel_tuner for the kernel"
"""How the first line of a converted job begins; its kernel's name follows. A later call for it replaces the job."""
_FILES = "# Its files: "
"""How the second line begins; the files that a later call may replace follow."""


@dataclass(slots=True)
class JobFiles:
    """The files of one job.

    Attributes:
        target: the job.
        kernel: its kernel, with template arguments.
    """

    target: Path
    kernel: str
    _contents: dict[str, bytes | npt.NDArray[Any]] = field(default_factory=dict)

    def add(self, name: str, contents: bytes | npt.NDArray[Any]) -> str:
        """Add a file of the job's folder, and return its path from the job on.

        Args:
            name: of the file.
            contents: its bytes, or an array for a `.npy`.
        """
        relative = f"{self.target.stem}/{name}"
        self._contents[relative] = contents
        return relative

    @contextlib.contextmanager
    def written(self, job: dict[str, Any]) -> Iterator[None]:
        """Write everything, the job last, for a block that reads it; where the block fails, all is as it was before.

        Raises:
            UsageError: a file is there that an earlier call for this kernel did not write; nothing is written.
            StorageError: a file cannot be written.
        """
        mark = f"{_MARK} {self.kernel}\n"
        earlier = self._earlier(mark)
        with storage.scratch(self.target.parent) as aside:
            paths = [self.target, *(self.target.parent / relative for relative in self._contents)]
            was = {path: aside / str(number) for number, path in enumerate(paths) if path.exists()}
            for path, saved in was.items():
                if not storage.link_file(path, saved, read_only=False):
                    storage.copy_file(path, saved)
            try:
                self._write(job, mark)
                yield
            except BaseException:
                for path in paths:
                    if path in was:
                        was[path].replace(path)
                    else:
                        path.unlink(missing_ok=True)
                with contextlib.suppress(OSError):  # it holds files of the user or of an earlier call
                    (self.target.parent / self.target.stem).rmdir()
                raise
        for relative in earlier - set(self._contents):
            (self.target.parent / relative).unlink(missing_ok=True)

    def _write(self, job: dict[str, Any], mark: str) -> None:
        for relative, contents in self._contents.items():
            with storage.atomic(self.target.parent / relative) as file:
                if isinstance(contents, bytes):
                    file.write(contents)
                else:
                    np.save(file, contents)
        head = f"{mark}{_FILES}{', '.join(self._contents)}\n"
        storage.write_atomic(self.target, f"{head}{yaml_writer.write(job)}".encode())

    def _earlier(self, mark: str) -> set[str]:
        """The files of the earlier call that wrote the job; UsageError where one that is there is not its."""
        advice = f"not written by from_kernel_tuner for {self.kernel}: remove it, or name another job by path="
        if storage.is_foreign(self.target, mark):
            raise UsageError(f"{self.target} is already there, and was {advice}")
        lines = storage.read_bytes(self.target).decode(errors="replace").splitlines() if self.target.exists() else []
        listed = next((line.removeprefix(_FILES) for line in lines[1:2] if line.startswith(_FILES)), "")
        # Only names of its own folder: the line may have been edited.
        earlier = {name for name in listed.split(", ") if re.fullmatch(rf"{re.escape(self.target.stem)}/[^/]+", name)}
        for relative in self._contents:
            path = self.target.parent / relative
            if path.exists() and relative not in earlier:
                raise UsageError(f"{path} is already there, and was {advice}")
        return earlier

"""Loading of a job file: YAML, then validation, with all errors at once.

A part that is wrong is taken out and the rest is judged further, so that an unknown key in line 3 does not hide a block
of 2048 threads in line 20. Removed parts are remembered, so that their consequences are not reported.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gpuregress.foundation.document import reader
from gpuregress.foundation.document.forms import FormError, FormErrors
from gpuregress.foundation.document.keys import show
from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Document, Key
from gpuregress.foundation.errors import JobError, JobErrors
from gpuregress.gpu.records import Record
from gpuregress.jobs.spec.models.job import JobSpec
from gpuregress.jobs.spec.models.launch import LaunchSpec

_AS_WRITTEN = ("job", "revision", "tags")
# Sections whose entries can be taken out one by one.
_SECTIONS = (
    "buffers",
    "launches",
    "signature",
    "constants",
    "function",
    "parameters",
    "where",
    "compare",
    "checks",
    "reference",
    "verify",
    "compile",
    "limits",
    "timing",
    "cost",
    "resources",
)


class JobFile(Record):
    """A loaded job file.

    Attributes:
        document: the file, with its lines.
        model: the job, without what was wrong; None where nothing could be saved.
        errors: what was wrong.
        broken: the places that were taken out, as `("buffers", "x")`.
    """

    document: Document
    model: JobSpec | None
    errors: tuple[JobError, ...]
    broken: frozenset[Key]

    @property
    def path(self) -> Path:
        """The file."""
        return self.document.path

    @property
    def job(self) -> JobSpec:
        """The model; only for a file that has one."""
        assert self.model is not None
        return self.model

    @property
    def launches(self) -> dict[int, LaunchSpec]:
        """The valid entries of `launches` by their positions in the file."""
        return dict(zip(self.positions("launches"), self.job.launches, strict=True))

    def positions(self, section: str) -> list[int]:
        """Return the positions in the file of those entries of a list that are valid."""
        written = self.document.data.get(section) if isinstance(self.document.data, dict) else None
        if not isinstance(written, list) or (section,) in self.broken:
            return []
        return [position for position in range(len(written)) if (section, position) not in self.broken]

    def is_broken(self, *sections: str) -> bool:
        """Tell whether an invalid part was removed from one of these top-level keys."""
        return any(key[0] in sections for key in self.broken)


def load_file(path: Path) -> JobFile:
    """Load a job file, without its invalid parts.

    Args:
        path: the YAML file.

    Raises:
        JobErrors: it cannot be read, or is no YAML.
    """
    return _loaded(reader.read(path, as_written=_AS_WRITTEN))


def load_text(text: str, path: Path) -> JobFile:
    """Load a job from text, as if it were in a file.

    Args:
        text: YAML.
        path: of that file, which need not exist: paths in the job are relative to its folder.

    Raises:
        JobErrors: it is no YAML.
    """
    return _loaded(reader.parse(text.encode(), path, as_written=_AS_WRITTEN))


def _loaded(document: Document) -> JobFile:
    if not isinstance(document.data, dict):
        message = f"is {show(document.data)}: a job is a mapping: job, source, …"
        raise JobErrors((JobError(document.path, 1, "", message),))
    errors: list[FormError] = []
    model: JobSpec | None = None
    try:
        model = JobSpec.of(document.data)
    except FormErrors as wrong:
        errors = list(wrong.errors)
    of_launches = _launches_error(document.data)
    if of_launches is not None and not any(error.key[0] == "function" for error in errors):
        errors = [error for error in errors if error.key[0] != "launches"]
        errors.append(of_launches)
    return _without(document, errors) if errors else JobFile(document, model, (), frozenset())


def _launches_error(data: dict[str, Any]) -> FormError | None:
    """Require launches or a function, and not both."""
    key = ("launches",)
    if "launches" not in data:
        return None if "function" in data else FormError(key, "missing key", "missing")
    if data["launches"] is None:
        return None  # which is reported
    if "function" in data:
        return FormError(key, "a job has launches or a function, and both are given: leave one out")
    if data["launches"] == []:
        return FormError(key, "expected at least one entry, got none")
    return None


def _without(document: Document, errors: Iterable[FormError]) -> JobFile:
    """Take out what is wrong, and read the rest."""
    problems = Problems(document)
    data = copy.deepcopy(document.data)
    broken: set[Key] = set()
    for error in errors:
        key = error.key_in_file(document.data)
        problems.add(key, error.message)
        if error.kind == "unknown":
            _remove(data, key)
        elif len(key) > 1 and key[0] in _SECTIONS:
            broken.add(key[:2])
        else:
            broken.add(key[:1])
    # Entries of lists from their end, so that the positions before stay right.
    for key in sorted(broken, key=_position, reverse=True):
        _remove(data, key)
    if not data.get("parameters", True):
        del data["parameters"]
    model: JobSpec | None
    try:
        model = JobSpec.of(data)
    except FormErrors:
        model = None
    return JobFile(document, model, problems.errors, frozenset(broken))


def _position(key: Key) -> int:
    return key[-1] if isinstance(key[-1], int) else -1


def _remove(data: Any, key: Key) -> None:
    for part in key[:-1]:
        data = data[part] if isinstance(data, list) else data.get(part, {})  # type: ignore[index] # int for lists
    if isinstance(data, dict):
        data.pop(key[-1], None)
    elif isinstance(key[-1], int) and key[-1] < len(data):
        del data[key[-1]]

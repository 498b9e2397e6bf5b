"""Collection of the errors of a document, reported at once."""

from __future__ import annotations

from collections.abc import Iterable

from gpuregress.foundation.document.reader import Document, Key
from gpuregress.foundation.errors import JobError, JobErrors


class Problems:
    """The errors of one document: one for each key, ordered by line.

    Args:
        document: the file they are in.
        errors: those that are known already.

    Attributes:
        reported: how often `add` was called, also for what was dropped: has a step found anything wrong?
    """

    def __init__(self, document: Document, errors: Iterable[JobError] = ()) -> None:
        self.document = document
        self._errors: dict[str, JobError] = {}
        self.reported = 0
        for error in errors:
            self._errors.setdefault(error.key, error)

    def add(self, key: Key, message: str) -> None:
        """Report an error; a second one at the same key is dropped, for it is the same mistake in another case."""
        self.reported += 1
        error = self.document.error(key, message)
        self._errors.setdefault(error.key, error)

    def __len__(self) -> int:
        return len(self._errors)

    @property
    def errors(self) -> tuple[JobError, ...]:
        """The errors, by line."""
        return tuple(sorted(self._errors.values(), key=lambda error: error.line or 0))

    def raise_if_any(self) -> None:
        """Raise JobErrors if there is an error."""
        if self._errors:
            raise JobErrors(self.errors)

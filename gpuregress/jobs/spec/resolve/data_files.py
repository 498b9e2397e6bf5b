"""Resolution of data files: of fills and references, in the project or from earlier results."""

from __future__ import annotations

import re
from collections.abc import Callable

from gpuregress.foundation import records
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.errors import GpuregressError
from gpuregress.jobs.spec.resolve import paths
from gpuregress.jobs.spec.resolve.scope import Scope

FindEarlier = Callable[[str], records.InputFile]
"""An earlier result, as `baseline:CASE/BUFFER` → its dump; raises GpuregressError."""
_EARLIER = re.compile(r"(baseline|run):")
_ARCHIVE = re.compile(r"(?P<path>.+\.npz)(?P<member>:[^:]+)", re.DOTALL)


def resolve(scope: Scope, key: Key, text: str, earlier: FindEarlier) -> records.InputFile | None:
    """Resolve a file for one case; None if it does not exist, which is reported.

    Args:
        scope: the case's numbers, which replace `{n}`; errors are reported there.
        key: of the file.
        text: as the job has it.
        earlier: finds earlier results.
    """
    named = scope.text(text, key)
    if named is None:
        return None
    if _EARLIER.match(named):
        try:
            return earlier(named)
        except GpuregressError as error:
            scope.error(key, str(error), text)
            return None
    archive = _ARCHIVE.fullmatch(named)
    path = paths.existing(scope.problems, key, archive["path"] if archive else named, "file")
    return None if path is None else records.InputFile(f"{path}{archive['member'] if archive else ''}")

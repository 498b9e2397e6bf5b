"""Source from which a CI server installs gpuregress: the one that it was installed from here.

pip records it in `direct_url.json` (PEP 610). Without that file it came from an index, by its version.
"""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from gpuregress import __version__
from gpuregress.foundation.errors import UsageError

_ASK = "name with --from what pip installs there: gpuregress==X.Y.Z, git+https://HOST/PROJECT@COMMIT, or a file"


def requirement(repository: Path) -> str | Path:
    """Return what `pip install` takes on a CI server that has a clone of a repository.

    Returns:
        A requirement; a path for a wheel or folder in the repository.

    Raises:
        UsageError: it was installed from files that the server does not have, or nobody knows from where.
    """
    try:
        text = importlib.metadata.distribution("gpuregress").read_text("direct_url.json")
        origin: dict[str, Any] = json.loads(text) if text else {}
        url = str(origin["url"]) if origin else ""
    except (importlib.metadata.PackageNotFoundError, ValueError, KeyError, TypeError) as error:
        why = f"it is not known where gpuregress was installed from ({type(error).__name__})"
        raise UsageError(f"{why}; {_ASK}") from None
    if not url:
        return f"gpuregress=={__version__}"
    folder = f"#subdirectory={origin['subdirectory']}" if origin.get("subdirectory") else ""
    where = urlsplit(url)
    if where.scheme == "file":
        path = Path(unquote(where.path)).resolve()
        if path.is_relative_to(repository.resolve()) and "vcs_info" not in origin:
            return path
        raise UsageError(f"gpuregress was installed here from {path}, which a CI server does not have; {_ASK}")
    if "vcs_info" in origin:
        version = origin["vcs_info"]
        return f"{version['vcs']}+{url}@{version['commit_id']}{folder}"
    return f"gpuregress @ {url}{folder}"

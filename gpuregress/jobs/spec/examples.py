"""Examples of every key, by model.

They are in `examples.yaml`; docs/reference/job-keys.md shows them, and the tests load them.
"""

from __future__ import annotations

from pathlib import Path

import yaml

_PIECES: dict[str, list[str]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
(SETTINGS_EXAMPLE,) = _PIECES.pop("Settings")
EXAMPLES = {model: pieces[0] for model, pieces in _PIECES.items()}
"""Model → a piece of a job that shows all its keys."""
OTHER_EXAMPLES = {model: pieces[1:] for model, pieces in _PIECES.items()}
"""Model → further pieces, for keys that cannot stand beside the others."""

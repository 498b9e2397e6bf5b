"""Keys of a document, and the limits of what messages show of them."""

from __future__ import annotations

Key = tuple[str | int, ...]
"""The path to a value: `("buffers", "x", "shape", 0)`."""

MAX_BITS = 128
"""Of a whole number in a document."""

MAX_SHOWN = 60
"""Characters of a name or a value in a message."""

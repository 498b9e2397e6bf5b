"""Names of macros that break the headers which the compiler includes by itself.

`data/header_names.txt` has the identifiers of NVRTC 13.5's own headers with which, as a macro of the value 7, an empty
kernel does not compile. `python -m tests.toolchain.header_names` writes it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from gpuregress.foundation import read_log

TABLE = Path(__file__).parent.parent / "data" / "header_names.txt"
_KEYWORDS = frozenset(
    (
        *("alignas", "bool", "char", "class", "const", "constexpr", "delete", "double", "enum", "extern", "float"),
        *("inline", "int", "long", "namespace", "new", "noexcept", "operator", "private", "public", "return", "short"),
        *("signed", "sizeof", "static", "struct", "template", "true", "typedef", "typename", "union", "unsigned"),
        "void",
    )
)


def breaks_headers(name: str, text: str) -> bool:
    """Tell whether a macro breaks the compiler's own headers.

    Args:
        name: of the macro.
        text: its value; a keyword may become another word, as `inline` becomes `__forceinline__`.
    """
    if name in _KEYWORDS and (not text or text.isidentifier()):
        return False
    read_log.note(TABLE)
    return name in _names()


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    return frozenset(TABLE.read_text(encoding="ascii").split())

"""Recognition of library files among those that PTX names: headers of CUDA, functions of Triton."""

from __future__ import annotations

import re
import sysconfig
from functools import lru_cache
from pathlib import Path

from gpuregress.toolchain.headers import virtual_headers

_FILE = re.compile(r'^[ \t]*\.file[ \t]+\d+[ \t]+"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_NVRTC_HEADER = "__nv_nvrtc_builtin_header.h"
"""NVRTC's own header, which is no file; its path begins with the working folder."""
_GIVEN_HEADERS = frozenset(map(Path, (virtual_headers.PRELUDE, *virtual_headers.HEADERS)))
"""Headers that NVRTC is given as text."""


def library_files(ptx: str) -> tuple[str, ...]:
    """Return the files of the `.file` directives of a PTX text that belong to libraries, in its order.

    A fault in one of them is reported at the line of the user that called it.
    """
    return tuple(name for name in dict.fromkeys(_FILE.findall(ptx)) if _is_library_file(name))


@lru_cache(maxsize=1024)
def _is_library_file(name: str) -> bool:
    """Tell whether a file of a `.file` directive belongs to a library.

    Args:
        name: relative to the folder in which the compiler found it (`compiler_messages.portable_paths`), or absolute
            in PTX of another compiler, which has CUDA's headers in a folder `include`.
    """
    path = Path(name.rpartition("/include/")[2] if name.startswith("/") else name)
    folders = (*virtual_headers.cuda_folders(), Path(sysconfig.get_path("purelib")))
    is_given = path in _GIVEN_HEADERS or path.name == _NVRTC_HEADER
    return is_given or any((folder / path).is_file() for folder in folders)

"""Files of libraries that compilers bring along: headers of CUDA and CCCL, functions of Triton."""

from __future__ import annotations

import sysconfig
from functools import lru_cache
from pathlib import Path

from gpuregress.toolchain.headers import virtual_headers

_BUILTIN = "__nv_nvrtc_builtin_header.h"
"""NVRTC's own header, which is no file; its path begins with the working folder."""
_GIVEN = frozenset(map(Path, (virtual_headers.PRELUDE, *virtual_headers.HEADERS)))
"""Headers that NVRTC is given as text."""


@lru_cache(maxsize=1024)
def is_library_file(name: str) -> bool:
    """Tell whether a file is one of a library, by its name in a `.file` directive of PTX.

    Args:
        name: relative to the folder in which the compiler found it (`compiler_messages.portable_paths`), or absolute
            in PTX of another compiler, which has CUDA's headers in a folder `include`.
    """
    path = Path(name.rpartition("/include/")[2] if name.startswith("/") else name)
    folders = (*virtual_headers.cuda_folders(), Path(sysconfig.get_path("purelib")))
    return path in _GIVEN or path.name == _BUILTIN or any((folder / path).is_file() for folder in folders)

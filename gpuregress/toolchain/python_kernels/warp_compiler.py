"""Compiler of Warp kernels to PTX; needs no GPU and no driver.

Warp translates the kernels of a Python module to CUDA C++ and compiles them with an NVRTC of its own. A kernel's first
parameter is the bounds of its launch, and an array is a struct. Only forward kernels are compiled: those of the
backward pass are Warp's to call.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import CompiledLaunch, PythonKernel, WarpLaunch, WarpParameter
from gpuregress.foundation.usermodules import first_words
from gpuregress.foundation.wording import suggestion

_DECIDED = {"strip_hash": True, "enable_backward": False, "lineinfo": True, "cuda_output": "ptx"}
"""Options of a Warp module that are no job's: names without a hash, and PTX with the user's lines."""


def prepare(_arch: str) -> None:
    """Keep Warp from writing to the terminal, and from building what only speeds up its next compilation.

    Warp's modules of files that were imported before are removed from its register. A file of the same name, or the
    same file when it is imported anew, would share one: its kernels, and the options that the other file sets.
    """
    import warp  # noqa: PLC0415 - an extra, and heavy

    warp.config.log_level = warp.LOG_ERROR
    warp.config.use_precompiled_headers = False
    registered = sys.modules[warp.get_module.__module__].user_modules
    for name in list(registered):
        if name not in sys.modules:  # of a user's file, not of an installed package
            del registered[name]


def compile_kernel(module: ModuleType, kernel: PythonKernel, arch: str) -> tuple[str, CompiledLaunch]:
    """Compile a kernel to PTX, with the other kernels of its file.

    Args:
        module: the user's, imported.
        kernel: what is compiled.
        arch: `sm_90`.

    Returns:
        The PTX, and how Warp launches the kernel.

    Raises:
        CompileError: there is no such kernel, or Warp has no such option.
        Exception: what Warp raises where it does not compile.
    """
    import warp  # noqa: PLC0415 - an extra, and heavy

    given: Any = getattr(module, kernel.function)
    if not isinstance(given, warp.Kernel):
        raise CompileError(f"{kernel.function} is not a Warp kernel: it needs @wp.kernel")
    if given.is_generic:
        raise CompileError(f"{kernel.function} is generic: give each parameter one type; a job launches one kernel")
    known = sorted(set(given.module.options) - set(_DECIDED))
    for name in kernel.settings:
        if name not in known:
            raise CompileError(f"Warp's modules have no option {name!r}{suggestion(name, known)}")
    # The Warp module is that of the kernel's own file, which the job's file may only import. It outlives this case.
    options = dict(given.module.options)
    warp.set_module_options({**kernel.settings, **_DECIDED}, module=given.module)
    try:
        return _compiled(given, int(re.sub(r"\D", "", arch)))
    finally:
        given.module.options.clear()
        given.module.options.update(options)


def _compiled(given: Any, number: int) -> tuple[str, CompiledLaunch]:
    """Compile a Warp kernel by the options of its Warp module.

    Args:
        given: the kernel.
        number: of the architecture, 90.
    """
    import warp  # noqa: PLC0415 - an extra, and heavy

    with tempfile.TemporaryDirectory(prefix="gpuregress-warp-") as folder:
        files = warp.compile_aot_module(given.module, arch=number, module_dir=folder, use_ptx=True, strip_hash=True)
        ptx = Path(files[0]).read_text(encoding="utf-8").rstrip("\0")
        (facts,) = Path(folder).glob("*.meta")
        shared = json.loads(facts.read_text(encoding="utf-8"))
    entry = f"{given.get_mangled_name()}_cuda_kernel_forward"
    launch = CompiledLaunch(
        block=(given.module.options["block_dim"], 1, 1),
        shared=shared[f"{entry}_smem_bytes"],
        entry=entry,
        warp=WarpLaunch(given.adj.kernel_dim, tuple(_parameter(argument) for argument in given.adj.args)),
    )
    return ptx, launch


def _parameter(argument: Any) -> WarpParameter:
    """Describe a parameter of a kernel by the type that the kernel declares.

    Raises:
        CompileError: it is an array of another layout than `array_t`.
    """
    from warp import types  # noqa: PLC0415 - an extra

    name, given = argument.label, argument.type
    if not types.is_array(given):
        return WarpParameter(name, given.__name__ if types.type_is_scalar(given) else "")
    if not argument.ctype().startswith("wp::array_t<"):
        raise CompileError(f"parameter {name!r} is not a plain array: a job passes wp.array, without indices")
    scalar = getattr(given.dtype, "_wp_scalar_type_", given.dtype)  # of a vector, a matrix or a quaternion
    if types.type_is_scalar(scalar):
        return WarpParameter(name, scalar.__name__, given.ndim, tuple(getattr(given.dtype, "_shape_", ())))
    return WarpParameter(name, "", given.ndim, (types.type_size_in_bytes(given.dtype),))


def describe_error(wrong: BaseException, _text: str) -> tuple[str, int]:
    """Return the reason of an error of Warp, and the line of the user's file; "" if it is none of Warp's.

    Args:
        wrong: what Warp raised.
    """
    text = str(wrong.args[0]) if wrong.args else ""
    named = re.search(r'^Error while parsing function "[^"]*" at .*:(\d+):$', text, re.MULTILINE)
    reason = first_words(text.rpartition("\n;")[2])
    if named is None:
        return "", 0
    return reason, int(named[1])

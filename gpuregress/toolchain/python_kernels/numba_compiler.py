"""Compiler of Numba kernels to PTX; needs no GPU and no driver.

Numba passes an array as the fields of a struct, each a parameter of its own: two pointers to the owner, the number of
elements and the bytes of one, the address, then the extents and the strides of each axis.

Numba's dispatcher has the driver link what a kernel calls beside its own code: CUDA C++ of Numba (float16 arithmetic,
`reshape`), and what `link=` names. Here the files are compiled to PTX and merged with that of the kernel.
"""

from __future__ import annotations

import re
import tempfile
import warnings
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import SM_90, CompiledLaunch, PythonKernel, Source
from gpuregress.foundation.usermodules import first_words
from gpuregress.toolchain import nvrtc, ptx_linker

PACKAGE = "numba-cuda"
_RESHAPE = "numba_attempt_nocopy_reshape", "nocopy_empty_reshape"
"""Functions of the file `reshape_funcs.cu`, which the dispatcher links where a kernel's PTX names one."""


_LOCATION = re.compile(r"^([ \t]*\.loc[ \t]+\d+[ \t]+\d+[ \t]+\d+)[^\n]*", re.MULTILINE)
_SECTION = re.compile(r"^[ \t]*\.section\b[^{]*\{[^}]*\}\n?", re.MULTILINE)
_DECORATED = ("fastmath", "opt", "launch_bounds")
"""Arguments of `@cuda.jit` that decide what a kernel is compiled to, beside `link`."""


class _VirtualDevice:
    """The GPU that Numba is given, which it asks for to compile device functions and kernels with a signature.

    Args:
        arch: `sm_90`.
    """

    WARP_SIZE = SM_90.warp_size
    id = 0
    name = b"virtual GPU of gpuregress"

    def __init__(self, arch: str) -> None:
        self.compute_capability = _capability(arch)

    @property
    def device(self) -> _VirtualDevice:
        """The device of this context, which is the device itself."""
        return self


def _capability(arch: str) -> tuple[int, int]:
    return divmod(int(re.sub(r"\D", "", arch)), 10)


def prepare(arch: str) -> None:
    """Answer Numba where it asks for the current GPU.

    Args:
        arch: `sm_90`, the GPU that it is given.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from numba.cuda import api, dispatcher  # noqa: PLC0415 - an extra, and heavy
        from numba.cuda.cudadrv import devices  # noqa: PLC0415 - an extra

    device = _VirtualDevice(arch)
    devices.get_context = api.current_context = lambda *_: device
    # A kernel with a signature is loaded when it is defined. Nobody launches it here.
    dispatcher._Kernel.bind = lambda _kernel: None  # noqa: SLF001 - there is no public way


def compile_kernel(module: ModuleType, kernel: PythonKernel, arch: str) -> tuple[str, CompiledLaunch]:
    """Compile a kernel to PTX.

    Args:
        module: the user's, imported.
        kernel: what is compiled.
        arch: `sm_90`.

    Returns:
        The PTX, and how Numba passes the arguments.

    Raises:
        CompileError: it takes other arguments, or links what is neither CUDA C++ nor PTX.
        Exception: what Numba raises where it does not compile.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from numba import cuda, types  # noqa: PLC0415 - an extra, and heavy
        from numba.core import sigutils  # noqa: PLC0415 - an extra
        from numba.cuda.cudadrv import nvrtc as numba_nvrtc  # noqa: PLC0415 - an extra

        given: Any = getattr(module, kernel.function)
        function = getattr(given, "py_func", given)
        arguments, _ = sigutils.normalize_signature(f"void({', '.join(kernel.signature.values())})")
        odd = [one for one in arguments if not isinstance(one, types.Array | types.Number | types.Boolean)]
        if odd:
            raise CompileError(f"{kernel.function}: {odd[0]} cannot be passed; arrays, numbers and booleans can")
        targets: dict[str, Any] = getattr(given, "targetoptions", {})
        chosen = {name: targets[name] for name in _DECORATED if targets.get(name) is not None}
        options = {"lineinfo": True, **chosen, **kernel.settings}

        def linked_text(text: str | bytes, name: str, *_: object, **__: object) -> tuple[str, str]:
            """Compile CUDA C++ that is linked, as Numba's own function does, which needs a driver for it."""
            return _compiled(text, name, arch), ""

        numba_nvrtc.compile = linked_text
        codes, _ = cuda.compile_all(
            function,
            types.void(*arguments),
            cc=_capability(arch),
            device=False,
            abi="numba",
            output="ptx",
            **options,
        )
    own, *linked = codes
    texts = [_text_of(one, arch) for one in (*linked, *(targets.get("link") or ()))]
    if any(name in str(own) for name in _RESHAPE):
        texts.append(_text_of(str(Path(cuda.__file__).with_name("reshape_funcs.cu")), arch))
    # Different texts in an order of their own: Numba keeps what is linked in a set.
    others = [_without_debug_sections(text) for text in sorted(set(texts))]
    text = ptx_linker.linked(str(own), others)
    return text, CompiledLaunch(arguments=tuple(getattr(one, "ndim", 0) for one in arguments))


def _without_debug_sections(text: str) -> str:
    """Return PTX without the sections of its debug information, and the calls of a line that they name."""
    return _LOCATION.sub(r"\1", _SECTION.sub("", text))


def _text_of(linked: Any, arch: str) -> str:
    """The PTX of something that is linked.

    Args:
        linked: PTX, the path of a file, or an object of Numba that holds one.
        arch: `sm_90`.

    Raises:
        CompileError: it is neither CUDA C++ nor PTX, or does not compile.
    """
    from numba.cuda.cudadrv.linkable_code import CUSource, LinkableCode, PTXSource  # noqa: PLC0415 - an extra

    if isinstance(linked, str) and ".version" in linked:
        return linked
    try:
        code = LinkableCode.from_path_or_obj(linked)
    except OSError as error:
        raise CompileError(f"cannot read {error.filename}, which is linked: {error.strerror}") from error
    if isinstance(code, CUSource):
        return _compiled(code.data, code.name, arch)
    if isinstance(code, PTXSource):
        return code.data if isinstance(code.data, str) else bytes(code.data).decode(errors="replace")
    kind = type(code).__name__
    raise CompileError(f"{code.name} is linked, of the kind {kind}: link CUDA C++ or PTX, which can be merged")


def _compiled(text: str | bytes, name: str, arch: str) -> str:
    """Compile CUDA C++ to PTX.

    Args:
        text: the content.
        name: of the file, for messages.
        arch: `sm_90`.

    Raises:
        CompileError: it does not compile.
    """
    content = text.decode(errors="replace") if isinstance(text, bytes) else text
    with tempfile.TemporaryDirectory(prefix="gpuregress-numba-") as folder:
        path = Path(folder) / f"{Path(name).stem}.cu"
        path.write_text(content, encoding="utf-8")
        # The symbol that `nvrtc` puts before every source is external here: each file has one of its own.
        unit = {nvrtc.UNIT: f"{nvrtc.UNIT}_{zlib.crc32(content.encode()):08x}"}
        options = ("--relocatable-device-code=true",)
        source = Source(str(path), options=options, defines=unit, arch=arch, host_code="keep")
        return nvrtc.compile_source(source, content).ptx


def describe_error(wrong: BaseException, _text: str) -> tuple[str, int]:
    """Return the reason of an error of Numba, and the line of the user's file; "" if it is none of Numba's.

    Args:
        wrong: what Numba raised.
    """
    if not type(wrong).__module__.startswith("numba"):
        return "", 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(wrong))
    named = re.search(r'File "[^"]*", line (\d+)', text)
    line = named[1] if named else getattr(getattr(wrong, "loc", None), "line", None)
    reason = first_words("\n".join(line for line in text.splitlines() if not line.startswith("Failed in ")))
    return reason or type(wrong).__name__, int(line or 0)

"""Compiler of Triton kernels to PTX; needs no GPU, no driver and no PyTorch.

Triton's own cache is not used: its folder is a new one for each process, and gpuregress keeps the PTX by its content.
"""

from __future__ import annotations

import dataclasses
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import CompiledDescriptor, CompiledLaunch, PythonKernel
from gpuregress.foundation.wording import suggestion
from gpuregress.gpu.descriptors import SPANS
from gpuregress.toolchain.python_kernels import autotuning

PACKAGE = "triton"
_ARGUMENT = re.compile(r"(?P<type>.+?)(?P<aligned>:16)?")
_ASSEMBLY = re.compile(r"// begin inline asm\n.*?// end inline asm\n", re.DOTALL)
_LOCATION = re.compile(r"^([ \t]*\.loc[ \t][^\n]*\n)", re.MULTILINE)
_DEFAULTS = {"enable_fp_fusion": True}
"""Triton 3.9 announces another default: what the numbers depend on is written down."""


class _VirtualDriver:
    """A driver for files that ask Triton for the GPU when they are imported; it has no memory and no streams."""

    def __init__(self, arch: str) -> None:
        self._capability = int(re.sub(r"\D", "", arch))

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget  # noqa: PLC0415 - an extra, and heavy

        return GPUTarget("cuda", self._capability, 32)

    def get_current_device(self) -> int:
        return 0

    def get_device_capability(self, _device: object = 0) -> tuple[int, int]:
        return divmod(self._capability, 10)

    def get_active_torch_device(self) -> Any:
        import torch  # type: ignore[import-not-found] # noqa: PLC0415 - only where the user's file has imported it

        return torch.device("cuda", 0)


def prepare(arch: str) -> None:
    """Answer files that ask Triton for the current GPU while they are imported.

    Args:
        arch: `sm_90`, the GPU that they are given.
    """
    import triton  # noqa: PLC0415 - an extra, and heavy

    triton.runtime.driver.set_active(_VirtualDriver(arch))


def compile_kernel(module: ModuleType, kernel: PythonKernel, arch: str) -> tuple[str, CompiledLaunch]:
    """Compile a kernel to PTX.

    Args:
        module: the user's, imported.
        kernel: what is compiled.
        arch: `sm_90`.

    Returns:
        The PTX, and what Triton decided about the launch.

    Raises:
        CompileError: there is no such kernel, or it takes other arguments.
        Exception: what Triton raises where it does not compile.
    """
    import triton  # noqa: PLC0415 - an extra, and heavy
    from triton.backends.compiler import GPUTarget  # noqa: PLC0415 - an extra
    from triton.backends.nvidia.compiler import CUDAOptions  # noqa: PLC0415 - an extra
    from triton.compiler import ASTSource  # noqa: PLC0415 - an extra

    given = getattr(module, kernel.function)
    function = _kernel(given)
    names = list(function.arg_names)
    constants = {name: _constant(value) for name, value in kernel.constants.items()}
    constants |= autotuning.values(given, kernel, constants)
    signature = dict.fromkeys(names, "constexpr")
    attributes: dict[tuple[int, ...], list[list[object]]] = {}
    for name, text in kernel.signature.items():
        if name not in names:
            raise CompileError(f"{kernel.function} has no parameter {name!r}; it has {', '.join(names)}")
        match = _ARGUMENT.fullmatch(text)
        assert match is not None
        signature[name] = match["type"]
        if match["aligned"]:
            attributes[names.index(name),] = [["tt.divisibility", 16]]
    constants |= _defaults(function, {*kernel.signature, *constants})
    missing = [name for name in names if name not in kernel.signature and name not in constants]
    if missing:
        raise CompileError(f"{kernel.function}: parameter {missing[0]!r} has neither a type nor a value")
    source = ASTSource(
        function, signature, {(names.index(name),): value for name, value in constants.items()}, attributes
    )
    known = {one.name for one in dataclasses.fields(CUDAOptions)}
    odd = [name for name in kernel.settings if name not in known]
    if odd:
        raise CompileError(f"Triton has no option {odd[0]!r}{suggestion(odd[0], sorted(known))}")
    target = GPUTarget("cuda", int(re.sub(r"\D", "", arch)), 32)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="gpuregress-triton-") as folder:
        warnings.simplefilter("ignore")
        triton.knobs.cache.dir = folder
        triton.knobs.runtime.add_stages_inspection_hook = _without_assembler
        compiled = triton.compile(source, target=target, options={**_DEFAULTS, **kernel.settings})
        ptx = compiled.asm["ptx"]
    return _with_lines_of_assembly(ptx), _launch(kernel, ptx, compiled.metadata)


def _with_lines_of_assembly(ptx: str) -> str:
    """Give all of an inline assembly the line of its beginning: LLVM counts on within it, away from the user's line."""
    return _ASSEMBLY.sub(lambda block: _first_location_only(block[0]), ptx)


def _first_location_only(block: str) -> str:
    first, *others = _LOCATION.split(block)
    return first if not others else first + "".join(others[:2]) + "".join(others[3::2])


def describe_error(wrong: BaseException, text: str) -> tuple[str, int]:
    """Return the reason of an error of Triton, and the line of the user's file; "" if it names none.

    Args:
        wrong: what Triton raised.
        text: of that file. Triton counts lines from the function's first, so its text is looked up there.
    """
    for one in reversed([one for one in _chain(wrong) if getattr(one, "node", None) is not None]):
        source, begin = getattr(one, "src", None), -1
        if isinstance(source, str) and source.strip():
            begin = text.find(source.strip())
        if begin >= 0:
            line = text.count("\n", 0, begin) + int(getattr(one.node, "lineno", 1))  # type: ignore[attr-defined] # see above
            return _reason(one), line
    return "", 0


def _reason(wrong: BaseException) -> str:
    """The first two lines of the reason: Triton's own words, or the Python exception that they come from."""
    words = str(getattr(wrong, "error_message", None) or "").strip()
    cause = wrong.__cause__
    if not words and cause is not None:
        words = f"{type(cause).__name__}: {cause}".strip()
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return " ".join(lines[:2]) or type(wrong).__name__


def _chain(wrong: BaseException | None) -> Iterator[BaseException]:
    while wrong is not None:
        yield wrong
        wrong = wrong.__cause__


def _kernel(given: Any) -> Any:
    """The kernel behind `@triton.autotune` and `@triton.heuristics`, whose configurations are the job's parameters."""
    while not hasattr(given, "arg_names") or (hasattr(given, "fn") and hasattr(given.fn, "arg_names")):
        if not hasattr(given, "fn"):
            raise CompileError(f"{getattr(given, '__name__', given)} is not a Triton kernel: it needs @triton.jit")
        given = given.fn
    if not hasattr(given, "params"):
        raise CompileError(f"{getattr(given, '__name__', given)} is not a Triton kernel: it needs @triton.jit")
    return given


def _defaults(function: Any, given: set[str]) -> Mapping[str, Any]:
    """The defaults of the function's parameters that are not given."""
    return {one.name: one.default for one in function.params if one.name not in given and one.has_default}


def _constant(value: Any) -> Any:
    """A value of the job as Triton takes it: `tl.float16` is the type."""
    if isinstance(value, str) and value.startswith("tl."):
        import triton.language as tl  # noqa: PLC0415 - an extra

        return getattr(tl, value.removeprefix("tl."), value)
    return value


def _launch(kernel: PythonKernel, ptx: str, metadata: Any) -> CompiledLaunch:
    """Read the launch from the PTX and from Triton's metadata."""
    threads = re.search(r"\.reqntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", ptx)
    x, y, z = (int(number or 1) for number in threads.groups()) if threads else (metadata.num_warps * 32, 1, 1)
    scratch = (metadata.global_scratch_size, metadata.profile_scratch_size)
    return CompiledLaunch(
        block=(x, y, z),
        shared=metadata.shared,
        cluster=metadata.num_ctas if metadata.num_ctas > 1 else None,
        descriptors=_descriptors(kernel, getattr(metadata, "tensordesc_meta", None)),
        hidden=tuple(size * metadata.num_ctas for size in scratch),
    )


def _descriptors(kernel: PythonKernel, decided: Any) -> tuple[CompiledDescriptor, ...]:
    """How the descriptors of a signature are passed: as tensor maps, or without where the instructions have none.

    Raises:
        CompileError: the map is of a kind that a job has no words for.
    """
    types = list(kernel.signature.values())
    positions = [at for at, text in enumerate(types) if text.startswith("tensordesc")]
    found = []
    for position, one in zip(positions, decided or [None] * len(positions), strict=True):
        axes = types[position].count(",") + 1
        if one is None:
            found.append(CompiledDescriptor(position, axes))
            continue
        if one.get("fp4_padded") or one.get("is_im2col"):
            name = list(kernel.signature)[position]
            raise CompileError(f"{kernel.function}: the descriptor {name!r} is of packed fp4 or of im2col")
        swizzle = tuple(SPANS)[one["swizzle"]]
        found.append(CompiledDescriptor(position, axes, tuple(one["block_size"]), swizzle))
    return tuple(found)


def _without_assembler(_backend: Any = None, stages: Any = None, *_: Any) -> tuple[str, str]:
    """Take out Triton's run of ptxas: gpuregress assembles the PTX itself."""
    if stages is not None:
        stages["cubin"] = lambda _ptx, _metadata: b""
    return "gpuregress", "gpuregress"

"""LLVM back-end: IR text to optimised object code, and object code to callable functions."""

from __future__ import annotations

import functools
from typing import Any

import llvmlite
import llvmlite.binding as llvm

OPTIMISATION = 2
"""LLVM's level. At 3 the kernels of kernels/ gain nothing and compile a quarter slower."""

HUGE = 16 << 20
"""Characters of IR beyond which nothing is optimised: the time of register allocation and of loop passes grows faster
than the code. A product of matrices with 2,048 mma has some 2 MB. The bits are the same: no optimisation may change
them."""


@functools.cache
def _initialise() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # x86 addresses need no strength-reduced loops: compiling takes an eighth less, and the kernels run as fast.
    llvm.set_option("", "-disable-lsr")
    # Processors that reorder instructions gain nothing from a second scheduler: a tenth of the time of large kernels.
    llvm.set_option("", "-post-RA-scheduler=false")


def _target_machine(level: int = OPTIMISATION) -> Any:
    _initialise()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=_host_features(),
        opt=level,
        reloc="pic",
        codemodel="jitdefault",
        jit=True,
    )


@functools.cache
def _host_features() -> str:
    features: str = llvm.get_host_cpu_features().flatten()
    return features


@functools.cache
def fingerprint() -> str:
    """All that decides the object code beside its source: LLVM's version, the processor."""
    _initialise()
    parts = (llvmlite.__version__, str(llvm.llvm_version_info), llvm.get_default_triple(), llvm.get_host_cpu_name())
    return " ".join((*parts, _host_features(), str(OPTIMISATION)))


def description() -> str:
    """LLVM and the processor, one line."""
    _initialise()
    version = ".".join(str(part) for part in llvm.llvm_version_info)
    return f"llvmlite {llvmlite.__version__}, LLVM {version}, {llvm.get_host_cpu_name()}"


def optimise(text: str) -> Any:
    """Parse and optimise IR; return an llvmlite module."""
    machine = _target_machine()
    module = _parsed(text, machine)
    options = llvm.create_pipeline_tuning_options(speed_level=_level(text))
    # NVRTC has unrolled the kernel's own loops; unrolling those over threads costs a quarter of compiling and gains no
    # kernel of kernels/ anything.
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def compile_object(text: str, *, is_optimised: bool = True) -> bytes:
    """IR text → object code for this processor.

    Args:
        text: the IR.
        is_optimised: else variables are put into registers and nothing more, which takes a fifth of the time for code
            that is some five times slower. The bits are the same.
    """
    level = _level(text) if is_optimised else 0
    module = optimise(text) if is_optimised or len(text) >= HUGE else _with_registers(text)
    code: bytes = _target_machine(level).emit_object(module)
    return code


def _with_registers(text: str) -> Any:
    """Parse IR and put its variables into registers (SROA)."""
    machine = _target_machine(0)
    module = _parsed(text, machine)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0))
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)
    return module


def _parsed(text: str, machine: Any) -> Any:
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_default_triple()
    module.data_layout = str(machine.target_data)
    module.verify()
    return module


def _level(text: str) -> int:
    return OPTIMISATION if len(text) < HUGE else 0


class LoadedCode:
    """Object code in memory, ready to be called.

    Args:
        code: as `compile_object` gives it.
    """

    def __init__(self, code: bytes) -> None:
        # One target machine for each engine: sharing one crashes when the first engine is closed.
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """A function's address."""
        address: int = self._engine.get_function_address(name)
        return address

    def close(self) -> None:
        """Free the code; its addresses must not be used any more."""
        self._engine.close()

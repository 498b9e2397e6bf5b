"""Frame of a function: the layout of its `.param` and `.local` variables."""

from __future__ import annotations

import re

from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import entry_alloca
from gpuregress.virtual_gpu.builder.translation_unit import byte_size, has_local_gaps
from gpuregress.virtual_gpu.builder.types import I8
from gpuregress.virtual_gpu.ptx.tree import Function, Variable
from gpuregress.virtual_gpu.runtime.machine_layout import LOCAL_GAP

_PART = re.compile(r"__local_depot\d+\$")
"""In the name of a local array that is a part of the function's depot (`toolchain.local_arrays`)."""


class Frame:
    """The frame of one function.

    Args:
        function: its syntax tree.
        llvm: the LLVM function that holds the stack slots.
        memory: results and parameters of a device function, by name; None for a kernel.
    """

    def __init__(self, function: Function, llvm: ir.Function, memory: dict[str, ir.Value] | None) -> None:
        self._llvm = llvm
        self._memory = dict(memory or {})
        self._variables = {item.name: item for item in function.variables}
        self.parameters = {item.name: item for item in function.parameters}
        self.parameter_offsets, self.parameter_bytes = lay_out(function.parameters)
        locals_ = tuple(item for item in function.variables if item.space == "local")
        self.local_offsets, size = lay_out(locals_, LOCAL_GAP if has_local_gaps(function) else 0)
        self.local_bytes = -(-size // 16) * 16
        _, declared = lay_out(tuple(item for item in locals_ if not _PART.search(item.name)))
        self.declared_local_bytes = -(-declared // 16) * 16

    def param_memory(self, name: str) -> ir.Value | None:
        """A pointer to a `.param` variable of the body, or to a device function's own; None for a kernel's."""
        if name not in self._memory and name in self._variables and self._variables[name].space == "param":
            type_ = ir.ArrayType(I8, max(1, byte_size(self._variables[name])))
            self._memory[name] = entry_alloca(self._llvm, type_, align=16)
        return self._memory.get(name)

    def variable(self, name: str) -> Variable | None:
        """A variable declared in the body."""
        return self._variables.get(name)


def lay_out(variables: tuple[Variable, ...], gap: int = 0) -> tuple[dict[str, int], int]:
    """Lay variables out one behind the other, each aligned.

    Args:
        variables: in their order.
        gap: bytes between two of them.

    Returns:
        name → first byte, and the bytes of all.
    """
    offsets: dict[str, int] = {}
    position = 0
    for item in variables:
        position = -(-position // item.alignment) * item.alignment
        offsets[item.name] = position
        position += byte_size(item) + gap
    return offsets, position - gap if variables else 0

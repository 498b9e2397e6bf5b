"""Addresses of named variables and functions, in their own state space."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import i64
from gpuregress.virtual_gpu.ptx.errors import unsupported
from gpuregress.virtual_gpu.ptx.tree import Symbol
from gpuregress.virtual_gpu.runtime.machine_layout import PARAM_WINDOW


def symbol_value(emitter: Services, symbol: Symbol) -> ir.Value:
    """The address, i64: within the window for shared and local variables, generic for all else.

    Raises:
        UnsupportedError: the name stands for something that has no address here.
    """
    unit, frame, name = emitter.unit, emitter.frame, symbol.name
    shared = unit.shared_key(emitter.function.name, name)
    if shared is not None:
        start = i64(unit.shared_starts[shared] + symbol.offset)
        return emitter.builder.add(emitter.view.field("shared_base"), start) if emitter.view.clustered else start
    if name in frame.local_offsets:
        return emitter.builder.add(emitter.thread.stack, i64(frame.local_offsets[name] + symbol.offset))
    if name in unit.symbol_numbers:
        return emitter.builder.add(emitter.view.symbol(name)[0], i64(symbol.offset))
    if name in frame.parameter_offsets and emitter.function.is_entry:
        return i64(PARAM_WINDOW + frame.parameter_offsets[name] + symbol.offset)
    if name in unit.functions:
        unit.device_function(name)
        return i64(unit.function_address(name))
    raise unsupported(emitter.current(), f"the address of {name} is not known")

"""Memory of a loaded module's variables: a region each, with its initial contents."""

from __future__ import annotations

import numpy as np

from gpuregress.gpu.errors import DeviceError
from gpuregress.virtual_gpu.runtime.memory import AddressSpace, Region
from gpuregress.virtual_gpu.runtime.program import ModuleFacts


def allocate_variables(facts: ModuleFacts, space: AddressSpace) -> dict[str, Region]:
    """Allocate a region for each variable, then fill them: one may hold another's address.

    Raises:
        DeviceError: an initializer names something that is not there.
    """
    regions = {item.name: space.allocate(item.name, item.size, item.itemsize, zeros=True) for item in facts.variables}
    for item in facts.variables:
        data = bytearray.fromhex(item.data)
        for slot in item.relocations:
            value = _address(facts, regions, slot.symbol, item.name) + slot.addend >> slot.shift
            end = slot.offset + slot.size
            data.extend(bytes(max(0, end - len(data))))
            data[slot.offset : end] = (value & (1 << 8 * slot.size) - 1).to_bytes(slot.size, "little")
        regions[item.name].write(np.frombuffer(bytes(data), np.uint8))
    return regions


def _address(facts: ModuleFacts, regions: dict[str, Region], symbol: str, variable: str) -> int:
    if symbol in regions:
        return regions[symbol].address
    if symbol in facts.functions:
        return facts.functions[symbol]
    raise DeviceError(f"the initializer of {variable} names {symbol}, which is not there")

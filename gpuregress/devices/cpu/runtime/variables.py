"""A loaded program's variables: regions of their own, with their first contents."""

from __future__ import annotations

import numpy as np

from gpuregress.devices.cpu.runtime.memory import AddressSpace, Region
from gpuregress.devices.cpu.runtime.program import Compiled
from gpuregress.errors import DeviceError


def place_variables(built: Compiled, space: AddressSpace) -> dict[str, Region]:
    """Gives each variable a region, then fills them: one may hold another's address.

    Raises:
        DeviceError: an initializer names something that is not there.
    """
    regions = {item.name: space.allocate(item.name, item.size, item.itemsize, zeros=True) for item in built.variables}
    for item in built.variables:
        data = bytearray.fromhex(item.data)
        for place, size, symbol, offset, shift in item.addresses:
            value = _address(built, regions, symbol, item.name) + offset >> shift
            data.extend(bytes(max(0, place + size - len(data))))
            data[place : place + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        regions[item.name].write(np.frombuffer(bytes(data), np.uint8))
    return regions


def _address(built: Compiled, regions: dict[str, Region], symbol: str, variable: str) -> int:
    if symbol in regions:
        return regions[symbol].address
    if symbol in built.functions:
        return built.functions[symbol]
    raise DeviceError(f"the initializer of {variable} names {symbol}, which is not there")

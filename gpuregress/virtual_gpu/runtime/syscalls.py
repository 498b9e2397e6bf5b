"""System calls and bulk copies of kernels, called from compiled code."""

from __future__ import annotations

import ctypes
import math
import re
import struct
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType

from gpuregress.gpu.errors import NOWHERE, CodeLine, KernelFault
from gpuregress.virtual_gpu.runtime import faults, machine_layout
from gpuregress.virtual_gpu.runtime.bulk_copies import BulkCopies
from gpuregress.virtual_gpu.runtime.fault_context import BadAccess, FaultContext, thread_of
from gpuregress.virtual_gpu.runtime.machine_layout import (
    BULK_ARRIVE,
    BULK_END,
    BULK_ISSUE,
    BULK_SEND,
    FAULT_ACCESS,
    FAULT_FAR,
    FAULT_HOST,
    LOCAL_WINDOW,
    SYSTEM_CALLS,
    Machine,
)
from gpuregress.virtual_gpu.runtime.memory import AddressSpace, offset_in

# --- printf -----------------------------------------------------------------------------------------------------------
# CUDA's printf, from a format string and packed arguments to text.
#
# As there, a precision is digits and never `*`: a GPU prints such a conversion as it stands, and so does this. (The
# sizes C has beyond h, l and ll are not in the guide either, and what a GPU prints for them is no number of the
# caller's; here they mean what they mean in C.)

_SPECIFIER = re.compile(rb"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d*))?(hh|h|ll|l|L|z|j|t|q)?([diouxXcsfFeEgGaAp%n])")
_LONG = (b"l", b"ll", b"j", b"t", b"z", b"q", b"L")
_BITS = {b"hh": 8, b"h": 16}


class _Arguments:
    """The packed arguments: each aligned to its size; floats as doubles, small integers as 32 bits."""

    def __init__(self, read: Callable[[int, int], bytes], address: int) -> None:
        self._read = read
        self._address = address
        self._offset = 0

    def take(self, size: int) -> bytes:
        self._offset = -(-self._offset // size) * size
        data = self._read(self._address + self._offset, size)
        self._offset += size
        return data

    def integer(self, size: int, *, signed: bool) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)


def render(
    form: bytes, address: int, read: Callable[[int, int], bytes], read_string: Callable[[int], bytes]
) -> tuple[bytes, int]:
    """Render one call.

    Args:
        form: the format string.
        address: of the packed arguments.
        read: (address, size) → bytes of device memory.
        read_string: address → the bytes up to the first zero.

    Returns:
        the text, and the number of arguments, which is what CUDA's printf returns.
    """
    arguments = _Arguments(read, address) if address else None
    count = 0

    def replace(match: re.Match[bytes]) -> bytes:
        nonlocal count
        if match.group(5) == b"%":
            return b"%"
        if arguments is None or match.group(3) == b"*":
            return match.group()
        count += 1
        return _one(match, arguments, read_string)

    return _SPECIFIER.sub(replace, form), count


def _one(match: re.Match[bytes], arguments: _Arguments, read_string: Callable[[int], bytes]) -> bytes:
    flags, width, precision, length, kind = match.groups()
    field = flags or b""
    if width == b"*":
        width = str(arguments.integer(4, signed=True)).encode()
    field += width or b""
    if precision is not None:
        field += b"." + precision
    if kind in b"di":
        return (b"%" + field + b"d") % _integer(arguments, length, signed=True)
    if kind in b"ouxX":
        return _unsigned(field, kind, _integer(arguments, length, signed=False))
    if kind == b"c":
        return (b"%" + field + b"c") % bytes([arguments.integer(4, signed=False) & 0xFF])
    if kind == b"s":
        return (b"%" + field + b"s") % read_string(arguments.integer(8, signed=False))
    if kind == b"p":
        # What the GPU's own printf writes: no prefix for a null pointer is (nil) on the host that formats it.
        value = arguments.integer(8, signed=False)
        return (b"%" + field + b"s") % (hex(value).encode() if value else b"(nil)")
    if kind == b"n":
        arguments.take(8)
        return b""
    return _float(field, kind, struct.unpack("<d", arguments.take(8))[0])


def _integer(arguments: _Arguments, length: bytes | None, *, signed: bool) -> int:
    if length in _LONG:
        return arguments.integer(8, signed=signed)
    value = arguments.integer(4, signed=signed)
    bits = _BITS.get(length or b"")
    if bits is None:
        return value
    value &= (1 << bits) - 1
    if signed and value >> (bits - 1):
        value -= 1 << bits
    return value


def _unsigned(field: bytes, kind: bytes, value: int) -> bytes:
    if kind == b"u":
        return (b"%" + field + b"d") % value
    text = (b"%" + field + kind) % value
    if b"#" not in field:
        return text
    # Python writes an octal number's prefix as 0o, C as 0; C writes no prefix before a zero.
    if not value:
        return text.replace(b"0" + kind + b"0", b"0", 1)
    return text.replace(b"0o", b"0", 1) if kind == b"o" else text


def _float(field: bytes, kind: bytes, value: float) -> bytes:
    if kind in b"aA":
        text = _hexadecimal(value, field)
        return text.upper() if kind == b"A" else text
    if not math.isfinite(value) and field.lstrip(b"-+ #").startswith(b"0"):
        field = field.replace(b"0", b"", 1)
    return (b"%" + field + kind) % value


def _hexadecimal(value: float, field: bytes) -> bytes:
    text = re.sub(r"\.?0*p", "p", value.hex()).encode()
    width = re.match(rb"[-+ #0]*(\d*)", field)
    assert width is not None
    size = int(width.group(1) or 0)
    return text.ljust(size) if b"-" in field else text.rjust(size)


# --- syscalls ---------------------------------------------------------------------------------------------------------

OUTPUT_LIMIT = 1 << 20
"""Bytes of printf output kept of a launch, the size of CUDA's own buffer."""


class Syscalls:
    """The calls of one launch.

    Args:
        machine: the launch's.
        space: all regions.
        local_bytes: of a thread's local memory.
        bulk: the launch's bulk copies.
        instruments: number of a call of instrumented code → what answers it, given the address of its arguments.

    Attributes:
        failure: kind and message of a fault of a call.
        source_line: of that failure, where the call knows it.
        bad_access: the access of a bulk copy that is the fault.
        is_bulk: whether the failure is that of a bulk copy, whose line the message does not have.
        elapsed_ns: duration of all calls, in nanoseconds.
    """

    def __init__(
        self,
        machine: Machine,
        space: AddressSpace,
        local_bytes: int,
        bulk: BulkCopies,
        instruments: Mapping[int, Callable[[int], None]] = MappingProxyType({}),
    ) -> None:
        self._machine, self._space, self._local_bytes = machine, space, local_bytes
        self._local = 0
        self._output = bytearray()
        self._lost = 0
        self.failure: tuple[str, str] | None = None
        self.source_line: CodeLine | None = None
        self.bad_access: BadAccess | None = None
        self.is_bulk = False
        self.elapsed_ns = 0
        self._bulk, self._instruments = bulk, instruments
        self._functions = {"vprintf": self._printf, "__assertfail": self._assert, "malloc": self._add_class}
        self.callback = machine_layout.SYSCALL(self._timed)

    @property
    def output(self) -> str:
        """The printed text, with a note where some of it was dropped."""
        text = self._output.decode("utf-8", errors="replace")
        if self._lost:
            text += f"\n[{self._lost} bytes more were printed and not kept]\n"
        return text

    def fault(self, machine: Machine, scene: FaultContext) -> KernelFault:
        """The fault of the launch: a call's, or the one that compiled code has left in the machine record.

        Args:
            machine: that faulted.
            scene: the launch.
        """
        if self.failure is not None:
            kind, message = self.failure
            message += f", {thread_of(machine)}"
            line = self.source_line
            if self.is_bulk:
                line = scene.module.sites[machine.fault_site].source_line
                message += f", {line}"
            location = faults.located(NOWHERE, machine, line)
            fault = KernelFault(kind, message, location=location, source_line=line)
        else:
            fault = faults.explain(machine, scene)
        if self.output:
            fault.details = (*fault.details, *(f"printed: {line}" for line in self.output.splitlines()[-5:]))
        return fault

    def _timed(self, number: int, arguments: int, local: int) -> int:
        start = time.perf_counter_ns()
        result = self._call(number, arguments, local)
        self.elapsed_ns += time.perf_counter_ns() - start
        return result

    def _call(self, number: int, arguments: int, local: int) -> int:
        self._local, self.is_bulk = local, number >= BULK_ISSUE
        try:
            if number in self._instruments:
                self._instruments[number](arguments)
                return 0
            if number >= BULK_ISSUE:
                return self._bulk_copy(number, arguments)
            values = (ctypes.c_uint64 * 5).from_address(arguments)
            return self._functions[SYSTEM_CALLS[number]](values)
        except BadAccess as access:
            self.bad_access = access
            self._machine.fault_kind = FAULT_FAR if access.is_far else FAULT_ACCESS
            self._machine.fault_address = access.address
        except KernelFault as fault:
            self.source_line = fault.source_line
            self._fail(fault.kind, str(fault))
        except Exception as error:  # noqa: BLE001 - an exception cannot cross compiled code
            name = SYSTEM_CALLS[number] if number < BULK_ISSUE else "a bulk copy"
            self._fail("crash", f"{name}: {error}")
        return 0

    def _bulk_copy(self, number: int, arguments: int) -> int:
        """Run a call about bulk copies; an instruction has its site, thread, number of operands, and operands.

        An asynchronous store has its site, thread, the host addresses of target and mbarrier, number of values, and
        values.
        """
        if number == BULK_END:
            self._bulk.end_block()
        elif number == BULK_ARRIVE:
            self._bulk.arrive(*(ctypes.c_uint64 * 2).from_address(arguments))
        elif number == BULK_SEND:
            site, thread, target, barrier, count = (ctypes.c_uint64 * 5).from_address(arguments)
            self._bulk.send(
                site, thread, target, barrier, tuple((ctypes.c_uint64 * count).from_address(arguments + 40))
            )
        else:
            site, thread, count = (ctypes.c_uint64 * 3).from_address(arguments)
            self._bulk.issue(site, thread, iter((ctypes.c_uint64 * count).from_address(arguments + 24)))
        return 0

    def _fail(self, kind: str, message: str) -> None:
        self.failure = (kind, message)
        self._machine.fault_kind = FAULT_HOST

    def _printf(self, values: ctypes.Array[ctypes.c_uint64]) -> int:
        text, count = render(self._string(values[0]), values[1], self._read, self._string)
        room = max(0, OUTPUT_LIMIT - len(self._output))
        self._output += text[:room]
        self._lost += max(0, len(text) - room)
        return count

    def _assert(self, values: ctypes.Array[ctypes.c_uint64]) -> int:
        expression, file, function = (self._string(values[index]).decode(errors="replace") for index in (0, 1, 3))
        name, line = file.rpartition("/")[2], values[2] & 0xFFFFFFFF
        message = f"assertion `{expression}` failed in {function}, {name}:{line}"
        raise KernelFault("assert", message, source_line=CodeLine(name, line))

    def _add_class(self, values: ctypes.Array[ctypes.c_uint64]) -> int:
        """Reserve the memory of a size class, of which compiled code makes an allocation."""
        return int(self._space.heap.add_class(values[0]))

    # --- device memory, by generic address ----------------------------------------------------------------------------

    def _read(self, address: int, size: int) -> bytes:
        offset = address - LOCAL_WINDOW - machine_layout.LOCAL_START
        if 0 <= offset <= self._local_bytes - size:
            return ctypes.string_at(self._local + address - LOCAL_WINDOW, size)
        region = self._space.find(address)
        if region is not None:
            start = offset_in(region, address)
            if 0 <= start <= region.size - size:
                return region.data[start : start + size].tobytes()
        raise KernelFault("out-of-bounds", f"out-of-bounds read of {size} bytes at address {hex(address)} by printf")

    def _string(self, address: int) -> bytes:
        region = self._space.find(address)
        if region is not None and 0 <= (start := offset_in(region, address)) < region.size:
            return region.data[start:].tobytes().partition(b"\0")[0]
        text = bytearray()
        while (byte := self._read(address + len(text), 1)) != b"\0":
            text += byte
        return bytes(text)

"""Main program of the process of single launches.

    python -m gpuregress.execution.workers.direct_child --memory FD --channel FD DEVICE

It opens its device once and runs the launches that it is sent. Each begins on a device without buffers and modules, so
that no launch sees what another one left.
"""

from __future__ import annotations

import faulthandler
import mmap
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import numpy as np

from gpuregress.execution import device_registry as registry
from gpuregress.execution.runner.launcher import pack
from gpuregress.execution.workers.channel import Channel, encode_error, of_child
from gpuregress.execution.workers.direct_messages import Contents, LaunchCall, LaunchResult
from gpuregress.foundation.errors import DeviceError, GpuregressError, HarnessError, ran_out
from gpuregress.foundation.interrupts import die_with_parent
from gpuregress.foundation.records import from_json
from gpuregress.gpu.base import Device, DeviceModule, Memory

Opener = Callable[[str], Device]


def main(arguments: Sequence[str], opener: Opener = registry.open_device) -> int:
    """Serve one parent until it goes away.

    Args:
        arguments: `--memory FD --channel FD DEVICE`.
        opener: opens a device by name.

    Returns:
        0; 1 where the device could not be opened.
    """
    die_with_parent()
    faulthandler.enable()
    descriptor, connection = (int(arguments[arguments.index(name) + 1]) for name in ("--memory", "--channel"))
    os.set_inheritable(descriptor, False)
    channel = of_child(connection)
    name = arguments[arguments.index("--channel") + 2]
    with ExitStack() as held:
        try:
            device = held.enter_context(opener(name))
        except GpuregressError as error:
            channel.send({"say": "refused", "message": str(error)})
            return 1
        channel.send({"say": "ready", "device": device.info})
        _serve(channel, device, SharedMemory(descriptor))
        if device.info.card.sticky:
            # A dead context would print a page of warnings.
            os._exit(0)
    return 0


class SharedMemory:
    """The memory that parent and child share, mapped as large as a call needs it.

    Args:
        descriptor: of the file, which the parent makes larger.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._bytes = np.zeros(0, np.uint8)

    def of_size(self, size: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        """Return all of it as bytes.

        Args:
            size: bytes, as the file has them.
        """
        if size > self._bytes.size:
            self._bytes = np.frombuffer(mmap.mmap(self._descriptor, size), np.uint8)
        return self._bytes


def _serve(channel: Channel, device: Device, memory: SharedMemory) -> None:
    while (message := channel.receive()) is not None:
        try:
            call = from_json(LaunchCall, message["call"])
            report = launch(device, call, memory, lambda phase: channel.send({"say": "phase", "phase": phase}))
            channel.send({"say": "done", "report": report})
        except (BrokenPipeError, ConnectionResetError):
            return  # the parent is gone
        except GpuregressError as error:
            channel.send(encode_error(error))
        except Exception as error:  # noqa: BLE001 - a bug of ours ends one launch, not the process
            traceback.print_exc()
            lacking = ran_out(error)
            bug = f"an error inside gpuregress: {type(error).__name__}: {error}"
            text = f"{device.info.name} or its host has not enough {lacking}" if lacking else bug
            channel.send(encode_error(HarnessError(text)))


def launch(device: Device, call: LaunchCall, memory: SharedMemory, entering: Callable[[str], None]) -> LaunchResult:
    """Run one launch.

    Args:
        device: open.
        memory: holds the contents; those of outputs are written there.
        entering: receives the phase that begins.

    Raises:
        KernelFault: the kernel failed.
        GpuregressError: the launch is refused, or the device failed.
    """
    shared = memory.of_size(call.memory)
    device.free_all()
    device.limit_heap(call.heap)
    entry = call.program.entries[call.kernel]
    threads = int(np.prod([*call.shape.grid, *call.shape.block], dtype=np.int64))
    module = device.load(call.program, threads, (entry.mangled,))
    _check_cluster(call, module.kernel(entry.mangled).cluster)
    places = {contents.name: _place(device, module, call, contents) for contents in call.contents}
    for contents in call.contents:
        target = places[contents.name]
        if contents.symbol and contents.size != target.size:
            raise DeviceError(f"the variable {contents.symbol} has {target.size} bytes; {contents.size} were given")
        target.write(shared[contents.offset : contents.offset + contents.size])
    arguments = tuple(pack(argument, places)[0] for argument in call.arguments)
    entering("launching" if module.is_optimised else "trying")
    report = device.launch(module, entry.mangled, call.shape, arguments)
    for contents in call.contents:
        if contents.is_output:
            end = contents.offset + contents.size
            shared[contents.offset : end] = places[contents.name].read(0, contents.size)
    return LaunchResult(report.elapsed_ms, report.output, report.instructions)


def _place(device: Device, module: DeviceModule, call: LaunchCall, given: Contents) -> Memory:
    """The memory of a buffer or a variable."""
    if given.symbol:
        return module.symbol(call.program.symbols.get(given.symbol, given.symbol))
    return device.allocate(given.name, given.size, itemsize=given.itemsize)


def _check_cluster(call: LaunchCall, own: tuple[int, int, int]) -> None:
    if call.cluster is not None and call.cluster != own:
        shown = " x ".join(map(str, own))
        raise DeviceError(f"{call.kernel} has clusters of {shown} blocks, not of {' x '.join(map(str, call.cluster))}")


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # Python's own shutdown costs 50 ms

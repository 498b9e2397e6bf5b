"""Service of a worker process, which `start` enters.

It opens its device once, runs the cases it is sent, and ends when the channel closes: a worker never outlives its
parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import importlib
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NoReturn

from gpuregress.execution import device_registry
from gpuregress.execution.cuda.context_start import ContextStart
from gpuregress.execution.runner.execution import run_case
from gpuregress.execution.workers import sanitize
from gpuregress.execution.workers.channel import Channel, of_child
from gpuregress.foundation import process_state
from gpuregress.foundation.errors import GpuregressError, LaunchStopped, ran_out
from gpuregress.foundation.interrupts import die_with_parent
from gpuregress.foundation.records import Observations, Outcome, Task, from_json
from gpuregress.gpu.base import Device

DeviceOpener = Callable[[str], Device]
_STOPPING_S = 0.5
"""Time that a launch has to stop by itself; the parent sends SIGKILL after 2 seconds."""


def main(
    arguments: Sequence[str],
    opener: DeviceOpener = device_registry.open_device,
    driver_start: ContextStart | None = None,
) -> int:
    """Serve one parent until it goes away.

    Args:
        arguments: `--channel FD DEVICE [--after-fault]`.
        opener: opens a device by name.
        driver_start: the start of the GPU's driver, under way.

    Returns:
        0; 1 where the device could not be opened.
    """
    position = arguments.index("--channel")
    descriptor, device_name = int(arguments[position + 1]), arguments[position + 2]
    die_with_parent()
    faulthandler.enable(all_threads=False)
    faulthandler.register(signal.SIGTERM, all_threads=False, chain=True)  # says where it hung, and dies of it
    channel = of_child(descriptor)
    with ExitStack() as held:
        try:
            if driver_start is not None:
                # pycuda loads while the driver starts; without it, the device reports what mends that.
                with contextlib.suppress(ImportError):
                    importlib.import_module("pycuda.driver")
                driver_start.join()
            device = held.enter_context(opener(device_name))
            if "--after-fault" in arguments:
                device.canary()
        except GpuregressError as error:
            channel.send({"say": "refused", "message": str(error)})
            return 1
        except Exception as error:  # noqa: BLE001 - the parent must know it, whatever it is
            traceback.print_exc()
            channel.send({"say": "refused", "message": f"{device_name} cannot be opened: {_name(error)}"})
            return 1
        if device.info.name == "cpu":
            _stop_launch_on_sigterm(device, channel)
        channel.send({"say": "ready", "device": device.info})
        _serve(channel, device)
        if driver_start is not None or device.info.card.sticky:
            # The driver clears up after the process in any case, and a dead context would print a page of warnings.
            sys.stdout.flush()
            os._exit(0)
    return 0


def _serve(channel: Channel, device: Device) -> None:
    while (message := channel.receive()) is not None:
        task = from_json(Task, message["task"])
        outcome = _run(channel, device, task)
        if task.case.settings.sanitize and task.device_label.startswith("cuda"):
            channel.send({"say": "phase", "phase": "checking"})
            outcome = sanitize.examined(task, outcome, device.info.name)
        sys.stdout.flush()
        channel.send({"say": "outcome", "outcome": outcome, "last": process_state.left_changed()})


def _run(channel: Channel, device: Device, task: Task) -> Outcome:
    began = time.perf_counter()
    try:
        return run_case(
            device,
            task,
            lambda phase: channel.send({"say": "phase", "phase": phase}),
            lambda outcome, schedule: channel.send({"say": "interim", "outcome": outcome, "schedule": schedule}),
        )
    except (BrokenPipeError, ConnectionResetError):
        raise SystemExit(0) from None  # the parent is gone
    except LaunchStopped as stopped:
        channel.send({"say": "stopped", "lines": stopped.lines, "source_line": stopped.source_line})
        _die_of_sigterm()
    except Exception as error:  # noqa: BLE001 - a bug of ours ends one case, not the run
        lacking = ran_out(error)
        shortage = f"{task.device_label or device.info.name} or its host has not enough {lacking}"
        return Outcome(
            case=task.case.name,
            state="error",
            message=shortage if lacking else f"an error inside gpuregress: {_name(error)}",
            seconds=time.perf_counter() - began,
            observations=Observations(error=type(error).__name__, traceback=traceback.format_exc()),
        )


def _stop_launch_on_sigterm(device: Device, channel: Channel) -> None:
    """Let a launch that is ended at its limit tell where its threads stand, where its code looks for that.

    Python's own handler of a signal would not run before the compiled code returns; its number is written to a
    descriptor at once.
    """
    read, write = os.pipe()
    os.set_blocking(write, False)
    faulthandler.unregister(signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    faulthandler.register(signal.SIGTERM, all_threads=False, chain=True)

    def wait() -> None:
        while os.read(read, 1) != bytes([signal.SIGTERM]):
            pass
        lines = device.stop()
        if lines is not None:
            # The launch may stop meanwhile; then the process ends by itself.
            time.sleep(_STOPPING_S)
            channel.send({"say": "stopped", "lines": lines, "source_line": None})
        _die_of_sigterm()

    threading.Thread(target=wait, daemon=True).start()


def _die_of_sigterm() -> NoReturn:
    """End the process as SIGTERM does without a handler; in any thread, so not by way of `signal`."""
    sys.stdout.flush()
    ctypes.CDLL(None).signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)
    while True:
        time.sleep(1)


def _name(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__


def serve_and_leave(
    opener: DeviceOpener = device_registry.open_device, driver_start: ContextStart | None = None
) -> NoReturn:
    """Serve, then end the process at once: Python's own shutdown costs 50 ms."""
    code = main(sys.argv[1:], opener, driver_start)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

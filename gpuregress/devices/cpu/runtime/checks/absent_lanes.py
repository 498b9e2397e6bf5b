"""Findings of warp operations whose mask names lanes that went another way, and never arrive."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Callable

from gpuregress.devices.cpu.runtime.checks.findings import finding_at
from gpuregress.devices.cpu.runtime.faults import FaultContext, coordinates
from gpuregress.devices.cpu.runtime.machine_layout import Machine
from gpuregress.devices.cpu.runtime.program import Site
from gpuregress.devices.cpu.runtime.thread_context import DEPARTED, ROWS
from gpuregress.records import CheckFinding


class AbsentLanes:
    """The findings of one launch.

    Args:
        machine: the launch's.
        scene: gives the launch's facts, when a report comes.
    """

    def __init__(self, machine: Machine, scene: Callable[[], FaultContext]) -> None:
        self._machine, self._scene = machine, scene
        self._found: dict[tuple[int, int], CheckFinding] = {}

    def take(self, arguments: int) -> None:
        """Take a report: the mask, the number of a thread that waits in its block, and that of one that is absent.

        Args:
            arguments: the host address of these three words.
        """
        mask, waiting, absent = (int(word) for word in (ctypes.c_uint64 * 3).from_address(arguments))
        scene = self._scene()
        state = ctypes.c_int32.from_address(self._element("state", waiting)).value
        left = ctypes.c_uint64.from_address(self._element("key", absent)).value & ~DEPARTED
        wait = scene.kernel.wait_sites[~state - 1]
        known = self._found.get((wait, left))
        if known is not None:
            self._found[wait, left] = dataclasses.replace(known, count=known.count + 1)
            return
        sites = scene.module.sites
        self._found[wait, left] = self._finding(mask, (waiting, sites[wait]), (absent, sites[left]))

    def _finding(self, mask: int, waits: tuple[int, Site], left: tuple[int, Site]) -> CheckFinding:
        (waiting, operation), (absent, last) = waits, left
        side = self._scene().block
        machine = self._machine
        block = f"({machine.fault_ctaid_x},{machine.fault_ctaid_y},{machine.fault_ctaid_z})"
        one, other = (f"thread ({','.join(map(str, coordinates(number, side)))})" for number in (waiting, absent))
        message = (
            f"{operation.mnemonic} with the mask 0x{mask:08x}, which names lane {absent % 32}, that never comes: "
            f"{one} of block {block} waits at {operation.where}, {other} goes another way and has exited after "
            f"{last.mnemonic} at {last.where}"
        )
        return finding_at("barrier", message, operation, (operation, last))

    def _element(self, row: str, thread: int) -> int:
        offset, size = ROWS[row]
        return int(self._machine.context) + offset + size * thread

    def all(self) -> tuple[CheckFinding, ...]:
        """The findings, in the order in which they came."""
        return tuple(self._found.values())

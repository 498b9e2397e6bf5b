"""Findings of masks that name lanes which never arrive, and notes of lanes that exit before a barrier."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from gpuregress.gpu.instruments import CheckFinding
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.runtime.checks.findings import finding_at
from gpuregress.virtual_gpu.runtime.faults import FaultContext, coordinates, describe_warp, left_out, thread_of
from gpuregress.virtual_gpu.runtime.machine_layout import Machine
from gpuregress.virtual_gpu.runtime.program import Site
from gpuregress.virtual_gpu.runtime.thread_context import DEPARTED, ROWS


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
            self._found[wait, left] = replace(known, count=known.count + 1)
            return
        sites = scene.module.sites
        self._found[wait, left] = self._finding(mask, (waiting, sites[wait]), (absent, sites[left]))

    def take_left_out(self, arguments: int) -> None:
        """Take a report of an operation that a lane executes whose mask leaves it out: its site, and the mask.

        Args:
            arguments: the host address of these two words.
        """
        site, mask = (int(word) for word in (ctypes.c_uint64 * 2).from_address(arguments))
        known = self._found.get((site, -1))
        if known is not None:
            self._found[site, -1] = replace(known, count=known.count + 1)
            return
        operation, scene = self._scene().module.sites[site], self._scene()
        message = f"{left_out(self._machine, scene, operation, mask)}, {thread_of(self._machine)}, {operation.where}"
        self._found[site, -1] = finding_at("barrier", message, operation, (operation,))

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


class EarlyExits:
    """The notes of one launch on barriers that only a part of a warp executes, since its other lanes have exited.

    PTX does not tell an early return, which is allowed, from a barrier inside a condition, which is the most common
    error of all: see `analysis.divergent_barriers`.

    Args:
        machine: the launch's.
        scene: gives the launch's facts, when a report comes.
    """

    def __init__(self, machine: Machine, scene: Callable[[], FaultContext]) -> None:
        self._machine, self._scene = machine, scene
        self.notes: list[str] = []

    def take(self, arguments: int) -> None:
        """Take a report: the number of the first thread of a warp.

        Args:
            arguments: the host address of this word.
        """
        first = ctypes.c_uint64.from_address(arguments).value
        machine, scene = self._machine, self._scene()
        context = np.ctypeslib.as_array((ctypes.c_uint8 * scene.kernel.context_bytes).from_address(machine.context))
        scene = replace(scene, context=context)
        block = f"({machine.fault_ctaid_x},{machine.fault_ctaid_y},{machine.fault_ctaid_z})"
        self.notes.append(
            f"not all lanes of warp {first // 32} of block {block} execute a barrier of the block: "
            f"{'; '.join(describe_warp(scene, first))}; an early return is allowed, but a barrier inside of a "
            "condition is an error: all lanes of a warp must execute it"
        )

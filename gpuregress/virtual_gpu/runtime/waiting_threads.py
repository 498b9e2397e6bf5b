"""States of the threads of a launch that does not end, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.errors import CodeLine, KernelFault
from gpuregress.gpu.programs import Dim3
from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.runtime.fault_context import BlockContext, FaultContext, block_of, counted, plain
from gpuregress.virtual_gpu.runtime.machine_layout import DEPARTED, DONE, ROWS, Machine
from gpuregress.virtual_gpu.runtime.program import Site

_MOST_RANGES = 6
_MOST_BLOCKS = 100
_STEP = "bar.warp.step"
"""The compiler's own wait between accesses of one warp, at which the threads meet and go on."""
_Numbers = npt.NDArray[np.int64]


class Standing(Record):
    """A place where threads or blocks stand.

    Attributes:
        text: `threads 0-30 wait at bar.sync, reduce.cu:12`.
        source_line: the first one that the text names; None where it names none.
    """

    text: str
    source_line: CodeLine | None = None


def in_one_line(places: Sequence[Standing]) -> str:
    """The texts of places, in one line."""
    return "; ".join(place.text for place in places)


# --- faults -----------------------------------------------------------------------------------------------------------


def deadlock(machine: Machine, scene: FaultContext) -> KernelFault:
    """No thread of a block can go on."""
    places = _describe_waiting(scene.context, scene)
    return _fault("deadlock", f"no thread of {block_of(machine)} can go on: {in_one_line(places)}", places)


def divergent(machine: Machine, scene: FaultContext) -> KernelFault:
    """Lanes of a warp do not meet at a barrier of the block."""
    warp = int(machine.fault_address)
    places = describe_warp(scene, SM_90.warp_size * warp)
    message = f"the lanes of warp {warp} of {block_of(machine)} do not meet at a barrier of the block"
    return _fault("deadlock", f"{message}: {in_one_line(places)}", places)


def stuck(_machine: Machine, scene: FaultContext) -> KernelFault:
    """No block of a cluster can go on."""
    places = _describe_blocks(scene)
    message = f"no thread of a cluster can go on: {', '.join(place.text for place in places)}"
    return _fault("deadlock", message, places)


def spinning(_machine: Machine, scene: FaultContext) -> KernelFault:
    """All resident blocks wait for something that none of them will do."""
    places = _describe_blocks(scene)
    resident = sum(not block.done for block in scene.cluster)
    who = "the only resident block waits"
    if resident > 1:
        who = f"all {resident} resident blocks wait"
    others = "no further block will start"
    if scene.not_begun:
        verb = "has" if scene.not_begun == 1 else "have"
        others = f"{scene.not_begun} more {verb} no room on the device before one ends"
    if scene.ended:
        places.append(Standing(f"{counted(scene.ended, 'more block')}: ended"))
    message = f"{who} for something that no block will do, and {others}: {_first_texts(places)}"
    if len(places) > _MOST_RANGES:
        message += f", … and {len(places) - _MOST_RANGES} more places"
    return _fault("deadlock", message, places)


def stopped(machine: Machine, scene: FaultContext) -> KernelFault:
    """Where the blocks of a launch stand that is stopped from outside."""
    running = (machine.fault_ctaid_x, machine.fault_ctaid_y, machine.fault_ctaid_z)
    others = [block for block in scene.cluster if block.coordinates != running and block.context is not None]
    state, line = "begins", None
    if not machine.fault_address:
        threads = _describe_waiting(scene.context, scene)
        state, line = in_one_line(threads), _first_line(threads)
    places = [Standing(f"{block_of(machine)}: {state}", line)]
    places += _describe_blocks(replace(scene, cluster=tuple(others)))
    message = places[0].text  # one line of a report; the others are its details
    if len(places) > 1:
        message += f", … and {counted(len(places) - 1, 'more place')}"
    return _fault("timeout", message, places)


def _fault(kind: str, message: str, places: Sequence[Standing]) -> KernelFault:
    details = tuple(place.text for place in places[:_MOST_BLOCKS])
    return KernelFault(kind, message, details=details, source_line=_first_line(places))


def _first_line(places: Sequence[Standing]) -> CodeLine | None:
    """The first line of a source, not of PTX, at one of the places."""
    for place in places:
        if place.source_line is not None and place.source_line.file:
            return place.source_line
    return None


def _first_texts(places: Sequence[Standing]) -> str:
    return ", ".join(place.text for place in places[:_MOST_RANGES])


def is_spinning(scene: FaultContext, contexts: Sequence[BlockContext]) -> bool:
    """Whether a thread of some blocks stands in a loop that spins."""
    for context in contexts:
        for state in np.unique(_states(context, scene)).tolist():
            if state != DONE and _wait_site(scene, state).action == "spin":
                return True
    return False


# --- blocks and warps -------------------------------------------------------------------------------------------------


def describe_warp(scene: FaultContext, first: int) -> list[Standing]:
    """Return an entry for each place where threads of a warp stand, with the threads that went past a barrier.

    Args:
        scene: the launch, with the context of the block.
        first: the number of the warp's first thread.
    """
    end = min(first + SM_90.warp_size, math.prod(scene.block))
    states = _states(scene.context, scene)[first:end]
    joined = _states(scene.context, scene, "joined")[first:end]
    fewest = joined[states != DONE].min()
    places = []
    for state, barriers in sorted(set(zip(states.tolist(), joined.tolist(), strict=True))):
        threads = first + np.flatnonzero((states == state) & (joined == barriers))
        last_effect = 0
        if state == DONE:
            last_effect = int(_departures(scene.context, threads, scene)[0])
        place = _stand(threads, state, scene, last_effect)
        if barriers > fewest:
            place = replace(place, text=f"{place.text}, after going past it")
        places.append(place)
    return places


def _describe_blocks(scene: FaultContext) -> list[Standing]:
    """Return an entry for each place where blocks stand, with the blocks; those that have ended come first.

    A grid's barrier, or that of a cluster, does not open where a block has ended before it came there.
    """
    alike: dict[Standing, list[Dim3]] = {}
    ended = []
    for block in scene.cluster:
        if block.done:
            ended.append(block.coordinates)
            continue
        state = Standing("not begun")
        if block.context is not None:
            threads = _describe_waiting(block.context, scene)
            state = Standing(in_one_line(threads), _first_line(threads))
        alike.setdefault(state, []).append(block.coordinates)
    places = [replace(state, text=f"{_block_ranges(blocks)}: {state.text}") for state, blocks in alike.items()]
    if ended:
        places.insert(0, Standing(f"{_block_ranges(ended)}: ended"))
    return places


def _block_ranges(blocks: list[Dim3]) -> str:
    """`block (3,0,0)`, `7 blocks, (0,0,0) to (5,0,0) and (9,0,0)`: the given blocks, in their order in the grid."""
    runs: list[list[Dim3]] = []
    for block in sorted(blocks, key=lambda item: item[::-1]):
        x, y, z = block
        if runs and runs[-1][-1] == (x - 1, y, z):
            runs[-1].append(block)
        else:
            runs.append([block])
    words = []
    for run in runs[:_MOST_RANGES]:
        word = _coordinates(run[0])
        if len(run) > 1:
            word += f" to {_coordinates(run[-1])}"
        words.append(word)
    if len(blocks) == 1:
        return f"block {words[0]}"
    return f"{len(blocks)} blocks, {_joined(words, len(runs))}"


def _coordinates(block: Dim3) -> str:
    return f"({block[0]},{block[1]},{block[2]})"


def _joined(words: Sequence[str], count: int) -> str:
    """Join the words for the first ranges of all."""
    text = ", ".join(words)
    return f"{text} …" if count > _MOST_RANGES else text


# --- threads ----------------------------------------------------------------------------------------------------------


def _describe_waiting(context: BlockContext, scene: FaultContext) -> list[Standing]:
    """Return an entry for each instruction, `threads 0-30 wait at bar.sync, reduce.cu:12`, and for exited threads."""
    states = _states(context, scene)
    places = []
    for state in np.unique(states).tolist():
        threads = np.flatnonzero(states == state)
        if state == DONE:
            departures = _departures(context, threads, scene)
            sites = np.unique(departures).tolist()
            places += [_stand(threads[departures == site], state, scene, site) for site in sites]
            continue
        keys = np.zeros(len(threads), np.uint64)
        if scene.checks_barriers:
            keys = _keys(context, scene)[threads]
        for key in np.unique(keys).tolist():
            place = _stand(threads[keys == key], state, scene)
            places.append(replace(place, text=place.text + _of_key(scene, state, key)))
    return places


def _of_key(scene: FaultContext, state: int, key: int) -> str:
    """` with the mask 0x0000ffff` of a warp operation, ` for 96 threads` of a barrier with a count, or ""."""
    mnemonic, count, number = _wait_site(scene, state).mnemonic, key >> 32, key & 0xFFFF_FFFF
    if not count or state >= 0:
        return ""
    if "bar.warp" in mnemonic or not mnemonic.startswith("bar"):
        return f" with the mask 0x{number:08x}"
    return f" for {count} threads at barrier {number}"


def _keys(context: BlockContext, scene: FaultContext) -> npt.NDArray[np.uint64]:
    """The key of each thread of a block."""
    offset = ROWS["key"][0]
    return context[offset : offset + 8 * math.prod(scene.block)].view(np.uint64)


def _states(context: BlockContext, scene: FaultContext, name: str = "state") -> npt.NDArray[np.int32]:
    """The state of each thread of a block, or another row of 32-bit numbers."""
    offset = ROWS[name][0]
    return context[offset : offset + 4 * math.prod(scene.block)].view(np.int32)


def _departures(context: BlockContext, threads: _Numbers, scene: FaultContext) -> _Numbers:
    """The site, from 1, of the last effect of each of some exited threads after its waits; 0 where it is not known."""
    if not scene.checks_barriers:
        return np.zeros(len(threads), np.int64)
    keys = _keys(context, scene)[threads]
    sites: _Numbers = (keys & np.uint64(DEPARTED - 1)).astype(np.int64) + 1
    sites[keys < np.uint64(DEPARTED)] = 0
    return sites


def _wait_site(scene: FaultContext, state: int) -> Site:
    """The site at which a thread with a state waits; one below 0 is the complement of the wait's number, from 1."""
    number = ~state if state < 0 else state
    return scene.module.sites[scene.kernel.wait_sites[number - 1]]


def _stand(threads: _Numbers, state: int, scene: FaultContext, last_effect: int = 0) -> Standing:
    """`threads 0-30 wait at bar.sync, reduce.cu:12`, what they spin on, or that they have exited.

    Args:
        threads: their numbers.
        state: of all of them.
        scene: the launch.
        last_effect: the site, from 1, of the last effect of threads that have exited; 0: not known.
    """
    have, are, wait, spin = ("has", "is", "waits", "spins") if len(threads) == 1 else ("have", "are", "wait", "spin")
    who = _thread_ranges(threads)
    if state == DONE:
        if not last_effect:
            return Standing(f"{who} {have} exited")
        site = scene.module.sites[last_effect - 1]
        doing = f"{have} exited after {site.mnemonic}"
    else:
        site = _wait_site(scene, state)
        doing = f"{wait} at {site.mnemonic}"
        if site.action == "spin":
            doing = f"{spin} on {_variable(scene, site) or site.mnemonic}"
        elif site.mnemonic == _STEP:
            doing = f"{are} running"
    return Standing(f"{who} {doing}, {site.where}", site.source_line)


def _variable(scene: FaultContext, site: Site) -> str:
    """The name of the variable or buffer that a site reads; "" where it is not known."""
    if isinstance(site.buffer, str):
        return plain(site.buffer)
    if site.buffer is None:
        return ""
    region = scene.buffer_of_parameter(site.buffer)
    return plain(region.name) if region is not None else ""


def _thread_ranges(numbers: _Numbers) -> str:
    ranges = np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1)
    words = [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in ranges[:_MOST_RANGES]]
    noun = "threads" if len(numbers) > 1 else "thread"
    return f"{noun} {_joined(words, len(ranges))}"

"""Messages for kernel faults, from the numbers that compiled code leaves in the machine record."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from msgspec import field

from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.demangle import demangle
from gpuregress.gpu.errors import CALLED_AT, FaultLocation, KernelFault
from gpuregress.gpu.programs import Dim3
from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.ptx.tree import UNDEFINED
from gpuregress.virtual_gpu.runtime import machine_layout
from gpuregress.virtual_gpu.runtime.bulk_copies import BadAccess
from gpuregress.virtual_gpu.runtime.device_heap import Allocation
from gpuregress.virtual_gpu.runtime.machine_layout import DEPARTED, DONE, ROWS, Machine
from gpuregress.virtual_gpu.runtime.memory import AddressSpace, Region, offset_in
from gpuregress.virtual_gpu.runtime.program import KernelFacts, ModuleFacts, Site
from gpuregress.virtual_gpu.runtime.textures import Textures

_MOST_RANGES = 6
_MOST_BLOCKS = 100
_NO_BARRIER = f"a block has {SM_90.barriers} barriers, numbered from 0, and each counts whole warps"
_OUT_OF_REACH = (
    "the many shared variables of this kernel, with the gaps between them on the cpu device, end beyond 256 KiB, "
    "where no matrix descriptor reaches: put them into one array or structure"
)
_LOCAL_NAME = re.compile(r"_ZZ.*E(?P<size>\d+)(?P<rest>[\w$]+)")
_TYPE = re.compile(r"\.[a-z]+(?P<bits>8|16|32|64|128)(?P<pair>x2)?$")
_DEPOT = re.compile(r"__local_depot\d+$")
_PART_OF_DEPOT = re.compile(r".*__local_depot\d+\$\d+\$(?P<name>\w+)")
_SOURCE_LINE = re.compile(r"(?P<file>.+?):(?P<line>\d+)")
_MISUSES = (
    machine_layout.FAULT_DIVERGENT,
    machine_layout.FAULT_MASK,
    machine_layout.FAULT_BARRIER,
    machine_layout.FAULT_CLUSTER,
)
_OF_MANY_THREADS = (
    machine_layout.FAULT_DEADLOCK,
    machine_layout.FAULT_STUCK,
    machine_layout.FAULT_DIVERGENT,
    machine_layout.FAULT_SPIN,
    machine_layout.FAULT_STOPPED,
)


class ClusterBlock(Record):
    """A block of the cluster that ran last.

    Attributes:
        coordinates: in the grid.
        context: its threads' context; None before it has begun.
        done: all of its threads have exited; another block may use its context.
    """

    coordinates: Dim3
    context: np.ndarray[tuple[int], np.dtype[np.uint8]] | None
    done: bool


class FaultContext(Record):
    """The launch in which a fault happened, with the facts that its message needs.

    Attributes:
        module: the facts of the program.
        kernel: the kernel's facts.
        name: the kernel's name.
        space: all regions.
        dynamic_size: bytes of dynamic shared memory.
        block: threads along x, y, z.
        parameters: the argument bytes as the kernel sees them.
        context: the threads' context, for kernels in which threads wait.
        textures: all texture and surface objects.
        cluster: the blocks of the cluster, by rank, for a kernel that asks for clusters; the resident blocks of a
            kernel whose threads spin.
        bad_access: the access that is the fault, of an instruction with several.
        modules: the facts of all loaded programs, by number: memory may be allocated by one and used by another.
        not_begun: blocks that wait for room on the device.
        ended: blocks that have ended before, where `cluster` does not have them.
        checks_barriers: whether misused barriers and masks are faults of the kind `barrier`.
    """

    module: ModuleFacts
    kernel: KernelFacts
    name: str
    space: AddressSpace
    dynamic_size: int
    block: Dim3
    parameters: bytes
    context: np.ndarray[tuple[int], np.dtype[np.uint8]]
    textures: Textures = field(default_factory=Textures)
    cluster: tuple[ClusterBlock, ...] = ()
    bad_access: BadAccess | None = None
    modules: tuple[ModuleFacts, ...] = ()
    not_begun: int = 0
    ended: int = 0
    checks_barriers: bool = False


def explain(machine: Machine, scene: FaultContext) -> KernelFault:
    """Return the fault that the machine record holds, with its place."""
    fault = _explained(machine, scene)
    if scene.checks_barriers and _is_misuse(machine, scene):
        fault.kind = "barrier"
    if machine.fault_kind not in _OF_MANY_THREADS:
        fault.location = located(fault.location, machine, scene.module.sites[machine.fault_site].where)
    return fault


def located(location: FaultLocation, machine: Machine, where: str = "") -> FaultLocation:
    """Complete the place of a fault by its thread and source line.

    Args:
        location: with the buffer and the index, where they are known.
        machine: holds the thread.
        where: `saxpy.cu:12`, with the calls behind it; other text, as of a PTX line, tells no source line.
    """
    innermost, *calls = where.split(CALLED_AT)
    match = _SOURCE_LINE.fullmatch(innermost)
    return replace(
        location,
        thread=(machine.fault_tid_x, machine.fault_tid_y, machine.fault_tid_z),
        block=(machine.fault_ctaid_x, machine.fault_ctaid_y, machine.fault_ctaid_z),
        file=match["file"] if match else location.file,
        line=int(match["line"]) if match else location.line,
        calls=tuple(calls),
    )


def _is_misuse(machine: Machine, scene: FaultContext) -> bool:
    """Whether a fault is one of barriers and masks; where a thread spins, it is not the barrier that is wrong."""
    kind = machine.fault_kind
    if kind == machine_layout.FAULT_DEADLOCK:
        return not _spins(scene.context, scene)
    if kind == machine_layout.FAULT_STUCK:
        return not any(
            _spins(block.context, scene) for block in scene.cluster if block.context is not None and not block.done
        )
    return kind in _MISUSES


def _spins(context: np.ndarray[Any, np.dtype[np.uint8]], scene: FaultContext) -> bool:
    """Whether a thread of a block stands in a loop that spins."""
    states = set(_states(context, scene).tolist()) - {DONE}
    return any(_wait_site(scene, state).action == "spin" for state in states)


def _explained(machine: Machine, scene: FaultContext) -> KernelFault:
    kind = machine.fault_kind
    if kind == machine_layout.FAULT_DEADLOCK:
        return _deadlock(machine, scene)
    if kind == machine_layout.FAULT_STUCK:
        return _stuck(scene)
    if kind == machine_layout.FAULT_DIVERGENT:
        return _divergent(machine, scene)
    if kind == machine_layout.FAULT_SPIN:
        return _spinning(scene)
    if kind == machine_layout.FAULT_STOPPED:
        return _stopped(machine, scene)
    site = scene.module.sites[machine.fault_site]
    if scene.bad_access is not None:
        site = replace(site, action=scene.bad_access.action, size=scene.bad_access.size)
    if kind in (machine_layout.FAULT_ACCESS, machine_layout.FAULT_FAR):
        return _access(machine, scene, site)
    if kind == machine_layout.FAULT_FREE:
        return _free(machine, scene, site)
    if kind == machine_layout.FAULT_LOOP:
        what = "an endless loop," if site.mnemonic == "bra.uni" else "a loop whose condition is at"
        return KernelFault("timeout", f"{thread_of(machine)} in {what} {site.where}")
    if kind == machine_layout.FAULT_TEXTURE:
        return _no_texture(machine, scene, site)
    if kind == machine_layout.FAULT_SURFACE:
        return _surface(machine, scene, site)
    words = {
        machine_layout.FAULT_TRAP: ("trap", _trapped(scene, site)),
        machine_layout.FAULT_CALL: (
            "illegal-instruction",
            "a call through a pointer to no function of its type",
        ),
        machine_layout.FAULT_STACK: ("stack-overflow", "too many calls inside calls, or too much local memory"),
        machine_layout.FAULT_BRANCH: ("illegal-instruction", "a branch through a table, outside it"),
        machine_layout.FAULT_BARRIER: ("illegal-instruction", f"{site.mnemonic}: {_NO_BARRIER}"),
        machine_layout.FAULT_WARPGROUP: (
            "illegal-instruction",
            f"{site.mnemonic} needs the 128 threads of a whole warpgroup; the block has {math.prod(scene.block)}",
        ),
        machine_layout.FAULT_REACH: ("illegal-instruction", f"{site.mnemonic}: {_OUT_OF_REACH}"),
        machine_layout.FAULT_RESULT: ("illegal-access", _in_flight(site)),
        machine_layout.FAULT_MASK: ("illegal-instruction", left_out(machine, scene, site, int(machine.fault_address))),
        machine_layout.FAULT_CLUSTER: ("illegal-instruction", _out_of_turn(site)),
    }
    name, text = words[kind]
    return KernelFault(name, f"{text}, {thread_of(machine)}, {site.where}")


def _trapped(scene: FaultContext, site: Site) -> str:
    if not site.mnemonic.endswith(UNDEFINED):
        return f"{site.mnemonic} executed"
    store = "a store to __constant__ memory, or " if scene.module.constant_bytes else ""
    return f"trap executed, which the compiler has put in place of undefined behaviour ({store}an access by null)"


def _in_flight(site: Site) -> str:
    return (
        "result of wgmma.mma_async read before wgmma.wait_group: "
        f"{site.buffer}, read by {site.mnemonic}, is in flight since {site.action}"
    )


def left_out(machine: Machine, scene: FaultContext, site: Site, mask: int) -> str:
    """Describe a warp operation by a lane, that of the thread of a fault, that its mask does not name."""
    x, y, z = machine.fault_tid_x, machine.fault_tid_y, machine.fault_tid_z
    lane = (x + scene.block[0] * (y + scene.block[1] * z)) % SM_90.warp_size
    return f"{site.mnemonic} with the mask 0x{mask:08x} by lane {lane}, which the mask leaves out"


def thread_of(machine: Machine) -> str:
    """`thread (232,0,0) of block (3,0,0)`."""
    tid = (machine.fault_tid_x, machine.fault_tid_y, machine.fault_tid_z)
    return f"thread ({tid[0]},{tid[1]},{tid[2]}) of {_block(machine)}"


def _block(machine: Machine) -> str:
    return f"block ({machine.fault_ctaid_x},{machine.fault_ctaid_y},{machine.fault_ctaid_z})"


# --- accesses ---------------------------------------------------------------------------------------------------------


class _Target(Record):
    """The object that an address was meant for: name, size, bytes of an element, offset of the access.

    `rank` is that of the block whose shared memory it is in, where a kernel has clusters. `history` tells where memory
    from malloc was allocated and freed.
    """

    name: str
    size: int
    itemsize: int
    offset: int
    rank: int | None = None
    history: str = ""
    freed: bool = False

    @property
    def location(self) -> FaultLocation:
        """The buffer and the index of the element."""
        return FaultLocation(self.name, self.offset // self.itemsize)


def _access(machine: Machine, scene: FaultContext, site: Site) -> KernelFault:
    address = int(machine.fault_address)
    what = f"{site.action} of {site.size} byte{'s' if site.size != 1 else ''}"
    tail = f"{thread_of(machine)}, {site.where}"
    if elsewhere := _beyond_its_space(scene, site, address):
        return KernelFault("illegal-access", f"{what} at {elsewhere}, {tail}")
    target = _target(scene, site, address)
    # A card looks at the alignment first, wherever the address is.
    alignment = site.size if scene.bad_access is None else scene.bad_access.alignment
    kind = "misaligned" if address % max(1, alignment) else "out-of-bounds"
    if target is None:
        return KernelFault(kind, f"{kind} {what} at {_nowhere(address)}, {tail}")
    if target.rank is not None and (absent := _absent(scene, target.rank)):
        kind, why = absent
        message = f"{what} at {_element(target)} of block rank {target.rank}{why}, {tail}"
        return KernelFault(kind, message, location=target.location)
    inside = 0 <= target.offset <= target.size - site.size
    far = machine.fault_kind == machine_layout.FAULT_FAR and target.rank != machine.cluster_rank
    if target.freed and inside and kind != "misaligned":
        message = f"{what} at {_element(target)} of freed memory ({target.history}), {tail}"
        return KernelFault("illegal-access", message, location=target.location)
    count = target.size // target.itemsize
    whose = "" if target.rank in (None, machine.cluster_rank) else f" of block rank {target.rank}"
    more = "; only .shared::cluster reaches it" if far else target.history and f"; {target.history}"
    message = f"{kind} {what} at {_element(target)}{whose} ({target.name} has {count}{more}), {tail}"
    return KernelFault(kind, message, location=replace(target.location, elements=count, size=site.size))


def _free(machine: Machine, scene: FaultContext, site: Site) -> KernelFault:
    """A free of memory that is not allocated."""
    address = int(machine.fault_address)
    found, why = scene.space.heap.find(address), "which malloc did not give"
    if found is not None and found.address == address:
        why = f"which is free already ({_history(scene, found)})"
    elif found is not None and 0 < address - found.address < found.size:
        why = f"byte {address - found.address} of malloc'ed memory ({_history(scene, found)})"
    return KernelFault("illegal-access", f"free of {hex(address)}, {why}, {thread_of(machine)}, {site.where}")


def _history(scene: FaultContext, allocation: Allocation) -> str:
    """`allocated at tree.cu:12, freed at tree.cu:30`."""
    words = [f"allocated at {_heap_site(scene, allocation.born)}"]
    if allocation.died is not None:
        words.append(f"freed at {_heap_site(scene, allocation.died)}")
    return ", ".join(words)


def _heap_site(scene: FaultContext, place: int) -> str:
    module, site = place >> 32, place & 0xFFFF_FFFF
    return (scene.modules[module] if module < len(scene.modules) else scene.module).sites[site].where


def _absent(scene: FaultContext, rank: int) -> tuple[str, str] | None:
    """The fault of an access to shared memory of an absent block: kind, reason; None where it is present."""
    count = max(1, len(scene.cluster))
    if rank >= count:
        return "out-of-bounds", f": the cluster has {count} block{'s' if count > 1 else ''}"
    if scene.cluster and scene.cluster[rank].done:
        return "illegal-access", ", which has exited: the cluster must wait for those that read it"
    if scene.cluster and scene.cluster[rank].context is None:
        return "illegal-access", ", which has not begun: the cluster must wait for all its blocks first"
    return None


def _out_of_turn(site: Site) -> str:
    if "wait" in site.mnemonic:
        return f"{site.mnemonic} by a thread that has not arrived at the cluster's barrier"
    return f"{site.mnemonic} by a thread that has arrived already and not waited since"


def _nowhere(address: int) -> str:
    if address < 1 << 20 or address > (1 << 64) - (1 << 20):
        return f"address {hex(address)}: a null pointer"
    return f"address {hex(address)}: in no buffer"


def _element(target: _Target) -> str:
    index, rest = divmod(target.offset, target.itemsize)
    return f"{target.name}[{index}] + {rest} byte{'s' if rest != 1 else ''}" if rest else f"{target.name}[{index}]"


def element_at(scene: FaultContext, site: Site, address: int) -> str:
    """`s[31]` (shared), `out[7]`: the element that an access by a site is at."""
    target = _target(scene, site, address)
    if target is None:
        return f"address {hex(address)}"
    if target.itemsize == 1 and any(plain(item.name) == target.name for item in scene.module.variables):
        # PTX declares an array in bytes, whatever its elements are.
        target = replace(target, itemsize=_element_bytes(site))
    space = " (shared)" if _window(address) == machine_layout.SHARED_WINDOW else ""
    space = f" (heap; {target.history})" if target.history else space
    return f"`{_element(target)}`{space}"


def _target(scene: FaultContext, site: Site, address: int) -> _Target | None:
    window = _window(address)
    if window == machine_layout.SHARED_WINDOW or site.space == "shared":
        return _shared(scene, site, address - machine_layout.SHARED_WINDOW)
    if window == machine_layout.LOCAL_WINDOW or site.space == "local":
        return _local(scene, site, address - machine_layout.LOCAL_WINDOW - machine_layout.LOCAL_START)
    if window == machine_layout.PARAM_WINDOW:
        return _Target("the parameters", len(scene.parameters), 1, address - machine_layout.PARAM_WINDOW)
    if (found := scene.space.heap.find(address)) is not None:
        offset, history = address - found.address, _history(scene, found)
        freed = found.died is not None
        return _Target("malloc'ed memory", found.size, _element_bytes(site), offset, None, history, freed)
    region = scene.space.find(address) or _guessed(scene, site, address)
    return (
        None
        if region is None
        else _Target(plain(region.name), region.size, region.itemsize, offset_in(region, address))
    )


def _window(address: int) -> int:
    return address >> machine_layout.REGION_SHIFT << machine_layout.REGION_SHIFT


def _beyond_its_space(scene: FaultContext, site: Site, address: int) -> str:
    """Description of an address outside the state space that the access names; "" where it is inside."""
    windows = {
        machine_layout.SHARED_WINDOW: "shared",
        machine_layout.LOCAL_WINDOW: "local",
        machine_layout.PARAM_WINDOW: "parameter",
    }
    there = windows.get(_window(address), "") if site.space in ("global", "const") else ""
    for window, space in windows.items():
        if space == site.space and (region := scene.space.find(address - window)):
            address -= window
            there = f"{plain(region.name)}, global"
    return there and f"address {hex(address)}: {there} memory, which {site.mnemonic} does not reach"


def _guessed(scene: FaultContext, site: Site, address: int) -> Region | None:
    """The buffer that the pointer came from, where the address itself does not tell: an index of many terabytes."""
    if isinstance(site.buffer, str):
        return scene.space.named(site.buffer)
    if site.buffer is None or address < 1 << machine_layout.REGION_SHIFT:
        return None
    pointer = int.from_bytes(scene.parameters[site.buffer : site.buffer + 8], "little")
    return scene.space.find(pointer)


def _shared(scene: FaultContext, site: Site, offset: int) -> _Target | None:
    ranges = [
        (item.name, item.address, scene.dynamic_size if item.size < 0 else item.size) for item in scene.module.shared
    ]
    named = [item for item in ranges if item[0] == site.buffer]
    if not ranges:
        return None
    rank = None
    if len(scene.cluster) > 1 or "shared::cluster" in site.mnemonic:
        rank, offset = _in_cluster(offset)
    # Without a guess: the variable that the address is nearest to.
    name, start, size = (named or sorted(ranges, key=lambda item: _distance(offset, item[1], item[2])))[0]
    itemsize = 1 if scene.bad_access is not None else _element_bytes(site)
    return _Target(plain(name), size, itemsize, offset - start, rank)


def _local(scene: FaultContext, site: Site, offset: int) -> _Target:
    """The local variable of a kernel that an address is nearest to."""
    variables = [item for item in scene.kernel.locals if item.name]
    if not variables:
        return _Target("local memory", scene.kernel.local_bytes, 1, offset)
    named = [item for item in variables if item.name == site.buffer]
    variable = (named or sorted(variables, key=lambda item: _distance(offset, item.start, item.size)))[0]
    is_depot = _DEPOT.search(variable.name) is not None
    name, itemsize = ("local memory", 1) if is_depot else (plain(variable.name), _element_bytes(site))
    return _Target(name, variable.size, itemsize, offset - variable.start)


def _element_bytes(site: Site) -> int:
    """The bytes of an element of memory that has no type in PTX, by the type of an access; a vector has several."""
    match = _TYPE.search(site.mnemonic)
    count = int(match["bits"]) // 8 * (2 if match["pair"] else 1) if match is not None else 0
    return count if 0 < count <= site.size else max(1, site.size)


def _in_cluster(offset: int) -> tuple[int, int]:
    """The rank and the offset in that block's memory; an address a little before it belongs to it, too."""
    step = 1 << machine_layout.CLUSTER_SHIFT
    rank, inside = divmod(offset + step // 2, step)
    return rank % machine_layout.MOST_RANKS, inside - step // 2


def _distance(offset: int, start: int, size: int) -> int:
    return max(start - offset, offset - (start + size), 0)


def coordinates(number: int, sides: Dim3) -> Dim3:
    """The coordinates of a thread in its block, or of a block in its grid, by its linear number."""
    rest, x = divmod(number, sides[0])
    z, y = divmod(rest, sides[1])
    return (x, y, z)


def plain(name: str) -> str:
    """A variable's name as the source has it: `_ZZ3redE4tile` → `tile`; others stay.

    A struct's fields may be variables of their own, `_ZZ3redE4pair_$_1`: they have the struct's name. `put~2.buf` is
    the variable `buf` of the second call that was inlined, of `put`. `__local_depot0$20$set` is the array `set`.
    """
    if (part := _PART_OF_DEPOT.fullmatch(name)) is not None:
        return part["name"]
    name = name[name.rfind("~") + 1 :].partition(".")[2] if "~" in name else name
    match = _LOCAL_NAME.fullmatch(name)
    if match is not None:
        return match["rest"][: int(match["size"])]
    if name.startswith("_Z"):
        return demangle(name)
    return name.partition("@")[0]  # a variable of a function, whose name the parser made unique


# --- textures and surfaces --------------------------------------------------------------------------------------------


def _no_texture(machine: Machine, scene: FaultContext, site: Site) -> KernelFault:
    handle = int(machine.fault_address)
    texture = scene.textures.find(handle)
    is_what = f"{plain(texture.region.name)}, {texture.label}" if texture else f"{hex(handle)}, no texture or surface"
    return KernelFault("illegal-access", f"{site.mnemonic} of {is_what}, {thread_of(machine)}, {site.where}")


def _surface(machine: Machine, scene: FaultContext, site: Site) -> KernelFault:
    surface = scene.textures.find(int(machine.fault_address))
    assert surface is not None
    description = surface.description
    width, height, depth = description.extents
    x, y, z = (_signed(int(getattr(machine, f"fault_{name}"))) for name in "xyz")
    row_bytes = width * description.element_size
    inside = 0 <= x <= row_bytes - site.size and 0 <= y < max(1, height) and 0 <= z < max(1, depth)
    coordinates = [f"x = byte {x}", f"y = {y}", f"z = {z}"][: description.axes]
    extents = [f"{row_bytes} bytes", str(height), str(depth)][: description.axes]
    if description.layered:
        # A layer's number is an unsigned one; a negative one is meant as such.
        coordinates.append(f"layer = {z - (1 << 32) if z >> 31 else z}")
        extents.append(f"{depth} layers")
    position, shape = ", ".join(coordinates), " x ".join(extents)
    kind = "misaligned" if inside else "out-of-bounds"
    name = plain(surface.region.name)
    what = f"{kind} {site.action} of {site.size} byte{'s' if site.size != 1 else ''} at {name}({position})"
    message = f"{what} ({name} has {shape}), {thread_of(machine)}, {site.where}"
    return KernelFault(kind, message, location=FaultLocation(name))


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


# --- threads that wait for ever ---------------------------------------------------------------------------------------


def _deadlock(machine: Machine, scene: FaultContext) -> KernelFault:
    lines = _describe_waiting(scene.context, scene)
    message = f"no thread of {_block(machine)} can go on: {'; '.join(lines)}"
    return KernelFault("deadlock", message, details=tuple(lines))


def _divergent(machine: Machine, scene: FaultContext) -> KernelFault:
    """Lanes of a warp that do not meet at a barrier of the block."""
    first = 32 * int(machine.fault_address)
    lines = describe_warp(scene, first)
    what = f"the lanes of warp {first // 32} of {_block(machine)} do not meet at a barrier of the block"
    return KernelFault("deadlock", f"{what}: {'; '.join(lines)}", details=tuple(lines))


def describe_warp(scene: FaultContext, first: int) -> list[str]:
    """Return one line for each place where threads of a warp stand, with the threads that went past a barrier.

    Args:
        scene: the launch, with the context of the block.
        first: the number of the warp's first thread.
    """
    last = min(first + 32, math.prod(scene.block))
    states, joined = (
        scene.context[ROWS[name][0] + 4 * first : ROWS[name][0] + 4 * last].view(np.int32)
        for name in ("state", "joined")
    )
    least = joined[states != DONE].min()
    lines = []
    for state, count in sorted(set(zip(states.tolist(), joined.tolist(), strict=True))):
        threads = first + np.flatnonzero((states == state) & (joined == count))
        past = ", after going past it" if count > least else ""
        site = int(_departures(scene.context, threads, scene)[0]) if state == DONE else 0
        lines.append(f"{_stand(threads, state, scene, site)}{past}")
    return lines


def _stuck(scene: FaultContext) -> KernelFault:
    blocks = _describe_blocks(scene)
    return KernelFault("deadlock", f"no thread of a cluster can go on: {', '.join(blocks)}", details=tuple(blocks))


def _spinning(scene: FaultContext) -> KernelFault:
    blocks = _describe_blocks(scene)
    count = sum(not block.done for block in scene.cluster)
    who = f"all {count} blocks that are resident wait" if count > 1 else "the one block that is resident waits"
    what = "for something that none of them will do"
    if scene.not_begun:
        is_one = scene.not_begun == 1
        what += f", and {scene.not_begun} more {'has' if is_one else 'have'} no room on the device before one ends"
    else:
        what += ", and no more blocks are to come"
    if scene.ended:
        blocks.append(f"{scene.ended} more block{'' if scene.ended == 1 else 's'}: ended")
    more = f", … and {len(blocks) - _MOST_RANGES} more places" if len(blocks) > _MOST_RANGES else ""
    message = f"{who} {what}: {', '.join(blocks[:_MOST_RANGES])}{more}"
    return KernelFault("deadlock", message, details=tuple(blocks[:_MOST_BLOCKS]))


def _stopped(machine: Machine, scene: FaultContext) -> KernelFault:
    """Where the blocks of a launch stand that is stopped from outside."""
    own = tuple(int(getattr(machine, f"fault_ctaid_{axis}")) for axis in "xyz")
    others = tuple(block for block in scene.cluster if block.coordinates != own and block.context is not None)
    here = f"{_block(machine)}: begins"
    if not machine.fault_address:
        here = f"{_block(machine)}: {'; '.join(_describe_waiting(scene.context, scene))}"
    lines = [here, *_describe_blocks(replace(scene, cluster=others))]
    return KernelFault("timeout", ", ".join(lines[:_MOST_RANGES]), details=tuple(lines[:_MOST_BLOCKS]))


def _describe_blocks(scene: FaultContext) -> list[str]:
    """Return a line for each way in which blocks stand, with the blocks; those that have ended come first.

    A grid's barrier, or that of a cluster, does not open where a block has ended before it came there.
    """
    ended = [block.coordinates for block in scene.cluster if block.done]
    alike: dict[str, list[Dim3]] = {}
    for block in scene.cluster:
        if not block.done:
            where = "not begun" if block.context is None else "; ".join(_describe_waiting(block.context, scene))
            alike.setdefault(where, []).append(block.coordinates)
    lines = [f"{_block_ranges(blocks)}: {where}" for where, blocks in alike.items()]
    return [f"{_block_ranges(ended)}: ended", *lines] if ended else lines


def _block_ranges(blocks: list[Dim3]) -> str:
    """`block (3,0,0)`, `7 blocks, (0,0,0) to (5,0,0) and (9,0,0)`: the given blocks, in their order in the grid."""
    runs: list[list[Dim3]] = []
    for block in sorted(blocks, key=lambda item: item[::-1]):
        last = runs[-1][-1] if runs else None
        if last is not None and block == (last[0] + 1, *last[1:]):
            runs[-1].append(block)
        else:
            runs.append([block])
    names = [f"({','.join(map(str, run[0]))})" for run in runs[:_MOST_RANGES]]
    for index, run in enumerate(runs[:_MOST_RANGES]):
        if len(run) > 1:
            names[index] += f" to ({','.join(map(str, run[-1]))})"
    more = " …" if len(runs) > _MOST_RANGES else ""
    if len(blocks) == 1:
        return f"block {names[0]}"
    return f"{len(blocks)} blocks, {', '.join(names)}{more}"


def _describe_waiting(context: np.ndarray[Any, np.dtype[np.uint8]], scene: FaultContext) -> list[str]:
    """Return one line for each instruction, `threads 0-30 wait at bar.sync, reduce.cu:12`, and for exited threads.

    Args:
        context: the block's context, bytes.
        scene: the launch.
    """
    states = _states(context, scene)
    lines = []
    for state in np.unique(states):
        threads = np.flatnonzero(states == state)
        if state == DONE:
            last = _departures(context, threads, scene)
            lines += [_stand(threads[last == site], int(state), scene, int(site)) for site in np.unique(last)]
            continue
        keys = _keys(context, scene)[threads] if scene.checks_barriers else np.zeros(len(threads), np.uint64)
        for key in np.unique(keys):
            lines.append(_stand(threads[keys == key], int(state), scene) + _of_key(scene, int(state), int(key)))
    return lines


def _of_key(scene: FaultContext, state: int, key: int) -> str:
    """` with the mask 0x0000ffff` of a warp operation, ` for 96 threads` of a barrier with a count, or ""."""
    site, high = _wait_site(scene, state), key >> 32
    if not high or state >= 0:
        return ""
    if "bar.warp" in site.mnemonic or not site.mnemonic.startswith("bar"):
        return f" with the mask 0x{key & 0xFFFF_FFFF:08x}"
    return f" for {high} threads at barrier {key & 0xFFFF_FFFF}"


def _keys(context: np.ndarray[Any, np.dtype[np.uint8]], scene: FaultContext) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """The key of each thread of a block."""
    offset = ROWS["key"][0]
    return context[offset : offset + 8 * math.prod(scene.block)].view(np.uint64)


def _states(context: np.ndarray[Any, np.dtype[np.uint8]], scene: FaultContext) -> np.ndarray[Any, np.dtype[np.int32]]:
    """The state of each thread of a block."""
    offset = ROWS["state"][0]
    return context[offset : offset + 4 * math.prod(scene.block)].view(np.int32)


def _departures(
    context: np.ndarray[Any, np.dtype[np.uint8]], threads: np.ndarray[Any, np.dtype[np.int64]], scene: FaultContext
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The site, from 1, of the last effect of each of some exited threads behind its waits; 0 where it is not known."""
    if not scene.checks_barriers:
        return np.zeros(len(threads), np.int64)
    keys = _keys(context, scene)[threads]
    sites: np.ndarray[Any, np.dtype[np.int64]] = (keys & np.uint64(DEPARTED - 1)).astype(np.int64) + 1
    sites[keys < np.uint64(DEPARTED)] = 0
    return sites


def _wait_site(scene: FaultContext, state: int) -> Site:
    """The site at which a thread with a state waits; one below 0 is the complement of the wait's number, from 1."""
    return scene.module.sites[scene.kernel.wait_sites[(~state if state < 0 else state) - 1]]


def _stand(threads: np.ndarray[Any, np.dtype[np.int64]], state: int, scene: FaultContext, last: int = 0) -> str:
    """`threads 0-30 wait at bar.sync, reduce.cu:12`, what they spin on, or that they have exited.

    Args:
        threads: their numbers.
        state: of all of them.
        scene: the launch.
        last: the site, from 1, of the last effect of threads that have exited; 0: not known.
    """
    several = len(threads) > 1
    if state == DONE:
        site = scene.module.sites[last - 1] if last else None
        after = f" after {site.mnemonic}, {site.where}" if site is not None else ""
        return f"{_thread_ranges(threads)} {'have' if several else 'has'} exited{after}"
    site = _wait_site(scene, state)
    what = f"{'wait' if several else 'waits'} at {site.mnemonic}"
    if site.mnemonic == _STEP:
        what = f"{'are' if several else 'is'} running"
    if site.action == "spin":
        what = f"{'spin' if several else 'spins'} on {_variable(scene, site) or site.mnemonic}"
    return f"{_thread_ranges(threads)} {what}, {site.where}"


def _variable(scene: FaultContext, site: Site) -> str:
    """The name of the variable or buffer that a site reads; "" where it is not known."""
    if isinstance(site.buffer, str):
        return plain(site.buffer)
    if site.buffer is None:
        return ""
    region = scene.space.find(int.from_bytes(scene.parameters[site.buffer : site.buffer + 8], "little"))
    return "" if region is None else plain(region.name)


_STEP = "bar.warp.step"
"""The compiler's own wait between accesses of one warp, at which the threads meet and go on."""


def _thread_ranges(numbers: np.ndarray[Any, np.dtype[np.int64]]) -> str:
    breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
    ranges = [(int(part[0]), int(part[-1])) for part in np.split(numbers, breaks)]
    words = [str(first) if first == last else f"{first}-{last}" for first, last in ranges[:_MOST_RANGES]]
    more = " …" if len(ranges) > _MOST_RANGES else ""
    return f"thread{'s' if len(numbers) > 1 else ''} {', '.join(words)}{more}"

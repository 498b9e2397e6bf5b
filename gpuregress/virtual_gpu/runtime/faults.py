"""Messages for kernel faults, from the numbers that compiled code leaves in the machine record."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.errors import CodeLine, FaultLocation, KernelFault
from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.ptx.tree import UNDEFINED
from gpuregress.virtual_gpu.runtime import machine_layout, waiting_threads
from gpuregress.virtual_gpu.runtime.device_heap import Allocation
from gpuregress.virtual_gpu.runtime.fault_context import FaultContext, counted, plain, thread_of
from gpuregress.virtual_gpu.runtime.machine_layout import Machine
from gpuregress.virtual_gpu.runtime.memory import Region, offset_in
from gpuregress.virtual_gpu.runtime.program import PlacedVariable, Site

_NO_BARRIER = f"a block has {SM_90.barriers} barriers, numbered from 0, and each counts whole warps"
_OUT_OF_REACH = (
    "the many shared variables of this kernel, with the gaps between them on the cpu device, end beyond 256 KiB, "
    "where no matrix descriptor reaches: put them into one array or structure"
)
_NO_WARPGROUP = "needs the 128 threads of a whole warpgroup; the block has"
_NAMES = {
    machine_layout.FAULT_TRAP: "trap",
    machine_layout.FAULT_STACK: "stack-overflow",
    machine_layout.FAULT_RESULT: "illegal-access",
}
_TYPE = re.compile(r"\.[a-z]+(?P<bits>8|16|32|64|128)(?P<pair>x2)?$")
_DEPOT = re.compile(r"__local_depot\d+$")
_MISUSES = (
    machine_layout.FAULT_DIVERGENT,
    machine_layout.FAULT_MASK,
    machine_layout.FAULT_BARRIER,
    machine_layout.FAULT_CLUSTER,
)


def explain(machine: Machine, scene: FaultContext) -> KernelFault:
    """Return the fault that the machine record holds, with its place."""
    of_many_threads = _OF_MANY_THREADS.get(machine.fault_kind)
    if of_many_threads is not None:
        fault = of_many_threads(machine, scene)
    else:
        site = scene.module.sites[machine.fault_site]
        fault = _of_one_thread(machine, scene, site)
        fault.location = located(fault.location, machine, site.source_line)
        fault.source_line = site.source_line
    if scene.checks_barriers and _is_misuse(machine, scene):
        fault.kind = "barrier"
    return fault


def located(location: FaultLocation, machine: Machine, line: CodeLine | None = None) -> FaultLocation:
    """Complete the place of a fault by its thread and source line.

    Args:
        location: with the buffer and the index, where they are known.
        machine: holds the thread.
        line: where the thread stands; one of the PTX is no source line.
    """
    if line is not None and line.file:
        location = replace(location, file=line.file, line=line.line, calls=line.lines[1:])
    return replace(
        location,
        thread=(machine.fault_tid_x, machine.fault_tid_y, machine.fault_tid_z),
        block=(machine.fault_ctaid_x, machine.fault_ctaid_y, machine.fault_ctaid_z),
    )


def _is_misuse(machine: Machine, scene: FaultContext) -> bool:
    """Whether a fault is one of barriers and masks; where a thread spins, it is not the barrier that is wrong."""
    kind = machine.fault_kind
    if kind == machine_layout.FAULT_DEADLOCK:
        return not waiting_threads.is_spinning(scene, [scene.context])
    if kind == machine_layout.FAULT_STUCK:
        running = [block.context for block in scene.cluster if block.context is not None and not block.done]
        return not waiting_threads.is_spinning(scene, running)
    return kind in _MISUSES


_OF_MANY_THREADS: dict[int, Callable[[Machine, FaultContext], KernelFault]] = {
    machine_layout.FAULT_DEADLOCK: waiting_threads.deadlock,
    machine_layout.FAULT_STUCK: waiting_threads.stuck,
    machine_layout.FAULT_DIVERGENT: waiting_threads.divergent,
    machine_layout.FAULT_SPIN: waiting_threads.spinning,
    machine_layout.FAULT_STOPPED: waiting_threads.stopped,
}


def _of_one_thread(machine: Machine, scene: FaultContext, site: Site) -> KernelFault:
    kind = machine.fault_kind
    if scene.bad_access is not None:
        site = replace(site, action=scene.bad_access.action, size=scene.bad_access.size)
    if kind in (machine_layout.FAULT_ACCESS, machine_layout.FAULT_FAR):
        return _access(machine, scene, site)
    if kind == machine_layout.FAULT_FREE:
        return _free(machine, scene, site)
    if kind == machine_layout.FAULT_LOOP:
        loop = "an endless loop," if site.mnemonic == "bra.uni" else "a loop whose condition is at"
        return KernelFault("timeout", f"{thread_of(machine)} in {loop} {site.where}")
    if kind == machine_layout.FAULT_TEXTURE:
        return _no_texture(machine, scene, site)
    if kind == machine_layout.FAULT_SURFACE:
        return _surface(machine, scene, site)
    texts = {
        machine_layout.FAULT_TRAP: _trapped(scene, site),
        machine_layout.FAULT_CALL: "a call through a pointer to no function of its type",
        machine_layout.FAULT_STACK: "too many calls inside calls, or too much local memory",
        machine_layout.FAULT_BRANCH: "a branch through a table, outside it",
        machine_layout.FAULT_BARRIER: f"{site.mnemonic}: {_NO_BARRIER}",
        machine_layout.FAULT_WARPGROUP: f"{site.mnemonic} {_NO_WARPGROUP} {math.prod(scene.block)}",
        machine_layout.FAULT_REACH: f"{site.mnemonic}: {_OUT_OF_REACH}",
        machine_layout.FAULT_RESULT: _in_flight(site),
        machine_layout.FAULT_MASK: left_out(machine, scene, site, int(machine.fault_address)),
        machine_layout.FAULT_CLUSTER: _out_of_turn(site),
    }
    return KernelFault(_NAMES.get(kind, "illegal-instruction"), f"{texts[kind]}, {thread_of(machine)}, {site.where}")


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

    @property
    def element(self) -> str:
        """`x[7]`, `x[7] + 2 bytes`."""
        index, byte = divmod(self.offset, self.itemsize)
        element = f"{self.name}[{index}]"
        return f"{element} + {counted(byte, 'byte')}" if byte else element


def _access(machine: Machine, scene: FaultContext, site: Site) -> KernelFault:
    address = int(machine.fault_address)
    access = f"{site.action} of {counted(site.size, 'byte')}"
    place = f"{thread_of(machine)}, {site.where}"
    elsewhere = _beyond_its_space(scene, site, address)
    if elsewhere:
        return KernelFault("illegal-access", f"{access} at {elsewhere}, {place}")
    target = _target(scene, site, address)
    alignment = site.size
    if scene.bad_access is not None:
        alignment = scene.bad_access.alignment
    # A GPU looks at the alignment first, wherever the address is.
    kind = "misaligned" if address % max(1, alignment) else "out-of-bounds"
    if target is None:
        return KernelFault(kind, f"{kind} {access} at {_nowhere(address)}, {place}")
    if target.rank is not None:
        absent = _absent(scene, target.rank)
        if absent is not None:
            kind, reason = absent
            message = f"{access} at {target.element} of block rank {target.rank}{reason}, {place}"
            return KernelFault(kind, message, location=target.location)
    is_inside = 0 <= target.offset <= target.size - site.size
    if target.freed and is_inside and kind != "misaligned":
        message = f"{access} at {target.element} of freed memory ({target.history}), {place}"
        return KernelFault("illegal-access", message, location=target.location)
    count = target.size // target.itemsize
    element, extent = target.element, f"{target.name} has {count}"
    is_own = target.rank == machine.cluster_rank
    if target.rank is not None and not is_own:
        element += f" of block rank {target.rank}"
    if machine.fault_kind == machine_layout.FAULT_FAR and not is_own:
        extent += "; only .shared::cluster reaches it"
    elif target.history:
        extent += f"; {target.history}"
    message = f"{kind} {access} at {element} ({extent}), {place}"
    return KernelFault(kind, message, location=replace(target.location, elements=count, size=site.size))


def _free(machine: Machine, scene: FaultContext, site: Site) -> KernelFault:
    """A free of memory that is not allocated."""
    address = int(machine.fault_address)
    reason = "which malloc did not give"
    allocation = scene.space.heap.find(address)
    if allocation is not None:
        offset = address - allocation.address
        if offset == 0:
            reason = f"which is free already ({_history(scene, allocation)})"
        elif 0 < offset < allocation.size:
            reason = f"byte {offset} of malloc'ed memory ({_history(scene, allocation)})"
    return KernelFault("illegal-access", f"free of {hex(address)}, {reason}, {thread_of(machine)}, {site.where}")


def _history(scene: FaultContext, allocation: Allocation) -> str:
    """`allocated at tree.cu:12, freed at tree.cu:30`."""
    history = f"allocated at {_heap_site(scene, allocation.born)}"
    if allocation.died is not None:
        history += f", freed at {_heap_site(scene, allocation.died)}"
    return history


def _heap_site(scene: FaultContext, code: int) -> str:
    """The source line that a number stands for: that of a module, and that of a site in it."""
    number, site = code >> 32, code & 0xFFFF_FFFF
    module = scene.modules[number] if number < len(scene.modules) else scene.module
    return module.sites[site].where


def _absent(scene: FaultContext, rank: int) -> tuple[str, str] | None:
    """The fault of an access to shared memory of an absent block: kind, reason; None where it is present."""
    count = max(1, len(scene.cluster))
    if rank >= count:
        return "out-of-bounds", f": the cluster has {counted(count, 'block')}"
    if not scene.cluster:
        return None
    if scene.cluster[rank].done:
        return "illegal-access", ", which has exited: the cluster must wait for those that read it"
    if scene.cluster[rank].context is None:
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


def element_at(scene: FaultContext, site: Site, address: int) -> str:
    """`s[31]` (shared), `out[7]`: the element that an access by a site is at."""
    target = _target(scene, site, address)
    if target is None:
        return f"address {hex(address)}"
    if target.itemsize == 1 and any(plain(item.name) == target.name for item in scene.module.variables):
        # PTX declares an array in bytes, whatever its elements are.
        target = replace(target, itemsize=_element_bytes(site))
    if target.history:
        return f"`{target.element}` (heap; {target.history})"
    if _window(address) == machine_layout.SHARED_WINDOW:
        return f"`{target.element}` (shared)"
    return f"`{target.element}`"


def _target(scene: FaultContext, site: Site, address: int) -> _Target | None:
    window = _window(address)
    if window == machine_layout.SHARED_WINDOW or site.space == "shared":
        return _shared(scene, site, address - machine_layout.SHARED_WINDOW)
    if window == machine_layout.LOCAL_WINDOW or site.space == "local":
        return _local(scene, site, address - machine_layout.LOCAL_WINDOW - machine_layout.LOCAL_START)
    if window == machine_layout.PARAM_WINDOW:
        return _Target("the parameters", len(scene.parameters), 1, address - machine_layout.PARAM_WINDOW)
    allocation = scene.space.heap.find(address)
    if allocation is not None:
        return _Target(
            name="malloc'ed memory",
            size=allocation.size,
            itemsize=_element_bytes(site),
            offset=address - allocation.address,
            history=_history(scene, allocation),
            freed=allocation.died is not None,
        )
    region = scene.space.find(address) or _guessed(scene, site, address)
    if region is None:
        return None
    return _Target(plain(region.name), region.size, region.itemsize, offset_in(region, address))


def _window(address: int) -> int:
    return address >> machine_layout.REGION_SHIFT << machine_layout.REGION_SHIFT


def _beyond_its_space(scene: FaultContext, site: Site, address: int) -> str:
    """Description of an address outside the state space that the access names; "" where it is inside."""
    windows = {
        machine_layout.SHARED_WINDOW: "shared",
        machine_layout.LOCAL_WINDOW: "local",
        machine_layout.PARAM_WINDOW: "parameter",
    }
    memory = ""
    if site.space in ("global", "const"):
        memory = windows.get(_window(address), "")
    for window, space in windows.items():
        if space != site.space:
            continue
        region = scene.space.find(address - window)
        if region is not None:
            address -= window
            memory = f"{plain(region.name)}, global"
    if not memory:
        return ""
    return f"address {hex(address)}: {memory} memory, which {site.mnemonic} does not reach"


def _guessed(scene: FaultContext, site: Site, address: int) -> Region | None:
    """The buffer that the pointer came from, where the address itself does not tell: an index of many terabytes."""
    if isinstance(site.buffer, str):
        return scene.space.named(site.buffer)
    if site.buffer is None or address < 1 << machine_layout.REGION_SHIFT:
        return None
    return scene.buffer_of_parameter(site.buffer)


def _shared(scene: FaultContext, site: Site, offset: int) -> _Target | None:
    """The shared variable of a kernel that an address is meant for."""
    variables = []
    for item in scene.module.shared:
        size = scene.dynamic_size if item.size < 0 else item.size
        variables.append(PlacedVariable(item.name, item.address, size))
    if not variables:
        return None
    rank = None
    if len(scene.cluster) > 1 or "shared::cluster" in site.mnemonic:
        rank, offset = _in_cluster(offset)
    variable = _meant(variables, site, offset)
    itemsize = 1 if scene.bad_access is not None else _element_bytes(site)
    return _Target(plain(variable.name), variable.size, itemsize, offset - variable.start, rank)


def _local(scene: FaultContext, site: Site, offset: int) -> _Target:
    """The local variable of a kernel that an address is meant for."""
    variables = [item for item in scene.kernel.locals if item.name]
    if not variables:
        return _Target("local memory", scene.kernel.local_bytes, 1, offset)
    variable = _meant(variables, site, offset)
    name, itemsize = plain(variable.name), _element_bytes(site)
    if _DEPOT.search(variable.name) is not None:
        name, itemsize = "local memory", 1
    return _Target(name, variable.size, itemsize, offset - variable.start)


def _meant(variables: list[PlacedVariable], site: Site, offset: int) -> PlacedVariable:
    """The variable that an access names; otherwise the nearest one."""
    for variable in variables:
        if variable.name == site.buffer:
            return variable
    return min(variables, key=lambda variable: variable.distance(offset))


def _element_bytes(site: Site) -> int:
    """The bytes of an element of memory that has no type in PTX, by the type of an access; a vector has several."""
    match = _TYPE.search(site.mnemonic)
    if match is not None:
        size = int(match["bits"]) // 8
        if match["pair"]:
            size *= 2
        if size <= site.size:
            return size
    return max(1, site.size)


def _in_cluster(offset: int) -> tuple[int, int]:
    """The rank and the offset in that block's memory; an address a little before it belongs to it, too."""
    step = 1 << machine_layout.CLUSTER_SHIFT
    rank, inside = divmod(offset + step // 2, step)
    return rank % machine_layout.MOST_RANKS, inside - step // 2


# --- textures and surfaces --------------------------------------------------------------------------------------------


def _no_texture(machine: Machine, scene: FaultContext, site: Site) -> KernelFault:
    handle = int(machine.fault_address)
    texture = scene.textures.find(handle)
    what = f"{hex(handle)}, no texture or surface"
    if texture is not None:
        what = f"{plain(texture.region.name)}, {texture.label}"
    return KernelFault("illegal-access", f"{site.mnemonic} of {what}, {thread_of(machine)}, {site.where}")


def _surface(machine: Machine, scene: FaultContext, site: Site) -> KernelFault:
    surface = scene.textures.find(int(machine.fault_address))
    assert surface is not None
    description = surface.description
    width, height, depth = description.extents
    x, y, z = _signed(machine.fault_x), _signed(machine.fault_y), _signed(machine.fault_z)
    row_bytes = width * description.element_size
    is_inside = 0 <= x <= row_bytes - site.size and 0 <= y < max(1, height) and 0 <= z < max(1, depth)
    coordinates = [f"x = byte {x}", f"y = {y}", f"z = {z}"][: description.axes]
    extents = [f"{row_bytes} bytes", str(height), str(depth)][: description.axes]
    if description.layered:
        # A layer's number is an unsigned one; a negative one is meant as such.
        layer = z - (1 << 32) if z >> 31 else z
        coordinates.append(f"layer = {layer}")
        extents.append(f"{depth} layers")
    kind = "misaligned" if is_inside else "out-of-bounds"
    name = plain(surface.region.name)
    access = f"{kind} {site.action} of {counted(site.size, 'byte')} at {name}({', '.join(coordinates)})"
    message = f"{access} ({name} has {' x '.join(extents)}), {thread_of(machine)}, {site.where}"
    return KernelFault(kind, message, location=FaultLocation(name))


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value

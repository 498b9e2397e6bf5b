"""Notes of values that lanes exchange with no wait between, and of masks that leave out lanes."""

from __future__ import annotations

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime.fault_context import FaultContext, plain
from gpuregress.virtual_gpu.runtime.machine_layout import Machine
from gpuregress.virtual_gpu.runtime.program import Site

# --- kernel languages -------------------------------------------------------------------------------------------------
# Names of barriers in CUDA C++, Numba and Triton, for messages.


class KernelLanguage(Record):
    """A kernel language and its names of barriers.

    Attributes:
        warp_barrier: what orders the lanes of a warp; Triton has a barrier of the block only.
        block_barrier: what orders the threads of a block.
    """

    warp_barrier: str
    block_barrier: str


CUDA = KernelLanguage("__syncwarp", "__syncthreads")
NUMBA = KernelLanguage("cuda.syncwarp", "cuda.syncthreads")
TRITON = KernelLanguage("tl.debug_barrier", "tl.debug_barrier")


def language_of(scene: FaultContext, site: Site) -> KernelLanguage:
    """Return the language of a kernel.

    Numba mangles the names of its kernels and Triton does not.
    """
    line = site.source_line
    if not any(file.endswith(".py") for file in (line.file, *(file for file, _ in line.calls))):
        return CUDA
    return NUMBA if scene.name.startswith("_Z") else TRITON


# --- lane exchanges ---------------------------------------------------------------------------------------------------


class LaneExchange(Record):
    """Values that lanes of a warp exchange with no wait between.

    Attributes:
        text: with both lines and the variable.
        write: the access that writes them.
        read: the access that reads them.
        advice: what orders the accesses of other warps, too; left out where races are looked for.
    """

    text: str
    write: Site
    read: Site
    advice: str

    @property
    def note(self) -> str:
        """The text where races between warps were not looked for."""
        return f"{self.text}; --check races shows whether other warps are affected, too: {self.advice}"


def first(machine: Machine, scene: FaultContext) -> LaneExchange | None:
    """Return the first exchange of a launch; None where there was none."""
    if not machine.exchange_read:
        return None
    sites = scene.module.sites
    write, read = sites[machine.exchange_write - 1], sites[machine.exchange_read - 1]
    language = language_of(scene, read)
    warp, block = language.warp_barrier, language.block_barrier
    more = f", {warp}() only the lanes of a warp" if warp != block else ""
    text = (
        f"lanes of a warp exchange values through {_variable(scene, read, write)} without {warp} "
        f"({write.where} → {read.where}); they run in step here, as on a GPU while the warp stays converged"
    )
    return LaneExchange(text, write, read, f"{block}() between the two orders all of them{more}")


def describe_left_out(machine: Machine, scene: FaultContext) -> str:
    """Return the first operation of a launch whose mask leaves out a lane that executes it; "" where there was none."""
    if not machine.left_out:
        return ""
    site, mask = scene.module.sites[(machine.left_out >> 32) - 1], machine.left_out & 0xFFFF_FFFF
    return (
        f"lane {machine.left_out_lane} executes {site.mnemonic} at {site.where}, whose mask 0x{mask:08x} leaves it "
        "out, which is undefined; all lanes of the warp take part here, as on an H200 in code that is optimised: "
        "the mask has to name each lane that executes it"
    )


def _variable(scene: FaultContext, read: Site, write: Site) -> str:
    """`shared sdata`, `global flags`, or the state space alone."""
    site = read if read.buffer is not None else write
    if isinstance(site.buffer, str):
        space = "shared" if any(item.name == site.buffer for item in scene.module.shared) else "global"
        return f"{space} {plain(site.buffer)}"
    if site.buffer is not None:
        region = scene.buffer_of_parameter(site.buffer)
        if region is not None:
            return f"global {plain(region.name)}"
    shared = {plain(item.name) for item in scene.module.shared}
    if "shared" in (read.space, write.space):
        return f"shared {shared.pop()}" if len(shared) == 1 else "shared memory"
    return f"{read.space or write.space or 'generic'} memory"

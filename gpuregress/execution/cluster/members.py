"""Members of a cluster: Dask workers on which cases can run, their slots, reasons of refusals."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import field

from gpuregress import __version__
from gpuregress.execution.cluster.messages import HostFacts
from gpuregress.foundation.errors import DeviceError, UsageError
from gpuregress.foundation.records import Case
from gpuregress.gpu.records import Record, replace
from gpuregress.toolchain.cache import code_digest

# Versions that the client and the hosts of a cluster must share.
# A host with another version of Python or of gpuregress would compute other results, or fail for reasons of its
# own. So it is refused by name. The question is a text, which every Python understands.
QUESTION = (
    "{'python': '%d.%d' % __import__('sys').version_info[:2],"
    " 'gpuregress': getattr(__import__('gpuregress'), '__version__', 'unknown')"
    " if __import__('importlib.util').util.find_spec('gpuregress') else ''}"
)
"""A Python expression for the versions of a Dask worker."""


def version_problem(told: Mapping[str, str]) -> str:
    """Explain why a worker with these versions cannot be used; "" if it can.

    Args:
        told: the value of `QUESTION` there.
    """
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    if told["python"] != python:
        return f"it has Python {told['python']}, and this is Python {python}: they must be equal"
    if not told["gpuregress"]:
        return "gpuregress is not installed there: pip install 'gpuregress[cluster]'"
    if told["gpuregress"] != __version__:
        return f"it has gpuregress {told['gpuregress']}, and this is {__version__}: they must be equal"
    return ""


def code_problem(code: str) -> str:
    """Explain why a worker with this digest of the package's code cannot be used; "" if it can."""
    if code == code_digest():
        return ""
    return f"its gpuregress {__version__} has other code ({code}) than this one ({code_digest()}): install the same"


_ARCHITECTURE = re.compile(r"sm_[0-9]+[af]?")


class ClusterMember(Record):
    """A Dask worker.

    Attributes:
        address: of Dask, `tcp://10.0.0.7:41237`.
        facts: what it says of itself.
        threads: tasks that it runs at a time.
        gpus: that it declares; 0: it is a CPU worker.
        arch: of its GPUs, `sm_90`: declared, else found; "" for a CPU worker, and where it is not known.
        is_ready: whether it takes tasks; else it is about to leave, or short of memory.
    """

    address: str
    facts: HostFacts
    threads: int = 1
    gpus: int = 0
    arch: str = ""
    is_ready: bool = True

    @property
    def host(self) -> str:
        """The name of its host."""
        return self.facts.host

    @property
    def name(self) -> str:
        """The worker in messages."""
        return f"{self.host} ({self.address})"

    def as_told(self, info: Mapping[str, Any]) -> ClusterMember:
        """Return the member with its present state.

        Args:
            info: the scheduler's description.
        """
        return replace(self, is_ready=_is_ready(info))

    def slots(self, kind: str) -> int:
        """Count the cases that it runs at a time.

        Args:
            kind: of the devices: `cpu` or `cuda`.
        """
        if kind == "cpu":
            return 0 if self.gpus else self.threads
        return min(self.gpus, self.threads)


class Devices(Record):
    """The devices of a cluster that a run uses.

    Attributes:
        kind: `cpu` or `cuda`.
        arch: for which cases are compiled whose job names none: `sm_90`; "" for the CPU.
        why: how they were chosen.
        named: the architectures of all GPUs, for jobs that name theirs.
    """

    kind: str
    arch: str = ""
    why: str = ""
    named: frozenset[str] = field(default_factory=frozenset)

    def arch_for(self, case: Case) -> str:
        """Return the architecture of the GPUs that run a case: the one that its job names, if there are any."""
        return case.settings.arch if case.settings.arch in self.named else self.arch

    def accept(self, member: ClusterMember, case: Case) -> bool:
        """Tell whether a member can run a case."""
        if not member.slots(self.kind):
            return False
        return self.kind == "cpu" or member.arch == self.arch_for(case)


def member_of(address: str, info: Mapping[str, Any], facts: HostFacts) -> ClusterMember:
    """Make a member from what the scheduler and the worker say of it.

    Args:
        address: of the worker.
        info: the scheduler's description.
        facts: the worker's own.

    Raises:
        DeviceError: what it declares cannot be, or it lacks the CPU device and declares no GPU.
    """
    resources = {name: int(amount) for name, amount in info.get("resources", {}).items()}
    declared = [name for name in resources if _ARCHITECTURE.fullmatch(name)]
    gpus = resources.get("GPU", 0)
    if declared and not gpus:
        raise DeviceError(f"it declares {declared[0]} and no GPU: start it with --resources 'GPU=1,{declared[0]}=1'")
    if facts.cpu_lack and not gpus:
        raise DeviceError(facts.cpu_lack)
    if len(declared) > 1:
        raise DeviceError(f"it declares {' and '.join(declared)}: start one worker for each architecture")
    architectures = [*declared, *facts.architectures]
    return ClusterMember(
        address=address,
        facts=facts,
        threads=int(info.get("nthreads", 1)),
        gpus=gpus,
        arch=architectures[0] if gpus and architectures else "",
        is_ready=_is_ready(info),
    )


def _is_ready(info: Mapping[str, Any]) -> bool:
    return bool(info.get("status", "running") == "running")


def select(device: str, members: Sequence[ClusterMember], address: str) -> Devices:
    """Select the devices of a run.

    Args:
        device: `auto`, `cpu` or `cuda`.
        members: of the cluster.
        address: of its scheduler.

    Raises:
        UsageError: `device` is none of these.
        DeviceError: no worker of the cluster has such a device.
    """
    if re.fullmatch(r"cuda:\d+", device):
        raise UsageError(f"--device {device} names a GPU of this machine: on a cluster say --device cuda")
    if device not in ("auto", "cpu", "cuda"):
        raise UsageError(f"no device is called {device!r}: on a cluster say auto, cpu or cuda")
    gpus = [member for member in members if member.slots("cuda")]
    if device == "cpu" or (device == "auto" and not gpus):
        if not any(member.slots("cpu") for member in members):
            raise DeviceError(f"no worker of the cluster at {address} is for the CPU: all usable ones declare GPUs")
        return Devices("cpu", why=_where("cpu", members, address))
    if not gpus:
        raise DeviceError(
            f"no worker of the cluster at {address} declares a GPU: start it with --resources 'GPU=1,sm_90=1'"
        )
    counts: Counter[str] = Counter()
    for member in gpus:
        counts[member.arch] += member.slots("cuda")
    arch = max(counts, key=lambda name: counts[name])
    others = sorted(counts.keys() - {arch})
    why = _where("cuda", members, address)
    if others:
        why += f"; jobs that name no architecture run on {arch} only, not on {', '.join(others)}"
    return Devices("cuda", arch, why, frozenset(counts))


def _where(kind: str, members: Sequence[ClusterMember], address: str) -> str:
    slots = sum(member.slots(kind) for member in members)
    hosts = len({member.host for member in members if member.slots(kind)})
    noun = {"cpu": "core", "cuda": "GPU"}[kind]
    slots_text = f"1 {noun}" if slots == 1 else f"{slots} {noun}s"
    hosts_text = "1 host" if hosts == 1 else f"{hosts} hosts"
    return f"{slots_text} on {hosts_text} of the cluster at {address}"

"""Records of accepted baselines."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from gpuregress.foundation.records.dumps import Dump, LaunchDigests
from gpuregress.gpu.instruments import LineCost
from gpuregress.gpu.records import Record, Sparse


class MadeOf(Record):
    """The facts that decided a case's results besides the harness; they explain a difference.

    Attributes:
        source: digest of the source and all it includes.
        inputs: filled buffer → digest of its bytes before the first launch.
        seed: the job's.
        compiler: `nvrtc 13.5.37`.
        options: the compiler's, without folders.
        contract: `pinned` or `native`.
        arch: what was compiled for.
        device: its model, `NVIDIA H200`.
        card: a GPU's UUID.
        driver: its driver's and runtime's versions.
        launches: each launch as the log writes it, repeats of one line once.
        resources: kernel → registers, shared, local, spill bytes.
        determinism: buffer → `bitwise`, `order varies` or `values vary`, where the case was run more than once.
        orders: the order of blocks and threads in each of these runs, where the device has a choice.
        sources: name of each source → its digest, where the case has several.
        code: digest of the machine code of a case with `timing:`, without line numbers; "" for others.
    """

    source: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    compiler: str = ""
    options: tuple[str, ...] = ()
    contract: str = "pinned"
    arch: str = ""
    device: str = ""
    driver: str = ""
    launches: tuple[str, ...] = ()
    resources: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    determinism: Mapping[str, str] = field(default_factory=dict)
    card: str = ""
    orders: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    code: str = ""


class AcceptedTiming(Sparse):
    """The times, or the instruction counts, of the accepted run on one model of device.

    Attributes:
        revision: of the run.
        samples_ms: of its timing loop; none on the CPU device, whose time is the host's.
        code: digest of the machine code, "" where it is not known.
        card: a GPU's UUID.
        driver: driver and runtime.
        sm_clock: the clock after the last sample.
        instructions: kernel → PTX instructions executed, on the CPU device.
        uncounted: source lines of the loops that are not in it.
        costs: of the source lines, on the CPU device; none where they were not counted.
    """

    revision: str
    samples_ms: tuple[float, ...] = ()
    code: str = ""
    card: str = ""
    driver: str = ""
    sm_clock: str = ""
    instructions: Mapping[str, int] = field(default_factory=dict)
    uncounted: tuple[str, ...] = ()
    costs: tuple[LineCost, ...] = ()


class Acceptance(Record):
    """One `accept`: of what revision and source digest, when (ISO 8601, UTC), by whom, why, from which run.

    `unwritten_ok` is the reason given for accepting a buffer of which nothing was written, "" where none was needed.
    `case` is the name of the case at that time, "" in baselines of an earlier gpuregress.
    """

    revision: str
    source: str
    when: str
    who: str = ""
    why: str = ""
    run: str = ""
    unwritten_ok: str = ""
    case: str = ""


SOURCE_DIGITS = 16
"""Of a source's digest, which are enough to tell the sources of a project apart."""


class AcceptedBy(Sparse):
    """The last acceptance of a case's baseline, for the reports of a run.

    Attributes:
        revision: what was accepted.
        source: the first `SOURCE_DIGITS` digits of its source's digest.
        when: ISO 8601, UTC.
        who: accepted it.
        why: in their words, "" where none were given.
        run: that was accepted.
    """

    revision: str
    source: str
    when: str
    who: str = ""
    why: str = ""
    run: str = ""


class SourceVersions(Record):
    """The sources of a case as they ran, and as they were when its baseline was accepted.

    Attributes:
        now: path → text; empty where it is not known.
        accepted: likewise.
        commit: that has the accepted text, "" where a run of this project kept it.
    """

    now: Mapping[str, str] = field(default_factory=dict)
    accepted: Mapping[str, str] = field(default_factory=dict)
    commit: str = ""


class Baseline(Record):
    """The accepted dumps of a case.

    Attributes:
        case: its name.
        path: its `baseline.yaml`, absolute.
        revision: the one accepted last.
        made_of: what it was made of.
        dumps: buffer → its dump, whole (the file's digest was compared), path absolute.
        history: every accept, the oldest first; the last is this one.
        first: buffer → the first dump ever accepted, for buffers whose drift is watched.
        arch: `sm_80`, `cpu` or `cuda` where it holds for that architecture or device only, "" for the common one.
        launch_digests: of its buffers after each launch, None where none were kept.
        timings: model of a device, `cpu` for the CPU device → the accepted times there.
    """

    case: str
    path: str
    revision: str
    made_of: MadeOf
    dumps: Mapping[str, Dump]
    history: tuple[Acceptance, ...]
    first: Mapping[str, Dump] = field(default_factory=dict)
    arch: str = ""
    launch_digests: LaunchDigests | None = None
    timings: Mapping[str, AcceptedTiming] = field(default_factory=dict)

    @property
    def accepted(self) -> AcceptedBy:
        """The last acceptance."""
        last = self.history[-1]
        return AcceptedBy(
            revision=last.revision,
            source=last.source[:SOURCE_DIGITS],
            when=last.when,
            who=last.who,
            why=last.why,
            run=last.run,
        )

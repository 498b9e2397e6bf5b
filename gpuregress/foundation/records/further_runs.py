"""Further runs of a case, and the axes along which they are made, with one row for each axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import field

from gpuregress.foundation.records.cases import Case
from gpuregress.foundation.records.dumps import Dump
from gpuregress.gpu.records import Record, Sparse

Axis = Literal["repeat", "poison", "reference", "seed", "variant", "twin", "schedule"]
Determinism = Literal["bitwise", "order varies", "values vary"]
CLASSES: tuple[Determinism, ...] = ("bitwise", "order varies", "values vary")
"""Determinism of a buffer over several runs, the best first."""


def _all_elements() -> float:
    """The weight of a finding on all differing elements; a factory, for JSON keeps a weight that is the default."""
    return 1.0


class Finding(Sparse):
    """The pattern of a difference.

    Attributes:
        pattern: a name from `diagnose`'s list, or a cause that further runs have shown.
        message: one sentence with its evidence.
        weight: the share of the differing elements it explains, 0 to 1.
        summary: the message for a line that has the number of differing elements already; "" for the message itself.
        place: for a pattern that says where a buffer differs, and not how: `contiguous`, `periodic`, `border` or
            `diagonal`. One mistake has another pattern in another shape, and the last column of a matrix is one lane
            of each warp where a row has as many elements as a block has threads.
    """

    pattern: str
    message: str
    weight: float = field(default_factory=_all_elements)
    summary: str = ""
    place: str = ""


class UnwrittenElements(Record):
    """Elements of a buffer that still hold the poison after the last launch.

    Attributes:
        elements: their number.
        of: elements of the buffer.
        ranges: their index ranges, half open, ascending; the first few where there are many.
    """

    elements: int
    of: int
    ranges: tuple[tuple[int, int], ...]


class PoisonDependence(Record):
    """Written elements whose value depends on the poison.

    Attributes:
        elements: their number.
        of: elements of the buffer.
        first: index of the first one.
    """

    elements: int
    of: int
    first: int


class PoisonComparison(Record):
    """A buffer after a run under the poison and one under its complement.

    Attributes:
        unwritten: elements that hold each run's own poison; None where all were written.
        shows: written elements that differ between the runs; None where there are none.
    """

    unwritten: UnwrittenElements | None
    shows: PoisonDependence | None


class InstructionChange(Record):
    """A source line whose floating-point instructions differ between two builds.

    Attributes:
        file: its name.
        line: counted from 1.
        before: instructions that only the first build has, `fma.rn.f32` or `4 fma.rn.f32`.
        after: those that only the other one has.
    """

    file: str
    line: int
    before: tuple[str, ...]
    after: tuple[str, ...]


class RunFacts(Sparse):
    """Facts of a further run beside its dumps. Each axis has some of them; keys of mappings are buffer names.

    Attributes:
        label: the order of blocks and threads of a repeat, "" where none was chosen; the device of a twin, for people.
        same_as: the build that has the same program as a variant, which therefore was not run.
        digests: of the bytes of dumped buffers, for a repeat and a schedule.
        determinism: how far a repeat agrees with the first run.
        poisons: the comparison with the first run, for the other poison.
        unrounded: references in float64, where rounding changed a value.
        errors: why there is no reference.
        instructions: source lines whose floating-point instructions differ in a variant.
        findings: what explains a difference: the causes of a twin's, the accesses of a schedule's; "" for its fault.
        switches: the smallest change of the order that is known to be enough for a difference, likewise.
        replays: the name of the schedule with that change alone, likewise.
    """

    label: str = ""
    same_as: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)
    determinism: Mapping[str, Determinism] = field(default_factory=dict)
    poisons: Mapping[str, PoisonComparison] = field(default_factory=dict)
    unrounded: Mapping[str, Dump] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    instructions: tuple[InstructionChange, ...] = ()
    findings: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    switches: Mapping[str, str] = field(default_factory=dict)
    replays: Mapping[str, str] = field(default_factory=dict)


class FurtherRun(Sparse):
    """A run of a case that differs from its first one in one respect.

    Attributes:
        axis: in what it differs.
        name: of the run on this axis: a number from 2, a seed, a build, a kind of device, a schedule.
        fault: what went wrong in this run only, "" if nothing did.
        left_out: why it was not run, "" if it was.
        dumps: buffer → its dump; of repeats, variants and schedules only where its bytes are not the first run's.
        facts: what else it gave.
    """

    axis: Axis
    name: str
    fault: str = ""
    left_out: str = ""
    dumps: Mapping[str, Dump] = field(default_factory=dict)
    facts: RunFacts = RunFacts()


class AxisRow(Record):
    """An axis of further runs, for the rooms that make and judge them.

    Attributes:
        name: of the axis.
        runner: `module.attribute` in `execution/runner/axes/`, which plans its runs.
        comparison: "first run": the judge compares each run with the first one under the buffer's rule, and reports all
            runs of the axis in one comparison; "apart": the judge has functions for this axis.
        is_asked_for: whether a case has runs along it.
    """

    name: Axis
    runner: str
    comparison: Literal["first run", "apart"]
    is_asked_for: Callable[[Case], bool]


AXES: tuple[AxisRow, ...] = (
    AxisRow("repeat", "repeats.REPEATS", "first run", lambda case: case.repeat > 1),
    AxisRow("poison", "repeats.POISON", "apart", lambda case: case.settings.poison == "twice"),
    AxisRow("reference", "references.AXIS", "apart", lambda case: bool(case.references)),
    AxisRow("seed", "repeats.SEEDS", "apart", lambda case: bool(case.seeds)),
    AxisRow("variant", "variants.AXIS", "apart", lambda case: case.variants is not None),
    AxisRow("twin", "twins.AXIS", "apart", lambda case: bool(case.settings.twins)),
    # The schedules are last: a kernel may never end under another one, and then all else is known.
    AxisRow("schedule", "schedules.AXIS", "apart", lambda case: len(case.settings.schedules) > 1),
)
"""In the order in which their runs are made."""

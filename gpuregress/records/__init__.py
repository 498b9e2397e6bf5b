"""Frozen records that rooms exchange: free of I/O, with a JSON form.

`to_json` and `from_json` turn any record into plain JSON and back, so a case can go to a worker or another host.
"""

from gpuregress.records.architectures import (
    SM_90,
    Architecture,
)
from gpuregress.records.baselines import (
    Acceptance,
    Baseline,
    MadeOf,
)
from gpuregress.records.cases import (
    Argument,
    Buffer,
    Case,
    CaseSettings,
    Check,
    Dim3,
    Fill,
    Launch,
    Limits,
    Outliers,
    ReferenceKernel,
    ResourceLimits,
    Rule,
    Source,
    Texture,
    TimingLoop,
)
from gpuregress.records.dumps import Dump
from gpuregress.records.observations import (
    Determinism,
    Observations,
    OverwrittenInput,
    PoisonComparison,
    PoisonDependence,
    SanitizerFinding,
    SanitizerResult,
    Timing,
    UnwrittenElements,
)
from gpuregress.records.outcomes import (
    FAULT_KINDS,
    Fault,
    LaunchTime,
    Outcome,
)
from gpuregress.records.programs import (
    DeviceInfo,
    Entry,
    Parameter,
    Program,
)
from gpuregress.records.serialization import from_json, to_json
from gpuregress.records.verdicts import (
    STATUSES,
    BufferVerdict,
    Comparison,
    Element,
    Finding,
    Missing,
    RunSummary,
    State,
    Status,
    Verdict,
)

__all__ = [
    "FAULT_KINDS",
    "SM_90",
    "STATUSES",
    "Acceptance",
    "Architecture",
    "Argument",
    "Baseline",
    "Buffer",
    "BufferVerdict",
    "Case",
    "CaseSettings",
    "Check",
    "Comparison",
    "Determinism",
    "DeviceInfo",
    "Dim3",
    "Dump",
    "Element",
    "Entry",
    "Fault",
    "Fill",
    "Finding",
    "Launch",
    "LaunchTime",
    "Limits",
    "MadeOf",
    "Missing",
    "Observations",
    "Outcome",
    "Outliers",
    "OverwrittenInput",
    "Parameter",
    "PoisonComparison",
    "PoisonDependence",
    "Program",
    "ReferenceKernel",
    "ResourceLimits",
    "Rule",
    "RunSummary",
    "SanitizerFinding",
    "SanitizerResult",
    "Source",
    "State",
    "Status",
    "Texture",
    "Timing",
    "TimingLoop",
    "UnwrittenElements",
    "Verdict",
    "from_json",
    "to_json",
]

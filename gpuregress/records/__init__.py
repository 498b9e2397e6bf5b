"""Frozen records that rooms exchange: free of I/O, with a JSON form.

`to_json` and `from_json` turn any record into plain JSON and back, so a case can go to a worker or another host.
"""

from gpuregress.records.architectures import SM_90 as SM_90
from gpuregress.records.architectures import Architecture as Architecture
from gpuregress.records.baselines import Acceptance as Acceptance
from gpuregress.records.baselines import Baseline as Baseline
from gpuregress.records.baselines import MadeOf as MadeOf
from gpuregress.records.cases import Argument as Argument
from gpuregress.records.cases import Buffer as Buffer
from gpuregress.records.cases import Case as Case
from gpuregress.records.cases import CaseSettings as CaseSettings
from gpuregress.records.cases import Check as Check
from gpuregress.records.cases import Dim3 as Dim3
from gpuregress.records.cases import Fill as Fill
from gpuregress.records.cases import Launch as Launch
from gpuregress.records.cases import Limits as Limits
from gpuregress.records.cases import Outliers as Outliers
from gpuregress.records.cases import ReferenceKernel as ReferenceKernel
from gpuregress.records.cases import ResourceLimits as ResourceLimits
from gpuregress.records.cases import Rule as Rule
from gpuregress.records.cases import Source as Source
from gpuregress.records.cases import Texture as Texture
from gpuregress.records.cases import TimingLoop as TimingLoop
from gpuregress.records.dumps import Dump as Dump
from gpuregress.records.observations import Determinism as Determinism
from gpuregress.records.observations import Observations as Observations
from gpuregress.records.observations import OverwrittenInput as OverwrittenInput
from gpuregress.records.observations import PoisonComparison as PoisonComparison
from gpuregress.records.observations import PoisonDependence as PoisonDependence
from gpuregress.records.observations import SanitizerFinding as SanitizerFinding
from gpuregress.records.observations import SanitizerResult as SanitizerResult
from gpuregress.records.observations import Timing as Timing
from gpuregress.records.observations import UnwrittenElements as UnwrittenElements
from gpuregress.records.outcomes import FAULT_KINDS as FAULT_KINDS
from gpuregress.records.outcomes import Fault as Fault
from gpuregress.records.outcomes import LaunchTime as LaunchTime
from gpuregress.records.outcomes import Outcome as Outcome
from gpuregress.records.programs import DeviceInfo as DeviceInfo
from gpuregress.records.programs import Entry as Entry
from gpuregress.records.programs import Parameter as Parameter
from gpuregress.records.programs import Program as Program
from gpuregress.records.serialization import from_json as from_json
from gpuregress.records.serialization import to_json as to_json
from gpuregress.records.tasks import Task as Task
from gpuregress.records.verdicts import STATUSES as STATUSES
from gpuregress.records.verdicts import BufferVerdict as BufferVerdict
from gpuregress.records.verdicts import Comparison as Comparison
from gpuregress.records.verdicts import Element as Element
from gpuregress.records.verdicts import Finding as Finding
from gpuregress.records.verdicts import Missing as Missing
from gpuregress.records.verdicts import RunSummary as RunSummary
from gpuregress.records.verdicts import State as State
from gpuregress.records.verdicts import Status as Status
from gpuregress.records.verdicts import Verdict as Verdict

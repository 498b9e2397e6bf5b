"""Frozen records that rooms exchange: free of I/O, with a JSON form.

`to_json` and `from_json` turn any record into plain JSON and back, so a case can go to a worker or another host.
"""

from gpuregress.foundation.json_form import *
from gpuregress.foundation.records.baselines import *
from gpuregress.foundation.records.cases import *
from gpuregress.foundation.records.dumps import *
from gpuregress.foundation.records.figures import *
from gpuregress.foundation.records.further_runs import *
from gpuregress.foundation.records.launches import *
from gpuregress.foundation.records.maps.images import *
from gpuregress.foundation.records.observations import *
from gpuregress.foundation.records.outcomes import *
from gpuregress.foundation.records.parameter_spaces import *
from gpuregress.foundation.records.programs import *
from gpuregress.foundation.records.rules import *
from gpuregress.foundation.records.statuses import *
from gpuregress.foundation.records.trends.history import *
from gpuregress.foundation.records.trends.nights import *
from gpuregress.foundation.records.verdicts import *
from gpuregress.gpu.architectures import ARCHITECTURES as ARCHITECTURES
from gpuregress.gpu.architectures import DEFAULT_HEAP as DEFAULT_HEAP
from gpuregress.gpu.architectures import SM_90 as SM_90
from gpuregress.gpu.architectures import Architecture as Architecture
from gpuregress.gpu.architectures import ArchitectureLimits as ArchitectureLimits
from gpuregress.gpu.architectures import TensorCore as TensorCore
from gpuregress.gpu.descriptors import *
from gpuregress.gpu.instruments import *
from gpuregress.gpu.programs import HARNESS_FILE as HARNESS_FILE
from gpuregress.gpu.programs import CardFacts as CardFacts
from gpuregress.gpu.programs import CompiledDescriptor as CompiledDescriptor
from gpuregress.gpu.programs import CompiledLaunch as CompiledLaunch
from gpuregress.gpu.programs import DeviceInfo as DeviceInfo
from gpuregress.gpu.programs import Dim3 as Dim3
from gpuregress.gpu.programs import Entry as Entry
from gpuregress.gpu.programs import LaunchShape as LaunchShape
from gpuregress.gpu.programs import LineEdit as LineEdit
from gpuregress.gpu.programs import MemberLayout as MemberLayout
from gpuregress.gpu.programs import Parameter as Parameter
from gpuregress.gpu.programs import Program as Program
from gpuregress.gpu.programs import TypeKind as TypeKind
from gpuregress.gpu.programs import TypeLayout as TypeLayout
from gpuregress.gpu.programs import WarpLaunch as WarpLaunch
from gpuregress.gpu.programs import WarpParameter as WarpParameter
from gpuregress.gpu.schedules import Conflict as Conflict
from gpuregress.gpu.schedules import ConflictSurvey as ConflictSurvey

"""A regression harness for CUDA kernels that also runs, bit for bit, where there is no GPU."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuregress.api.jobs import CaseResult, Job, Results, load_job, run
    from gpuregress.api.kernel import Kernel
    from gpuregress.execution.workers.direct_messages import LaunchResult
    from gpuregress.foundation.errors import (
        CompileError,
        DeviceError,
        GpuregressError,
        JobErrors,
        KernelFault,
        KernelTimeout,
        NothingToDo,
        UnsupportedError,
        UsageError,
    )
    from gpuregress.foundation.records import Case
    from gpuregress.lab.kernel_tuner.conversion import from_kernel_tuner

__version__ = "0.1.0"

__all__ = [
    "Case",
    "CaseResult",
    "CompileError",
    "DeviceError",
    "GpuregressError",
    "Job",
    "JobErrors",
    "Kernel",
    "KernelFault",
    "KernelTimeout",
    "LaunchResult",
    "NothingToDo",
    "Results",
    "UnsupportedError",
    "UsageError",
    "__version__",
    "from_kernel_tuner",
    "load_job",
    "run",
]

_HOMES = {
    **dict.fromkeys(("CaseResult", "Job", "Results", "load_job", "run"), "gpuregress.api.jobs"),
    "Case": "gpuregress.foundation.records",
    "Kernel": "gpuregress.api.kernel",
    "from_kernel_tuner": "gpuregress.lab.kernel_tuner.conversion",
    "LaunchResult": "gpuregress.execution.workers.direct_messages",
}
"""Public name → the module that has it; the errors are in `gpuregress.foundation.errors`."""


if not TYPE_CHECKING:  # a type checker would take any name for one that is there

    def __getattr__(name: str) -> Any:
        """Load a public name when it is first used: the import of the package alone loads nothing else."""
        if name not in __all__:
            raise AttributeError(f"module 'gpuregress' has no attribute {name!r}")
        value = getattr(importlib.import_module(_HOMES.get(name, "gpuregress.foundation.errors")), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

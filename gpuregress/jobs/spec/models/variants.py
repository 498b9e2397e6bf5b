"""Model of the variants of a case: compiler settings in whose combinations it is built and compared."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from gpuregress.foundation.document.forms import Reads, Spec, doc
from gpuregress.foundation.document.problems import show
from gpuregress.gpu import architectures

AXES = ("fmad", "fast_math", "arch")
"""The settings that vary, in the order of the names of combinations."""


def _switch(value: Any) -> str:
    """YAML 1.2 reads `on` as text, and an editor may write true."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if value not in ("on", "off"):
        raise ValueError(f"expected on or off, got {show(value)}")
    return str(value)


Switch = Annotated[str, Reads(_switch, {"enum": ["on", "off", True, False]})]
Switches = Annotated[list[Switch], Meta(min_length=1)]


def _arch(value: Any) -> str:
    problem = architectures.problem(str(value))
    if problem:
        raise ValueError(problem)
    return str(value)


_ARCHITECTURES = rf"^sm_({'|'.join(map(str, architectures.KNOWN))})[af]?$"
Arch = Annotated[str, Reads(_arch, {"type": "string", "pattern": _ARCHITECTURES})]


class VariantsSpec(Spec, frozen=True):
    """Compiler settings. The case is built in every combination and compared with the first one."""

    fmad: Annotated[Switches | None, doc("whether the compiler fuses a*b+c into an fma (-fmad)")] = None
    fast_math: Annotated[Switches | None, doc("whether it takes fast instructions (--use_fast_math)")] = None
    arch: Annotated[Annotated[list[Arch], Meta(min_length=1)] | None, doc("architectures to compile for")] = None
    differences: Annotated[
        Literal["report", "fail"],
        doc("report: tell what changes; fail: each buffer must keep its rule in every combination"),
    ] = "report"

    def check(self) -> None:
        """Refuse keys that do not fit together."""
        for name in AXES:
            values = getattr(self, name) or []
            if len(set(values)) < len(values):
                raise ValueError(f"{name} lists a value twice: {', '.join(values)}")
        if all(len(getattr(self, name) or ()) < 2 for name in AXES):
            raise ValueError("has one combination, and nothing to compare: give a list of two, as fmad: [on, off]")

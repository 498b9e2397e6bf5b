"""Changes of provenance: what a run was made of, compared with what its baseline was made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpuregress.foundation.records import Case, MadeOf
from gpuregress.gpu.records import replace

# Old baselines lack this option, which every program now has; it changes the PTX of no kernel.
_OF_EVERY_PROGRAM = frozenset(["--device-int128"])


def changes(expected: MadeOf, actual: MadeOf) -> tuple[str, ...]:
    """List the changes of provenance since the baseline, the most likely cause first."""
    lines = [f"inputs of {name} changed" for name in changed_inputs(expected, actual)]
    if expected.seed != actual.seed:
        lines.append(f"seed {expected.seed} → {actual.seed}")
    lines += _change("compiler", expected.compiler, actual.compiler)
    lines += _options(expected.options, actual.options)
    lines += _change("contract", expected.contract, actual.contract)
    lines += _change("architecture", expected.arch, actual.arch)
    lines += _change("device", expected.device, actual.device)
    if expected.device == actual.device:  # another device has another driver
        lines += _change("driver", expected.driver.removeprefix("driver "), actual.driver.removeprefix("driver "))
    lines += _launches(expected.launches, actual.launches)
    lines += changed_resources(expected, actual)
    if expected.source != actual.source:
        lines.append(_changed_sources(expected.sources, actual.sources))
    return tuple(lines)


def without_reference_inputs(case: Case, facts: MadeOf) -> MadeOf:
    """Leave out the inputs that only references use: they change no result."""
    if not case.reference_kernels:
        return facts
    others = case.buffers.keys() - case.own_buffers
    return replace(facts, inputs={name: digest for name, digest in facts.inputs.items() if name not in others})


def changed_inputs(expected: MadeOf, actual: MadeOf) -> tuple[str, ...]:
    """List the inputs whose bytes are others."""
    names = dict.fromkeys((*expected.inputs, *actual.inputs))
    return tuple(name for name in names if expected.inputs.get(name) != actual.inputs.get(name))


def _changed_sources(expected: Mapping[str, str], actual: Mapping[str, str]) -> str:
    """Name the sources that changed, where there are several."""
    names = [name for name in dict.fromkeys((*expected, *actual)) if expected.get(name) != actual.get(name)]
    is_known = expected and actual and names
    return f"source changed: {', '.join(names)}" if is_known else "source changed"


def _change(what: str, expected: str, actual: str) -> list[str]:
    if expected == actual:
        return []
    return [f"{what} {expected or 'none'} → {actual or 'none'}"]


def _options(expected: Sequence[str], actual: Sequence[str]) -> list[str]:
    expected = [option for option in expected if option not in _OF_EVERY_PROGRAM]
    actual = [option for option in actual if option not in _OF_EVERY_PROGRAM]
    signed = [f"-({option})" for option in expected if option not in actual]
    signed += [f"+({option})" for option in actual if option not in expected]
    if signed:
        return [f"compiler options: {' '.join(signed)}"]
    if expected != actual:
        return ["compiler options: another order"]
    return []


def _launches(expected: Sequence[str], actual: Sequence[str]) -> list[str]:
    if tuple(expected) == tuple(actual):
        return []
    if len(expected) != len(actual):
        return [f"launches: {len(expected)} → {len(actual)}"]
    changed = [number for number in range(len(actual)) if expected[number] != actual[number]]
    return [f"launch {number + 1}: {expected[number]} → {actual[number]}" for number in changed[:1]]


def changed_resources(expected: MadeOf, actual: MadeOf) -> list[str]:
    """List changed registers, spills and the like of each kernel, if the same assembler counted both."""
    lines = []
    for kernel, e in expected.resources.items():
        a = actual.resources.get(kernel, {})
        if expected.arch == actual.arch and e.get("registers") and a.get("registers"):
            lines += [f"{kernel}: {what} {e[what]} → {a[what]}" for what in e if a.get(what) not in (e[what], None)]
    return lines

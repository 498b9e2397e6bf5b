"""Overrides of a job's parameters: `--set block=256 --set n=[1000,4096]`, and the same from Python.

The values are those that `parameters` takes in a job, and are read by the same forms.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta

from gpuregress.foundation.document.forms import FormErrors, Spec
from gpuregress.foundation.document.yaml_parser import parse_yaml
from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.escapes import one_line
from gpuregress.gpu.records import Record
from gpuregress.jobs.spec.models.values import ParameterName, ParameterValue, PlainTextSpec


class ParameterOverride(Record):
    """The values of one parameter in place of the job's.

    Attributes:
        name: the parameter's.
        values: as a job has them; expressions are not evaluated yet.
        text: as the user wrote it: `n=[1000,4096]`.
    """

    name: str
    values: tuple[int | float | str | bool | PlainTextSpec, ...]
    text: str


class _Overrides(Spec, frozen=True):
    """The overrides as the `parameters` of a job."""

    parameters: dict[ParameterName, Annotated[list[ParameterValue], Meta(min_length=1)]]


def of_texts(texts: Sequence[str]) -> tuple[ParameterOverride, ...]:
    """Read the overrides of a command line.

    Args:
        texts: `n=[1000,4096]`, each with a value in YAML.

    Raises:
        UsageError: one has no name or no value, is not YAML, or names a parameter a second time.
    """
    overrides: dict[str, ParameterOverride] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign:
            raise UsageError(f"--set {one_line(text)}: expected NAME=VALUE, such as block=256 or n=[1000,4096]")
        if not value.strip():
            raise UsageError(
                f"--set {one_line(text)}: it has no value; the empty text is --set '{one_line(name)}=\"\"'"
            )
        parsed = parse_yaml(value.encode())
        if parsed.flaws:
            quoted = f"text with signs stands in quotes, as --set '{one_line(name)}=\"*\"'"
            raise UsageError(f"--set {one_line(text)}: the value {parsed.flaws[0].message}; {quoted}")
        if name in overrides:
            raise UsageError(f"--set {name} is given twice: write --set '{name}=[…, …]' for several values")
        overrides[name] = _override(name, parsed.data, f"{name}={value}", f"--set {one_line(text)}")
    return tuple(overrides.values())


def of_mapping(values: Mapping[str, Any]) -> tuple[ParameterOverride, ...]:
    """Read the overrides of a call from Python.

    Args:
        values: parameter → its value, or several in a list.

    Raises:
        UsageError: a value that no parameter can have.
    """
    overrides: list[ParameterOverride] = []
    for name, value in values.items():
        listed = list(value) if isinstance(value, tuple) else value
        shown = f"{name}={listed!r}"
        overrides.append(_override(name, listed, shown, f"parameters: {one_line(shown)}"))
    return tuple(overrides)


def texts_of(overrides: Collection[ParameterOverride]) -> list[str]:
    """The overrides as the user wrote them."""
    return [override.text for override in overrides]


def _override(name: str, value: Any, text: str, where: str) -> ParameterOverride:
    values = value if isinstance(value, list) else [value]
    try:
        read = _Overrides.of({"parameters": {name: values}})
    except FormErrors as wrong:
        raise UsageError(f"{where}: {wrong.errors[0].message}") from None
    return ParameterOverride(name, tuple(read.parameters[name]), text)

"""Marks of devices behind case names, as `sum/n=2 [cpu]`, where a report has several runs."""

from __future__ import annotations

import re

_MARK = re.compile(r" \[(cpu|cuda)\]")


def mark(device: str) -> str:
    """The mark of a run's device: ` [cuda]` of `cuda:0, cuda:1`."""
    return f" [{device.partition(':')[0]}]"


def parts(name: str) -> tuple[str, str]:
    """The name of a case as its job gives it, and the kind of device of its mark; "" without one."""
    found = _MARK.fullmatch(name[name.rfind(" [") :]) if " [" in name else None
    return (name[: name.rfind(" [")], found[1]) if found else (name, "")

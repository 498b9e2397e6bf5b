"""The places in a program that a fault can name: kept beside the compiled code, as plain JSON."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Site:
    """A place where something can go wrong.

    Attributes:
        mnemonic: the PTX instruction.
        where: `saxpy.cu:12`, or the PTX line.
        action: `read`, `write`, `atomic access`, or "" where it is no access.
        space: `global`, `shared`, … or "" for a generic address.
        size: bytes of the access.
        origin: the variable or parameter that the address was guessed to come from: `symbol sdata`, `param 16`, "".
    """

    mnemonic: str
    where: str
    action: str = ""
    space: str = ""
    size: int = 0
    origin: str = ""


class Sites:
    """Numbers the places, from 0."""

    def __init__(self) -> None:
        self.items: list[Site] = []
        self._numbers: dict[Site, int] = {}

    def number(self, site: Site) -> int:
        """The site's number; the same for an equal one."""
        if site not in self._numbers:
            self._numbers[site] = len(self.items)
            self.items.append(site)
        return self._numbers[site]

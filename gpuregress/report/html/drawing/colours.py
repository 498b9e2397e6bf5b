"""Perceptual colour scales of the page's pictures, and their logarithmic axis.

Errors are drawn in viridis (S. van der Walt and N. Smith, CC0), the largest darkest: its lightness is monotonic, so it
reads the same with a deficiency of colour vision, in grey and in print. Values and shares are drawn in greys. None of
the colours is that of a verdict.
"""

from __future__ import annotations

import math

from gpuregress.gpu.records import Record

_VIRIDIS = ("bddf26", "7ad151", "44bf70", "22a884", "21918c", "2a788e", "355f8d", "414487", "482475", "440154")
_GREYS = ("f2f2f2", "d6d6d6", "bababa", "9e9e9e", "838383", "696969", "505050", "383838", "222222", "0d0d0d")
SAME = "ffffff"
BELOW, ABOVE = "e08214", "2166ac"
"""Values outside the drawn range."""
_MOST_TICKS = 6


def error(share: float) -> str:
    """The colour of an error as six hexadecimal digits, by its place on the axis from 0 to 1."""
    return _between(_VIRIDIS, share)


def grey(share: float) -> str:
    """The grey of a value as six hexadecimal digits, by its place on the axis from 0 to 1."""
    return _between(_GREYS, share)


def gradient(name: str) -> str:
    """An SVG gradient of the errors, `errors`, or of the greys, `greys`."""
    colours = _VIRIDIS if name == "errors" else _GREYS
    stops = "".join(
        f'<stop offset="{at / (len(colours) - 1):.3f}" stop-color="#{colour}"/>' for at, colour in enumerate(colours)
    )
    return f'<linearGradient id="{name}">{stops}</linearGradient>'


class LogAxis(Record):
    """A logarithmic axis of at least one decade, so that errors that hardly differ look alike.

    Attributes:
        low: its start, above 0.
        high: its end.
    """

    low: float
    high: float

    @classmethod
    def over(cls, low: float, high: float) -> LogAxis | None:
        """Make the axis of some errors; None where all are 0 or not finite.

        Args:
            low: the smallest error above 0.
            high: the largest.
        """
        if not 0 < low <= high < math.inf:
            return None
        return cls(min(low, high / 10) or low, high)

    def place(self, value: float) -> float:
        """The place of a value on the axis, 0 to 1."""
        if value <= self.low < self.high:
            return 0.0
        span = math.log10(self.high) - math.log10(self.low)
        return min(1.0, (math.log10(value) - math.log10(self.low)) / span) if span else 1.0

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Places and labels: the powers of ten, thinned out to a few; both ends where there are less than two."""
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        powers = range(first, last + 1, 1 + max(0, last - first) // _MOST_TICKS)
        ticks = [(self.place(10.0**power), f"1e{power}") for power in powers if -300 < power < 300]
        if len(ticks) < 2:
            ticks = [(0.0, f"{self.low:.2g}"), (1.0, f"{self.high:.2g}")]
        return tuple(ticks)


def _between(colours: tuple[str, ...], share: float) -> str:
    """Interpolate linearly between the two next colours."""
    at = min(1.0, max(0.0, share)) * (len(colours) - 1)
    first = min(int(at), len(colours) - 2)
    low, high = (bytes.fromhex(colours[one]) for one in (first, first + 1))
    return bytes(round(a + (b - a) * (at - first)) for a, b in zip(low, high, strict=True)).hex()

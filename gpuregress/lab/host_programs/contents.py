"""Contents of arrays in host code: what the program stores, and whether that tells every element.

A loop is run for a few turns only, so what it stores follows from these: all elements have one value, one range
of random numbers, or their index. Whatever does not fit makes the contents uncertain.
"""

from __future__ import annotations

from gpuregress.gpu.records import Record, replace
from gpuregress.lab.host_programs.scalars import HostScalar, depends_on_loop


class ArrayContents(Record):
    """What host code has put into an array.

    Attributes:
        stored: the first number that was stored into an element; None where there is none.
        is_filled: whether anything was stored or copied to it.
        is_zeroed: whether it was set to zero.
        is_certain: whether `stored` or `is_zeroed` tells all elements.
        begin: the bytes from the beginning that sets and copies of a known size reach; None: anything may be reached.
    """

    stored: HostScalar | None = None
    is_filled: bool = False
    is_zeroed: bool = False
    is_certain: bool = True
    begin: float | None = 0

    @property
    def is_untouched(self) -> bool:
        """Whether the program puts nothing into it."""
        return not self.is_filled and not self.is_zeroed and self.begin == 0

    def constructed(self) -> ArrayContents:
        """Return the contents of memory that begins with values which do not matter where others follow."""
        return replace(self, begin=None)

    def reaching(self, offset: HostScalar, size: object) -> ArrayContents:
        """Return the contents after a set or a copy that reaches from an offset (elements) over a size (bytes)."""
        if self.begin is None or not isinstance(size, HostScalar) or not size.is_known:
            return replace(self, begin=None)
        if offset.number != 0 or not offset.is_known:
            return replace(self, begin=None)
        return replace(self, begin=max(self.begin, size.number))

    def with_element(self, index: HostScalar | None, value: object, *, is_chosen: bool = False) -> ArrayContents:
        """Return the contents after a store to an element.

        Args:
            index: of the element; None where it is not known.
            value: what is stored.
            is_chosen: whether a condition on a loop's variable decides about it.
        """
        stored = value if isinstance(value, HostScalar) and not self._is_unknown else self.stored
        if self.stored is not None:
            fits = isinstance(value, HostScalar) and _continues(self.stored, index, value)
            return replace(self, is_certain=self.is_certain and fits, begin=None)
        begins = index is not None and depends_on_loop(index) and index.number == 0 and stored is not None
        return ArrayContents(
            stored, True, self.is_zeroed, self.is_certain and begins and not (is_chosen or self.is_zeroed), None
        )

    @property
    def _is_unknown(self) -> bool:
        """Whether something was put into it that is no number."""
        return self.is_filled and self.stored is None

    def with_all(self, value: object) -> ArrayContents:
        """Return the contents after a store of one value to all elements."""
        known = value if isinstance(value, HostScalar) else None
        return ArrayContents(known, is_filled=True, is_certain=known is not None, begin=None)

    def with_copy(self, source: ArrayContents, *, is_whole: bool) -> ArrayContents:
        """Return the contents after a copy from another array.

        Args:
            source: what is copied.
            is_whole: whether every element is copied to the element with the same index.
        """
        copied = replace(source, is_filled=True, begin=None)
        if is_whole and not self.is_filled:
            return copied
        if replace(copied, begin=self.begin) == self:
            return self
        first = self if self.is_filled else copied
        return replace(
            first, begin=self.begin, is_filled=True, is_zeroed=self.is_zeroed or source.is_zeroed, is_certain=False
        )

    def zeroed(self, *, is_whole: bool) -> ArrayContents:
        """Return the contents after a `memset` to zero.

        Args:
            is_whole: whether it covers the array.
        """
        return replace(self, is_zeroed=True, is_certain=is_whole and not self.is_filled and self.is_certain)

    def changed(self) -> ArrayContents:
        """Return the contents after something that is not understood."""
        return replace(self, is_filled=True, is_certain=False, begin=None)


def _continues(first: HostScalar, index: HostScalar | None, value: HostScalar) -> bool:
    """Tell whether a value is what the first one of its array makes expect."""
    if first.high is not None:
        return (value.number, value.high) == (first.number, first.high)
    if depends_on_loop(first):
        return index is not None and value.number == index.number
    return value.number == first.number and value.high is None


NOTHING_STORED = ArrayContents()

"""Resolution of a buffer's tensor map, checked by the rules of cuTensorMapEncodeTiled."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpuregress.foundation import dtypes, records
from gpuregress.foundation.document.reader import Key
from gpuregress.gpu.descriptors import ELEMENT_SIZES, INTERLEAVES, SPANS, Im2col, TensorMap
from gpuregress.jobs.spec.models.buffer import Im2colSpec, TensorMapSpec
from gpuregress.jobs.spec.models.values import Expr
from gpuregress.jobs.spec.resolve.scope import Scope

_OF_DTYPE = {name: name for name in ELEMENT_SIZES}
_OF_DTYPE |= {"int8": "uint8", "int16": "uint16", "bool": "uint8", "float8_e4m3": "uint8", "float8_e5m2": "uint8"}
_MOST_AXES = 5
_MOST_EXTENT = 1 << 32
_MOST_STRIDE = 1 << 40
_MOST_BOX, _MOST_PIXELS, _MOST_ELEMENT_STRIDE = 256, 1024, 8
_MOST_BYTES = 228 << 10
"""Of a box, measured on an H200: the driver refuses more, and no manual says so."""
_CHUNK = 16
_LEAST_INTERLEAVED = 3
_CORNERS = {3: (-32768, 32767), 4: (-128, 127), 5: (-16, 15)}
"""Axes of a tensor → the range of the corners of an im2col map."""


def tensor_map(scope: Scope, given: TensorMapSpec | None, buffer: records.Buffer, key: Key) -> TensorMap | None:
    """Resolve a buffer's tensor map; None without one, or if it is wrong, which is reported.

    Args:
        scope: the case's numbers.
        given: `tensormap:`, if it is there.
        buffer: whose elements the tensor has.
        key: the buffer's.
    """
    if given is None:
        return None
    own: Key = (*key, "tensormap")
    if buffer.symbol is not None:
        scope.error(own, f"the buffer is the variable {buffer.symbol}: kernels find it without a tensor map")
        return None
    before = scope.problems.reported
    resolver = _Resolver(scope, given, buffer, own)
    resolved = resolver.resolve() if scope.problems.reported == before else None
    return resolved if scope.problems.reported == before else None


def plain(buffer: records.Buffer) -> TensorMap:
    """Return the map of a buffer without gaps, whose box is not known yet.

    Args:
        buffer: of a dtype that a tensor map can hold.
    """
    type_ = _OF_DTYPE[buffer.dtype]
    size = ELEMENT_SIZES[type_]
    strides = tuple(math.prod(buffer.shape[axis + 1 :]) * size for axis in range(len(buffer.shape) - 1))
    return TensorMap(type_, buffer.shape[::-1], strides[::-1], (), (1,) * len(buffer.shape))


class _Resolver:
    def __init__(self, scope: Scope, given: TensorMapSpec, buffer: records.Buffer, key: Key) -> None:
        self.scope, self.given, self.buffer, self.key = scope, given, buffer, key

    def resolve(self) -> TensorMap | None:
        type_ = self._type()
        if type_ is None:
            return None
        size = ELEMENT_SIZES[type_]
        unit = INTERLEAVES[self.given.interleave] or size
        shape = self._shape(size, unit)
        if shape is None:
            return None
        rank = len(shape)
        strides = self._strides(shape, unit)
        steps = self._list("element_strides", rank, 1, _MOST_ELEMENT_STRIDE) or (1,) * rank
        box = self._list("box", rank, 1, _MOST_BOX) if self.given.box is not None else ()
        im2col = self._im2col(self.given.im2col, shape) if self.given.im2col is not None else None
        if strides is None or box is None or (im2col is None and not box):
            return None
        inner = (im2col.channels if im2col else box[-1]) * size
        self._check_inner(inner, size, type_)
        self._check_bytes(math.prod(box) * size if im2col is None else inner * im2col.pixels)
        self._check_interleave(rank)
        if self.given.oob_fill == "nan" and "float" not in type_:
            self._error("oob_fill", f"nan is for floating-point elements, and {self.buffer.dtype} is not one")
        resolved = TensorMap(
            type_,
            shape[::-1],
            strides[::-1],
            box[::-1],
            steps[::-1],
            self.given.interleave,
            self.given.swizzle,
            self.given.l2_promotion,
            self.given.oob_fill,
            im2col,
        )
        if resolved.size > self.buffer.size:
            at = "strides" if self.given.strides is not None else "shape"
            self._error(at, f"the tensor reaches {resolved.size} bytes and the buffer has {self.buffer.size}")
        return resolved

    def _error(self, name: str, text: str, *values: Expr) -> None:
        self.scope.error((*self.key, name), text, *values)

    def _type(self) -> str | None:
        element = dtypes.parse(self.buffer.dtype)
        found = _OF_DTYPE.get(self.buffer.dtype) if len(element.parts) == 1 else None
        if found is None:
            known = ", ".join(_OF_DTYPE)
            self.scope.error((*self.key[:-1], "dtype"), f"{self.buffer.dtype}: a tensor map holds one of {known}")
            return None
        if self.given.type is not None and found != "float32":
            self._error("type", f"{self.given.type} is for a buffer of float32, not {self.buffer.dtype}")
            return None
        return self.given.type or found

    def _shape(self, size: int, unit: int) -> tuple[int, ...] | None:
        shape = self.buffer.shape
        if unit != size and shape[-1] * size == unit:
            shape = shape[:-1]  # the elements of a slice of channels
        if self.given.shape is not None:
            given = self._list("shape", len(self.given.shape), 1, _MOST_EXTENT)
            if given is None:
                return None
            shape = given
        if len(shape) > _MOST_AXES:
            name = "tensormap" if self.given.shape is None else "shape"
            at = self.key if name == "tensormap" else (*self.key, name)
            self.scope.error(at, f"has {len(shape)} axes: a tensor has at most {_MOST_AXES}")
            return None
        if self.given.im2col is not None and len(shape) not in _CORNERS:
            self._error(
                "im2col", f"the tensor has {len(shape)} axes: expected 3, 4 or 5 ([n, w, c] to [n, d, h, w, c])"
            )
            return None
        return shape

    def _list(self, name: str, rank: int, low: int, high: int) -> tuple[int, ...] | None:
        """The numbers of a key, one for each axis; None if the key is not there, or wrong."""
        given: Sequence[Expr] | None = getattr(self.given, name)
        if given is None:
            return None
        what = {"box": "a box", "shape": "an extent"}.get(name, "a step")
        values = [
            self.scope.whole(value, (*self.key, name, axis), low=low, high=high, what=what)
            for axis, value in enumerate(given)
        ]
        if len(values) != rank:
            self._error(name, f"has {len(values)} numbers and the tensor {rank} axes, slowest first")
            return None
        known = tuple(value for value in values if value is not None)
        return known if len(known) == rank else None

    def _strides(self, shape: tuple[int, ...], unit: int) -> tuple[int, ...] | None:
        rank = len(shape)
        multiple = 32 if self.given.interleave == "32B" else _CHUNK
        if self.given.strides is None:
            strides = tuple(math.prod(shape[axis + 1 :]) * unit for axis in range(rank - 1))
        else:
            found = self._list("strides", rank - 1, 0, _MOST_STRIDE - 1)
            if found is None and rank > 1:
                return None
            strides = found or ()
        for axis, stride in enumerate(strides):
            if stride % multiple:
                key: Key = (*self.key, "strides", axis) if self.given.strides is not None else self.key
                why = f" with interleave {self.given.interleave}" if multiple != _CHUNK else ""
                of = f"{shape[axis + 1 :]}".replace("(", "[").replace(",)", "]").replace(")", "]")
                text = f"the stride of axis {axis} is {stride} bytes"
                text += f" ({of} of {self.buffer.dtype})" if self.given.strides is None else ""
                self.scope.error(key, f"{text}: it must be a multiple of {multiple}{why}")
                return None
            if stride >= _MOST_STRIDE:
                self.scope.error(self.key, f"the stride of axis {axis} is {stride} bytes: it must be below 2^40")
                return None
        return strides

    def _im2col(self, given: Im2colSpec, shape: tuple[int, ...]) -> Im2col | None:
        inner = len(shape) - 2
        low, high = _CORNERS[len(shape)]
        outer, where = (1, "between") if self.given.interleave == "none" else (2, "behind")
        corners = []
        for name in ("lower", "upper"):
            values = [
                self.scope.whole(value, (*self.key, "im2col", name, axis), low=low, high=high, what="a corner")
                for axis, value in enumerate(getattr(given, name))
            ]
            if len(values) != inner:
                text = f"has {len(values)} numbers; a tensor of {len(shape)} axes has {inner} {where} n and c"
                self.scope.error((*self.key, "im2col", name), text)
            corners.append(values)
        channels = self.scope.whole(
            given.channels, (*self.key, "im2col", "channels"), low=1, high=_MOST_BOX, what="channels"
        )
        pixels = self.scope.whole(
            given.pixels, (*self.key, "im2col", "pixels"), low=1, high=_MOST_PIXELS, what="pixels"
        )
        lower, upper = (tuple(value for value in values if value is not None) for values in corners)
        if channels is None or pixels is None or len(lower) != inner or len(upper) != inner:
            return None
        for axis, (first, last) in enumerate(zip(lower, upper, strict=True)):
            extent = shape[axis + outer]
            if extent + last - first <= 0:
                text = f"the bounding box is empty along axis {axis + outer}: from {first} to {extent - 1 + last}"
                self.scope.error((*self.key, "im2col", "upper", axis), text)
                return None
        return Im2col(lower[::-1], upper[::-1], channels, pixels)

    def _check_inner(self, inner: int, size: int, type_: str) -> None:
        """Check the bytes of a box along its fastest axis."""
        at: Key = (*self.key, "box") if self.given.im2col is None else (*self.key, "im2col", "channels")
        count = inner // size
        what = f"{count} {type_} along the last axis are {inner} bytes"
        span = SPANS[self.given.swizzle]
        is_plain = self.given.interleave == "none"
        hint = self._hint(size, span) if is_plain else ""
        if inner % _CHUNK:
            self.scope.error(at, f"{what}: they must be a multiple of 16{hint}")
        elif is_plain and span and inner > span:
            self.scope.error(at, f"{what}: with swizzle {self.given.swizzle} at most {span}{hint}")

    def _check_bytes(self, count: int) -> None:
        """Check the bytes of a whole box, whatever its steps and slices."""
        if count > _MOST_BYTES:
            name = "box" if self.given.im2col is None else "im2col"
            self._error(name, f"a copy has {count} bytes: at most {_MOST_BYTES} (228 KiB, the shared memory of a card)")

    def _hint(self, size: int, span: int) -> str:
        """Tell how to write a box whose axes are in the driver's order."""
        box = self.given.box
        first = box[0] if box else None
        if box is None or len(box) == 1 or not isinstance(first, int):
            return ""
        inner = first * size
        if inner % _CHUNK or (span and inner > span):
            return ""
        return f"; axes are slowest first, as in shape: did you mean {list(reversed(box))}?".replace("'", "")

    def _check_interleave(self, rank: int) -> None:
        given = self.given
        if given.interleave == "none":
            return
        if rank < _LEAST_INTERLEAVED:
            self._error("interleave", f"{given.interleave} needs a tensor of at least 3 axes; this one has {rank}")
        if given.interleave == "32B" and given.swizzle != "32B":
            self._error("swizzle", f"interleave 32B needs swizzle 32B, not {given.swizzle}")

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
        given = self.given
        size = ELEMENT_SIZES[type_]
        unit = INTERLEAVES[given.interleave] or size
        shape = self._shape(size, unit)
        if shape is None:
            return None
        rank = len(shape)
        strides = self._strides(shape, unit)
        steps = self._list("element_strides", rank, 1, _MOST_ELEMENT_STRIDE) or (1,) * rank
        box = self._list("box", rank, 1, _MOST_BOX) if given.box is not None else ()
        im2col = self._im2col(given.im2col, shape) if given.im2col is not None else None
        if strides is None or box is None or (im2col is None and not box):
            return None
        if im2col is None:
            self._check_inner(box[-1] * size, size, type_)
            self._check_bytes(math.prod(box) * size)
        else:
            self._check_inner(im2col.channels * size, size, type_)
            self._check_bytes(im2col.channels * size * im2col.pixels)
        self._check_interleave(rank)
        if given.oob_fill == "nan" and "float" not in type_:
            self._error("oob_fill", f"nan is for floating-point elements, and {self.buffer.dtype} is not one")
        resolved = TensorMap(
            type=type_,
            extents=shape[::-1],
            strides=strides[::-1],
            box=box[::-1],
            element_strides=steps[::-1],
            interleave=given.interleave,
            swizzle=given.swizzle,
            l2_promotion=given.l2_promotion,
            oob_fill=given.oob_fill,
            im2col=im2col,
        )
        if resolved.size > self.buffer.size:
            name = "strides" if given.strides is not None else "shape"
            self._error(name, f"the tensor reaches {resolved.size} bytes and the buffer has {self.buffer.size}")
        return resolved

    def _error(self, name: str, text: str, *values: Expr) -> None:
        self.scope.error((*self.key, name), text, *values)

    def _type(self) -> str | None:
        dtype = self.buffer.dtype
        type_ = _OF_DTYPE.get(dtype) if len(dtypes.parse(dtype).parts) == 1 else None
        if type_ is None:
            known = ", ".join(_OF_DTYPE)
            self.scope.error((*self.key[:-1], "dtype"), f"{dtype}: a tensor map holds one of {known}")
            return None
        if self.given.type is not None and type_ != "float32":
            self._error("type", f"{self.given.type} is for a buffer of float32, not {dtype}")
            return None
        return self.given.type or type_

    def _shape(self, size: int, unit: int) -> tuple[int, ...] | None:
        shape = self.buffer.shape
        key = self.key
        if unit != size and shape[-1] * size == unit:
            shape = shape[:-1]  # the elements of a slice of channels
        if self.given.shape is not None:
            key = (*self.key, "shape")
            given = self._list("shape", len(self.given.shape), 1, _MOST_EXTENT)
            if given is None:
                return None
            shape = given
        if len(shape) > _MOST_AXES:
            self.scope.error(key, f"has {len(shape)} axes: a tensor has at most {_MOST_AXES}")
            return None
        if self.given.im2col is not None and len(shape) not in _CORNERS:
            text = f"the tensor has {len(shape)} axes: expected 3, 4 or 5 ([n, w, c] to [n, d, h, w, c])"
            self._error("im2col", text)
            return None
        return shape

    def _list(self, name: str, rank: int, low: int, high: int) -> tuple[int, ...] | None:
        """The numbers of a key, one for each axis; None if the key is not there, or wrong."""
        given: Sequence[Expr] | None = getattr(self.given, name)
        if given is None:
            return None
        what = {"box": "a box", "shape": "an extent"}.get(name, "a step")
        numbers = self.scope.wholes(given, (*self.key, name), low=low, high=high, what=what)
        if len(given) != rank:
            self._error(name, f"has {len(given)} numbers and the tensor {rank} axes, slowest first")
            return None
        return numbers

    def _strides(self, shape: tuple[int, ...], unit: int) -> tuple[int, ...] | None:
        rank = len(shape)
        is_given = self.given.strides is not None
        strides: tuple[int, ...] = tuple(math.prod(shape[axis + 1 :]) * unit for axis in range(rank - 1))
        if is_given:
            given = self._list("strides", rank - 1, 0, _MOST_STRIDE - 1)
            if given is None and rank > 1:
                return None
            strides = given or ()
        multiple = 32 if self.given.interleave == "32B" else _CHUNK
        for axis, stride in enumerate(strides):
            text = f"the stride of axis {axis} is {stride} bytes"
            if stride % multiple:
                reason = f" with interleave {self.given.interleave}" if multiple != _CHUNK else ""
                if is_given:
                    key: Key = (*self.key, "strides", axis)
                else:
                    key = self.key
                    text += f" ({list(shape[axis + 1 :])} of {self.buffer.dtype})"
                self.scope.error(key, f"{text}: it must be a multiple of {multiple}{reason}")
                return None
            if stride >= _MOST_STRIDE:
                self.scope.error(self.key, f"{text}: it must be below 2^40")
                return None
        return strides

    def _im2col(self, given: Im2colSpec, shape: tuple[int, ...]) -> Im2col | None:
        key = (*self.key, "im2col")
        outer = 1 if self.given.interleave == "none" else 2
        lower = self._corner("lower", given.lower, len(shape))
        upper = self._corner("upper", given.upper, len(shape))
        channels = self.scope.whole(given.channels, (*key, "channels"), low=1, high=_MOST_BOX, what="channels")
        pixels = self.scope.whole(given.pixels, (*key, "pixels"), low=1, high=_MOST_PIXELS, what="pixels")
        if channels is None or pixels is None or lower is None or upper is None:
            return None
        for axis, (first, last) in enumerate(zip(lower, upper, strict=True)):
            extent = shape[axis + outer]
            if extent + last - first <= 0:
                text = f"the bounding box is empty along axis {axis + outer}: from {first} to {extent - 1 + last}"
                self.scope.error((*key, "upper", axis), text)
                return None
        return Im2col(lower[::-1], upper[::-1], channels, pixels)

    def _corner(self, name: str, given: Sequence[Expr], rank: int) -> tuple[int, ...] | None:
        """The offsets of a corner of the bounding box along each inner axis; None if they are wrong."""
        key = (*self.key, "im2col", name)
        low, high = _CORNERS[rank]
        numbers = self.scope.wholes(given, key, low=low, high=high, what="a corner")
        inner = rank - 2
        if len(given) != inner:
            where = "between" if self.given.interleave == "none" else "behind"
            text = f"has {len(given)} numbers; a tensor of {rank} axes has {inner} {where} n and c"
            self.scope.error(key, text)
            return None
        return numbers

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
            self._error(name, f"a copy has {count} bytes: at most {_MOST_BYTES} (228 KiB, the shared memory of a GPU)")

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

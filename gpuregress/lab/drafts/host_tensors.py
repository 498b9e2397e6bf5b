"""Tensors of a Triton kernel's host code: what the functions of PyTorch and Triton do to their shapes.

A tensor from outside has no shape at first. It gets one where the host code asks for an axis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gpuregress.lab.drafts.host_values import (
    Buffer,
    Constant,
    Dtype,
    Group,
    Mapped,
    Method,
    Number,
    Sizes,
    Tensor,
    Unknown,
    UnknownShape,
    Value,
    binary,
    ceil_division,
    extreme,
    literal,
    next_power_of_2,
    product,
    truth_as_number,
)

_SIZED_DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
_DTYPES = dict(zip(_SIZED_DTYPES, _SIZED_DTYPES, strict=True)) | {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "long": "int64",
    "int": "int32",
}
_SAME_TENSOR = ("contiguous", "to", "detach", "clone", "float", "cuda", "squeeze", "requires_grad_", "view_as")
_MAKERS = (
    "empty",
    "zeros",
    "ones",
    "full",
    "empty_like",
    "zeros_like",
    "ones_like",
    "full_like",
    "new_empty",
    "new_zeros",
)
_EXTENTS = {1: (1000,), 2: (32, 128), 3: (2, 64, 64), 4: (2, 32, 4, 64), 5: (2, 32, 2, 2, 64)}
"""Sizes of a tensor from outside, by the number of its axes."""
_MULTIPROCESSORS = 132
"""Of an H200, which the CPU device models."""


class HostTensors:
    """The tensors of one function and of those that it calls.

    Attributes:
        sizes: the parameters of the job that became axes.
    """

    def __init__(self) -> None:
        self.sizes = Sizes()
        self._heights: dict[str, Number] = {}

    def axes(self, tensor: Tensor, count: int = 0) -> list[Number]:
        """The extents of a tensor; of one from outside that has none yet, as many as are asked for."""
        if tensor.shape is None or (tensor.is_open and len(tensor.shape) < count):
            extents = _EXTENTS.get(count or 1, (4,) * count)
            known = tensor.shape or []
            new = [self.sizes.new(f"{tensor.buffer.name}_{at}", value) for at, value in enumerate(extents)]
            tensor.shape = [*known, *new[len(known) :]]
            tensor.is_open = count == 0
            if tensor is not tensor.buffer.tensor and tensor.buffer.tensor.shape is None:
                tensor.buffer.tensor.shape = list(tensor.shape)
        return tensor.shape

    def axis(self, tensor: Tensor, index: int, hint: str) -> Value:
        """One extent: `x.shape[-1]` makes a matrix of what is not known."""
        if tensor.shape is None and index not in (0, 1, -1, -2):
            self.axes(tensor, index + 1 if index >= 0 else -index)
        elif tensor.shape is None:
            self.axes(tensor, 2)
        shape = self.axes(tensor)
        if not -len(shape) <= index < len(shape):
            return Unknown()
        if hint:
            self.sizes.rename(shape[index], hint)
        return shape[index]

    def _strides(self, tensor: Tensor) -> list[Number]:
        shape = self.axes(tensor)
        return [product(shape[position + 1 :]) for position in range(len(shape))]

    def _reshaped(self, tensor: Tensor, wanted: Sequence[Value]) -> Value:
        extents: list[Number] = []
        for value in wanted:
            if isinstance(value, UnknownShape):
                extents += self.axes(value.tensor, 2)
            elif isinstance(value, Group):
                extents += [part for part in value.values if isinstance(part, Number)]
            elif isinstance(value, Number):
                extents.append(value)
            else:
                return Unknown()
        holes = [position for position, extent in enumerate(extents) if extent.value == -1]
        if not holes:
            return Tensor(tensor.buffer, extents)
        position = holes[0]
        others = [extent for extent in extents if extent.value != -1]
        if tensor.shape is None:
            known = " ".join(extent.text for extent in others)
            # Tensors that are seen as matrices of the same width have the same height until something else is known.
            if known not in self._heights:
                self._heights[known] = self.sizes.new(f"{tensor.buffer.name}_{position}", _EXTENTS[2][0])
            tensor.shape = [*extents[:position], self._heights[known], *extents[position + 1 :]]
            return Tensor(tensor.buffer, tensor.shape)
        shape = self.axes(tensor)
        left = list(shape)
        for extent in others:
            for place, axis in enumerate(left):
                if axis.text == extent.text:
                    del left[place]
                    break
            else:
                extents[position] = binary("//", product(shape), product(others))
                return Tensor(tensor.buffer, extents)
        extents[position] = product(left)
        return Tensor(tensor.buffer, extents)

    def spread(self, value: Value) -> list[Value]:
        """The values of a group or of a shape, as `*value` gives them."""
        if isinstance(value, UnknownShape):
            return list(self.axes(value.tensor, 2))
        return value.values if isinstance(value, Group) else [Unknown()]

    def attribute(self, owner: Value, name: str) -> Value:
        """An attribute of a tensor, a module or another value."""
        if isinstance(owner, Tensor):
            if name == "shape":
                return UnknownShape(owner) if owner.shape is None or owner.is_open else Group(owner.shape)
            if name == "dtype":
                return Dtype(owner.buffer.dtype)
            if name == "ndim":
                return literal(len(self.axes(owner, 2)))
            if name == "is_cuda":
                return Constant(value=True)
            if name == "requires_grad":
                return Constant(value=False)
            if name == "data":
                return owner
            return Method(owner, name)
        if isinstance(owner, Method) and owner.name == "device" and name == "type":
            return Constant("cuda")
        if isinstance(owner, Constant | Number) and name == "value":
            return owner  # of tl.constexpr
        if isinstance(owner, Method) and name in _DTYPES and owner.name == "torch":
            return Dtype(_DTYPES[name])
        return Method(owner, name)

    def of_tensor(
        self, tensor: Tensor, name: str, arguments: Sequence[Value], keywords: Mapping[str, Value], hint: str
    ) -> Value:
        """A method of a tensor."""
        if name in _SAME_TENSOR:
            return tensor
        if name in ("view", "reshape"):
            return self._reshaped(tensor, arguments)
        if name == "flatten":
            return self._flattened(tensor, arguments)
        if name == "unsqueeze":
            return Tensor(tensor.buffer, [literal(1), *self.axes(tensor)])
        if name in ("numel", "nelement"):
            total = product(self.axes(tensor))
            if hint:
                self.sizes.rename(total, hint)
            return total
        if name == "element_size":
            return literal({"float16": 2, "bfloat16": 2, "float64": 8, "int64": 8}.get(tensor.buffer.dtype, 4))
        if name in ("dim", "ndimension"):
            return literal(len(self.axes(tensor, 2)))
        if name == "is_contiguous":
            return Constant(value=True)
        if name in ("size", "stride"):
            return self._size_or_stride(tensor, name, arguments, hint)
        if name in _MAKERS:
            return self._made(name, arguments, keywords, hint, tensor.buffer.dtype)
        return Unknown()

    def _size_or_stride(self, tensor: Tensor, name: str, arguments: Sequence[Value], hint: str) -> Value:
        if not arguments:
            return UnknownShape(tensor) if name == "size" else Group(self._strides(tensor))
        index = arguments[0]
        if not isinstance(index, Number):
            return Unknown()
        if name == "size":
            return self.axis(tensor, int(index.value), hint)
        if tensor.shape is None and index.value in (0, -1):
            return literal(1)  # a vector, as far as is known
        strides = self._strides(tensor)
        if -len(strides) <= index.value < len(strides):
            return strides[int(index.value)]
        return Unknown()

    def _flattened(self, tensor: Tensor, arguments: Sequence[Value]) -> Tensor:
        ends = [int(value.value) for value in arguments if isinstance(value, Number)]
        if not ends:
            return Tensor(tensor.buffer, [product(self.axes(tensor))])
        shape = self.axes(tensor, 2)
        first = ends[0] % len(shape)
        last = (ends[1] if len(ends) > 1 else -1) % len(shape)
        return Tensor(tensor.buffer, [*shape[:first], product(shape[first : last + 1]), *shape[last + 1 :]])

    def _made(
        self, name: str, arguments: Sequence[Value], keywords: Mapping[str, Value], hint: str, dtype: str = "float32"
    ) -> Value:
        """A tensor that the host code allocates."""
        shape: list[Number] = []
        for argument in arguments[:1] if name.endswith("_like") or name.startswith("full") else arguments:
            if isinstance(argument, Tensor):
                dtype = argument.buffer.dtype
                shape += self.axes(argument, 0 if argument.shape else 2)
            elif isinstance(argument, UnknownShape | Group):
                shape += [part for part in self.spread(argument) if isinstance(part, Number)]
            elif isinstance(argument, Number):
                shape.append(argument)
        given = keywords.get("dtype")
        if isinstance(given, Dtype):
            dtype = given.name
        fill = ""
        if "zeros" in name or "ones" in name:
            fill = "zeros" if "zeros" in name else "ones"
        buffer = Buffer(hint or "buffer", dtype, fill)
        buffer.tensor.shape = shape
        return buffer.tensor

    def plain(self, name: str, arguments: Sequence[Value], keywords: Mapping[str, Value], hint: str) -> Value:
        """A function of Python, PyTorch or Triton."""
        numbers = [value for value in map(truth_as_number, arguments) if isinstance(value, Number)]
        if name in _MAKERS:
            return self._made(name, arguments, keywords, hint)
        if name == "isinstance":
            return Constant(isinstance(arguments[0], Tensor)) if arguments else Unknown()
        if name.endswith("multiprocessor_count"):
            return literal(_MULTIPROCESSORS)
        if name == "Config":
            given = arguments[0].values if arguments and isinstance(arguments[0], Mapped) else {}
            return Mapped({**given, **keywords})
        if name == "len" and arguments and isinstance(arguments[0], Tensor):
            return self.axes(arguments[0])[0]
        if name == "len" and arguments:
            return literal(len(self.spread(arguments[0])))
        if not numbers or len(numbers) != len(arguments):
            return Unknown()
        if name in ("cdiv", "ceil_div") and len(numbers) == 2 and numbers[1].value:
            return ceil_division(*numbers)
        if name == "next_power_of_2":
            return next_power_of_2(numbers[0])
        if name in ("min", "max"):
            return extreme(name, numbers)
        if name == "divmod" and len(numbers) == 2 and numbers[1].value:
            return Group([binary("//", *numbers), binary("%", *numbers)])
        if name in ("int", "float", "constexpr"):
            return numbers[0]
        if name == "ceil":
            return Number(f"ceil({numbers[0].text})", math.ceil(numbers[0].value))
        return Unknown()

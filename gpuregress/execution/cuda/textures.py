"""Texture and surface objects on the GPU, through the driver API, which pycuda does not offer.

Kernels sample an array, with elements in the GPU's own order; the case fills and dumps the buffer.
So the buffer is copied into the array before a launch where it has been written since, and a surface's array back into
the buffer after each launch. Constants and structures are those of cuda.h.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from gpuregress.execution.cuda import cooperative
from gpuregress.execution.cuda.memory import CudaMemory
from gpuregress.foundation.records import TENSOR_MAP_ALIGNMENT, TENSOR_MAP_BYTES, TensorMap
from gpuregress.gpu.descriptors import ELEMENT_SIZES, INTERLEAVES, OOB_FILLS, PROMOTIONS, SPANS, TextureDescription

_FORMATS = {
    "uint8": 0x01,
    "uint16": 0x02,
    "uint32": 0x03,
    "int8": 0x08,
    "int16": 0x09,
    "int32": 0x0A,
    "float16": 0x10,
    "float32": 0x20,
}
_ADDRESS_MODES = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}
_FILTERS = {"point": 0, "linear": 1}
_READ_AS_INTEGER, _NORMALIZED_COORDINATES = 0x01, 0x02
_LAYERED, _SURFACE, _CUBEMAP, _GATHER = 0x01, 0x02, 0x04, 0x08
_GATHER_EXTENT = 32768
"""The largest extent of an array from which tex2Dgather reads (CUDA programming guide, "Technical Specifications")."""
_RESOURCE_ARRAY, _RESOURCE_LINEAR = 0, 2
_MEMORY_DEVICE, _MEMORY_ARRAY = 2, 3


class _ArrayDescriptor(ctypes.Structure):
    """CUDA_ARRAY3D_DESCRIPTOR."""

    _fields_ = (
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
        ("depth", ctypes.c_size_t),
        ("format", ctypes.c_int),
        ("channels", ctypes.c_uint),
        ("flags", ctypes.c_uint),
    )


class _Array(ctypes.Structure):
    _fields_ = (("handle", ctypes.c_void_p),)


class _Linear(ctypes.Structure):
    _fields_ = (
        ("address", ctypes.c_uint64),
        ("format", ctypes.c_int),
        ("channels", ctypes.c_uint),
        ("size", ctypes.c_size_t),
    )


class _Resources(ctypes.Union):
    _fields_ = (("array", _Array), ("linear", _Linear), ("reserved", ctypes.c_int * 32))


class _Resource(ctypes.Structure):
    """CUDA_RESOURCE_DESC."""

    _fields_ = (("kind", ctypes.c_int), ("of", _Resources), ("flags", ctypes.c_uint))


class _Sampler(ctypes.Structure):
    """CUDA_TEXTURE_DESC."""

    _fields_ = (
        ("address", ctypes.c_int * 3),
        ("filter", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("anisotropy", ctypes.c_uint),
        ("mipmap_filter", ctypes.c_int),
        ("mipmap_bias", ctypes.c_float),
        ("mipmap_lowest", ctypes.c_float),
        ("mipmap_highest", ctypes.c_float),
        ("border", ctypes.c_float * 4),
        ("reserved", ctypes.c_int * 12),
    )


class _End(ctypes.Structure):
    """One half of CUDA_MEMCPY3D: where it comes from, or goes to."""

    _fields_ = (
        ("x", ctypes.c_size_t),
        ("y", ctypes.c_size_t),
        ("z", ctypes.c_size_t),
        ("level", ctypes.c_size_t),
        ("kind", ctypes.c_int),
        ("host", ctypes.c_void_p),
        ("device", ctypes.c_uint64),
        ("array", ctypes.c_void_p),
        ("reserved", ctypes.c_void_p),
        ("pitch", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
    )


class _Copy(ctypes.Structure):
    """CUDA_MEMCPY3D."""

    _fields_ = (
        ("source", _End),
        ("target", _End),
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
        ("depth", ctypes.c_size_t),
    )


class CudaTexture:
    """A texture or surface object.

    Args:
        memory: the buffer.
        description: elements and sampler.
        call: `(name, arguments…)`: calls the driver, and raises its refusals.
    """

    def __init__(self, memory: CudaMemory, description: TextureDescription, call: Any = cooperative.call) -> None:
        self._memory, self._description, self._call = memory, description, call
        self._surface = description.sampler.surface
        self._array = ctypes.c_void_p()
        self._copied = -1
        self.handle = 0
        try:
            self._make()
        except BaseException:
            self.free()
            raise

    def _make(self) -> None:
        resource, handle = self._resource(), ctypes.c_uint64()
        if self._surface:
            self._call("cuSurfObjectCreate", ctypes.byref(handle), ctypes.byref(resource))
        else:
            sampler = _sampler(self._description)
            self._call("cuTexObjectCreate", ctypes.byref(handle), ctypes.byref(resource), ctypes.byref(sampler), None)
        self.handle = handle.value

    def before_launch(self) -> None:
        """Copy the buffer into the array, if it has been written since."""
        if self._array and self._copied != self._memory.writes:
            self._copy(_buffer_end(self._memory, self._description), _array_end(self._array))
            self._copied = self._memory.writes

    def after_launch(self) -> None:
        """Copy the array that a kernel wrote through a surface into the buffer."""
        if self._surface:
            self._copy(_array_end(self._array), _buffer_end(self._memory, self._description))

    def free(self) -> None:
        """Free the object and its array."""
        if self.handle:
            self._call("cuSurfObjectDestroy" if self._surface else "cuTexObjectDestroy", ctypes.c_uint64(self.handle))
            self.handle = 0
        if self._array:
            self._call("cuArrayDestroy", self._array)
            self._array = ctypes.c_void_p()

    def _resource(self) -> _Resource:
        asked = self._description
        resource = _Resource()
        if asked.sampler.memory == "linear":
            size = asked.extents[0] * asked.element_size
            resource.kind = _RESOURCE_LINEAR
            resource.of.linear = _Linear(self._memory.address, _FORMATS[asked.format], asked.channels, size)
            return resource
        width, height, depth = asked.extents
        gathers = height > 0 and depth == 0 and max(width, height) <= _GATHER_EXTENT and not self._surface
        flags = _SURFACE if self._surface else _GATHER if gathers else 0
        flags |= asked.layered * _LAYERED | asked.cube * _CUBEMAP
        form = _ArrayDescriptor(width, height, depth, _FORMATS[asked.format], asked.channels, flags)
        self._call("cuArray3DCreate_v2", ctypes.byref(self._array), ctypes.byref(form))
        resource.kind = _RESOURCE_ARRAY
        resource.of.array = _Array(self._array)
        return resource

    def _copy(self, source: _End, target: _End) -> None:
        width, height, depth = self._description.extents
        row = width * self._description.element_size
        copy = _Copy(source, target, row, max(1, height), max(1, depth))
        self._call("cuMemcpy3D_v2", ctypes.byref(copy))


def _buffer_end(memory: CudaMemory, description: TextureDescription) -> _End:
    width, height, _ = description.extents
    pitch = width * description.element_size
    return _End(kind=_MEMORY_DEVICE, device=memory.address, pitch=pitch, height=max(1, height))


def _array_end(array: ctypes.c_void_p) -> _End:
    return _End(kind=_MEMORY_ARRAY, array=array)


def _sampler(description: TextureDescription) -> _Sampler:
    asked = description.sampler
    integers = not description.format.startswith("float")
    flags = _READ_AS_INTEGER if integers and asked.read == "element" else 0
    flags |= _NORMALIZED_COORDINATES if asked.normalized or description.cube else 0
    # A row is sampled as an image one row high, at y = 0: with a border there, linear filtering halves every value.
    absent = ("clamp",) * (3 - description.axes)
    modes = (ctypes.c_int * 3)(*(_ADDRESS_MODES[mode] for mode in (*asked.address[: description.axes], *absent)))
    return _Sampler(address=modes, filter=_FILTERS[asked.filter], flags=flags)


def encode_tensor_map(given: TensorMap, address: int, call: Any = cooperative.call) -> bytes:
    """Encode a tensor map.

    Args:
        given: the map.
        address: of the tensor's first element.
        call: `(name, arguments…)`: calls the driver, and raises its refusals.
    """
    space = ctypes.create_string_buffer(TENSOR_MAP_BYTES + TENSOR_MAP_ALIGNMENT)
    start = -ctypes.addressof(space) % TENSOR_MAP_ALIGNMENT
    tensor = (
        ctypes.c_void_p(ctypes.addressof(space) + start),
        list(ELEMENT_SIZES).index(given.type),
        ctypes.c_uint32(len(given.extents)),
        ctypes.c_void_p(address),
        _array(ctypes.c_uint64, given.extents),
        _array(ctypes.c_uint64, given.strides),
    )
    steps = _array(ctypes.c_uint32, given.element_strides)
    settings = (
        list(INTERLEAVES).index(given.interleave),
        list(SPANS).index(given.swizzle),
        PROMOTIONS.index(given.l2_promotion),
        OOB_FILLS.index(given.oob_fill),
    )
    if given.im2col is None:
        call("cuTensorMapEncodeTiled", *tensor, _array(ctypes.c_uint32, given.box), steps, *settings)
    else:
        corners = (_array(ctypes.c_int, given.im2col.lower), _array(ctypes.c_int, given.im2col.upper))
        sizes = (ctypes.c_uint32(given.im2col.channels), ctypes.c_uint32(given.im2col.pixels))
        call("cuTensorMapEncodeIm2col", *tensor, *corners, *sizes, steps, *settings)
    return space.raw[start : start + TENSOR_MAP_BYTES]


def _array(type_: Any, values: Sequence[int]) -> Any:
    return (type_ * max(1, len(values)))(*values)

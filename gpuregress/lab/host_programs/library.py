"""Calls of the CUDA runtime, Thrust and the C++ library, by what they do to memory and numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from tree_sitter import Node

from gpuregress.foundation import dtypes
from gpuregress.gpu.records import replace
from gpuregress.lab.host_programs import scalars, textures
from gpuregress.lab.host_programs.contents import ArrayContents
from gpuregress.lab.host_programs.objects import (
    ArrayPointer,
    HostArray,
    HostCell,
    Listed,
    NamedFunction,
    Object,
    Reference,
    Run,
    Structure,
    cell_at,
    dim3,
    extents,
    member_of,
    number_at,
    value_at,
)
from gpuregress.lab.host_programs.scalars import HostScalar, constant, named
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.host_code import grammar

_Known = Callable[[Run, Sequence[Object | None], Node], Object | None]
CONSTANTS: Mapping[str, int | float] = {
    "cudaSuccess": 0,
    "CUDA_SUCCESS": 0,
    "NULL": 0,
    "nullptr": 0,
    "EXIT_SUCCESS": 0,
    "EXIT_FAILURE": 1,
    "RAND_MAX": 2147483647,
    "INT_MAX": 2147483647,
    "UINT_MAX": 4294967295,
    "FLT_MAX": 3.4028234663852886e38,
    "M_PI": 3.141592653589793,
    **textures.ENUMERATORS,
}
DEVICE: Mapping[str, int] = {
    "multiProcessorCount": 132,
    "warpSize": 32,
    "maxThreadsPerBlock": 1024,
    "maxThreadsPerMultiProcessor": 2048,
    "sharedMemPerBlock": 49152,
    "sharedMemPerBlockOptin": 232448,
    "sharedMemPerMultiprocessor": 233472,
    "regsPerBlock": 65536,
    "major": 9,
    "minor": 0,
    "concurrentKernels": 1,
    "cooperativeLaunch": 1,
    "managedMemory": 1,
    "unifiedAddressing": 1,
    "canMapHostMemory": 1,
}
_DEVICE_AXES: Mapping[str, tuple[int, ...]] = {
    "maxGridSize": (2147483647, 65535, 65535),
    "maxThreadsDim": (1024, 1024, 64),
}
_ATTRIBUTES: Mapping[str, int] = {
    "cudaDevAttrMultiProcessorCount": DEVICE["multiProcessorCount"],
    "cudaDevAttrWarpSize": DEVICE["warpSize"],
    "cudaDevAttrMaxThreadsPerBlock": DEVICE["maxThreadsPerBlock"],
    "cudaDevAttrMaxThreadsPerMultiProcessor": DEVICE["maxThreadsPerMultiProcessor"],
    "cudaDevAttrMaxSharedMemoryPerBlock": DEVICE["sharedMemPerBlock"],
    "cudaDevAttrMaxSharedMemoryPerBlockOptin": DEVICE["sharedMemPerBlockOptin"],
    "cudaDevAttrMaxSharedMemoryPerMultiprocessor": DEVICE["sharedMemPerMultiprocessor"],
    "cudaDevAttrMaxRegistersPerBlock": DEVICE["regsPerBlock"],
    "cudaDevAttrComputeCapabilityMajor": DEVICE["major"],
    "cudaDevAttrComputeCapabilityMinor": DEVICE["minor"],
    "cudaDevAttrConcurrentKernels": DEVICE["concurrentKernels"],
    "cudaDevAttrCooperativeLaunch": DEVICE["cooperativeLaunch"],
    "cudaDevAttrManagedMemory": DEVICE["managedMemory"],
    "cudaDevAttrUnifiedAddressing": DEVICE["unifiedAddressing"],
    "cudaDevAttrCanMapHostMemory": DEVICE["canMapHostMemory"],
    **{f"cudaDevAttrMaxGridDim{axis}": size for axis, size in zip("XYZ", _DEVICE_AXES["maxGridSize"], strict=True)},
    **{f"cudaDevAttrMaxBlockDim{axis}": size for axis, size in zip("XYZ", _DEVICE_AXES["maxThreadsDim"], strict=True)},
}
_CUDA = 13000
"""Version 13.0 of CUDA, as its functions write it."""
_LEAST_WITH_CHANNELS = 3
"""Axes of a tensor, such as batch, channel, time."""
_ALLOCATIONS = frozenset(
    [
        "cudaMalloc",
        "cudaMallocManaged",
        "cudaMallocHost",
        "cudaHostAlloc",
        "cudaMallocAsync",
        "hipMalloc",
        "cuMemAlloc",
        "cudaMallocFromPoolAsync",
    ]
)
_TENSOR = re.compile(r"\b(?:torch::)?(?:at::)?Tensor\b")
_MATH: Mapping[str, str] = {
    **dict.fromkeys(("ceil", "ceilf"), "ceil"),
    **dict.fromkeys(("floor", "floorf"), "floor"),
    **dict.fromkeys(("min", "fmin", "fminf", "imin", "MIN"), "min"),
    **dict.fromkeys(("max", "fmax", "fmaxf", "imax", "MAX"), "max"),
    **dict.fromkeys(("log2", "log2f"), "log2"),
    **dict.fromkeys(("sqrt", "sqrtf"), "sqrt"),
    **dict.fromkeys(("pow", "powf"), "pow"),
    **dict.fromkeys(("abs", "fabs", "fabsf"), "abs"),
    "exp2": "exp2",
}
_CEILINGS = frozenset(
    [
        "cdiv",
        "ceil_div",
        "ceildiv",
        "CeilDiv",
        "ceilDiv",
        "div_up",
        "divUp",
        "DivUp",
        "DIVUP",
        "DIV_UP",
        "iDivUp",
        "CEIL_DIV",
    ]
)
_READERS = frozenset(["free", "printf", "fprintf", "fwrite", "puts", "memcmp", "assert", "equal", "accumulate"])
"""Functions that leave the arrays as they are that they are given; those of CUDA do, too, but for `_WRITERS`."""
_WRITERS = ("cudaMemcpy", "cudaMemset", "cudaGraphAdd")
_READING_METHODS = frozenset(
    [
        *("at", "back", "capacity", "cbegin", "cend", "empty", "end", "front", "rbegin", "release", "rend", "reset"),
        *("defined", "device", "dim", "dtype", "is_contiguous", "is_cuda", "item", "options", "scalar_type"),
        *("sizes", "stride", "strides"),
    ]
)


def number(text: str) -> HostScalar | None:
    """Read a literal of C++."""
    plain = text.replace("'", "").replace("_", "")
    is_hexadecimal = plain.lower().startswith("0x")
    try:
        if is_hexadecimal or re.fullmatch(r"\d+[uUlL]*", plain):
            digits = plain.rstrip("uUlL")
            if is_hexadecimal:
                return constant(int(digits, 16))
            return constant(int(digits, 8 if digits.startswith("0") else 10))
        return constant(float(re.sub(r"[fFlLhH]+$", "", plain)))
    except ValueError:
        return None


def size_of(type_: str) -> int | None:
    """Return the size of a type in bytes; None where it is not known."""
    if type_.endswith(("*", "&")):
        return 8
    if type_ == "dim3":
        return 12
    dtype = dtype_of_type(type_)
    if dtype is None:
        return None
    return dtypes.parse(dtype).size


def device_property(name: str) -> Object | None:
    """Return a member of `cudaDeviceProp`, of the virtual GPU; None where it is not known.

    Args:
        name: of the member.
    """
    if name in _DEVICE_AXES:
        return Listed(tuple(constant(size) for size in _DEVICE_AXES[name]))
    if name in DEVICE:
        return constant(DEVICE[name])
    return None


def is_tensor(type_: str) -> bool:
    """Tell whether a type is a tensor of PyTorch."""
    return _TENSOR.search(type_) is not None


def rounded_up(condition: HostScalar, first: Object | None, second: Object | None) -> HostScalar | None:
    """Return `ceil(a / b)` for `a % b == 0 ? a / b : a / b + 1`; None for any other choice."""
    if not isinstance(first, HostScalar) or not isinstance(second, HostScalar):
        return None
    remainder = condition
    if condition.op in ("==", "!=", ">", "!") and condition.operands:
        remainder = condition.operands[0]
    if remainder.op != "%":
        return None
    left, right = remainder.operands
    for quotient, more in ((first, second), (second, first)):
        is_quotient = quotient.op == "//" and quotient.operands == (left, right)
        if is_quotient and more.number == quotient.number + 1:
            return scalars.ceil_of(left, right)
    return None


SHAPE_CHECKS = frozenset(["CHECK_SHAPE"])
"""Macros that take a tensor and its extents, as in the extensions of many authors."""


def check_shape(values: Sequence[Object | None]) -> Object:
    """Note the extents of a tensor that the program requires."""
    pointer = value_at(values, 0)
    extents = tuple(value for value in values[1:] if isinstance(value, HostScalar))
    if isinstance(pointer, ArrayPointer) and extents and len(extents) == len(values) - 1:
        pointer.memory.extents = extents
        pointer.memory.may_have_more_axes = False
    return constant(0)


def _tensor_extents(run: Run, memory: HostArray, node: Node) -> tuple[HostScalar, ...]:
    """Return the extents of a tensor; unknown ones where the program does not require any.

    As many as the program asks for, or as it requires further down.
    """
    if not memory.extents:
        body: Node = node
        while body.parent is not None and body.type != "function_definition":
            body = body.parent
        text = grammar.text(body)
        name = re.escape(memory.name)
        axes = [int(axis) + 1 for axis in re.findall(rf"\b{name}\s*\.\s*(?:size|stride)\(\s*(\d+)\s*\)", text)]
        axes += [int(axis) + 1 for axis in re.findall(rf"\b{name}\s*\.\s*(?:sizes|strides)\(\)\[(\d+)\]", text)]
        ranks = re.findall(rf"\b{name}\s*\.\s*(?:dim|ndimension)\(\)\s*==\s*(\d+)", text)
        axes += [int(rank) for rank in ranks]
        axes += [int(axis) for axis in re.findall(rf"\b{name}\s*\.\s*size\(\s*-(\d+)\s*\)", text)]
        aliases = re.findall(rf"\b(\w+)\s*=\s*{name}\s*\.\s*sizes\(\)\s*;", text)
        for alias in aliases:
            axes += [int(axis) + 1 for axis in re.findall(rf"\b{re.escape(alias)}\[(\d+)\]", text)]
        count = max(axes, default=1)
        if re.search(rf"\b{name}\s*\.\s*(?:size|stride)\(\s*(?:{name}\s*\.\s*dim\(\)\s*-\s*|-\s*)1\s*\)", text):
            count += bool(axes)  # its last axis, beside those that have a number
        shapes = re.findall(rf"\bCHECK_SHAPE\(\s*{name}\s*,([^;()]*)\)", text)
        for shape in shapes:
            count = shape.count(",") + 1
        memory.may_have_more_axes = not ranks and not shapes
        memory.extents = tuple(run.unknown(f"{memory.name}_size_{axis}", "int", node) for axis in range(count))
        memory.has_channels_last = run.has_channels_last and count >= _LEAST_WITH_CHANNELS
    return memory.extents


def _axis(extents: Sequence[HostScalar], values: Sequence[Object | None]) -> int | None:
    axis = number_at(values, 0)
    if axis is None or not axis.is_known or not -len(extents) <= axis.number < len(extents):
        return None
    return int(axis.number) % len(extents)


def _product(extents: Sequence[HostScalar]) -> HostScalar:
    total: HostScalar = constant(1)
    for extent in extents:
        total = scalars.binary("*", total, extent)
    return total


def _of_tensor(run: Run, memory: HostArray, name: str, values: Sequence[Object | None], node: Node) -> Object | None:
    """Return what a tensor says of its shape; it is contiguous, or has its channels last."""
    extents = _tensor_extents(run, memory, node)
    if name == "sizes":
        return Listed(tuple(extents))
    if name == "numel" or (name == "size" and not values):
        return _product(extents)
    if name in ("dim", "ndimension"):
        return constant(len(extents))
    axis = _axis(extents, values)
    if axis is None:
        return None
    if name == "stride":
        if memory.has_channels_last:
            axis = {0: 0, 1: len(extents) - 1}.get(axis, axis - 1)
        return _product(memory.shape[axis + 1 :])
    return extents[axis]


def call(run: Run, name: str, given: Sequence[Node], node: Node) -> Object | None:
    """Call a function that the program does not define.

    Args:
        run: the interpreter.
        name: without namespaces.
        given: nodes of its arguments.
        node: of the call.
    """
    values = [run.evaluate(argument) for argument in given]
    if name in _ALLOCATIONS:
        return _allocate(run, values, node)
    known = _CALLS.get(name) or textures.CALLS.get(name)
    if known is not None:
        return known(run, values, node)
    numbers = tuple(value for value in values if isinstance(value, HostScalar))
    if name in _MATH and numbers and len(numbers) == len(values):
        result = scalars.called(_MATH[name], numbers)
        if name in ("sqrt", "sqrtf", "pow", "powf"):
            return scalars.to_float(result)
        return result
    if name in _CEILINGS and len(numbers) == 2 and numbers[1].number:
        return scalars.ceil_of(*numbers)
    if name == "dim3":
        return dim3(extents(values, run.place(node)))
    if name in ("cudaLaunchKernel", "cudaLaunchCooperativeKernel") and len(values) >= 4:
        _launch_by_pointers(run, values, node)
        return constant(0)
    if name == "cudaLaunchKernelEx" and len(values) >= 2:
        _launch_by_configuration(run, values, given, node)
        return constant(0)
    if name.startswith("make_") and numbers:
        return Listed(tuple(values))
    if dtype_of_type(name) is not None and len(numbers) == 1:
        if "float" in name or name == "double":
            return scalars.to_float(numbers[0])
        return scalars.to_integer(numbers[0])
    if name in ("raw_pointer_cast", "move", "forward", "data", "addressof", "begin") and values:
        return values[0]
    if name in ("getenv", "checkCmdLineFlag", "getCmdLineArgumentString", "getCmdLineArgumentFilename"):
        return named(scalars.COMMAND_LINE, 0, run.place(node), is_known=False)
    if name not in _READERS and not (name.startswith("cuda") and not name.startswith(_WRITERS)):
        change(values)
    for value in values:
        _forget(run, value, node)
    if name.startswith(("cuda", "cu")) and name[4:5].isupper():
        return constant(0)
    if values and isinstance(values[0], HostScalar) and _is_status(given[0]):
        return constant(0)  # a function that checks what its argument returns, as checkCudaErrors
    return None


def change(values: Sequence[Object | None]) -> None:
    """Let the contents of arrays be uncertain that something was given which is not understood.

    Args:
        values: what was given: pointers, variables that hold them, and structures with such members.
    """
    pending = list(values)
    seen: set[int] = set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, ArrayPointer):
            value.memory.contents = value.memory.contents.changed()
        elif isinstance(value, Reference):
            pending.append(value.cell.value)
        elif isinstance(value, Structure):
            pending += [cell.value for cell in value.members.values()]
        elif isinstance(value, Listed):
            pending += value.items


def _is_status(node: Node) -> bool:
    return node.type == "call_expression" and grammar.text(node).startswith(("cuda", "cu"))


def _forget(run: Run, value: Object | None, node: Node) -> None:
    """Let a number of which a function has the address be unknown from now on."""
    if not isinstance(value, Reference):
        return
    cell = value.cell
    if isinstance(cell.value, HostScalar) or (cell.value is None and dtype_of_type(cell.type)):
        run.assign(cell, run.unknown(cell.name, cell.type or "int", node), node)


def _allocate(run: Run, values: Sequence[Object | None], node: Node) -> Object:
    cell = cell_at(values, 0)
    if cell is not None:
        element = run.resolved(cell.type.removesuffix("*"))
        if cell.type in ("", "void*"):
            element = ""
        size = number_at(values, 1)
        run.assign(cell, ArrayPointer(HostArray(cell.name, size, run.place(node), element), element), node)
    return constant(0)


def _allocate_pitched(run: Run, values: Sequence[Object | None], node: Node) -> Object:
    cell = cell_at(values, 0)
    pitch = cell_at(values, 1)
    width = number_at(values, 2)
    height = number_at(values, 3)
    if cell is not None and width is not None and height is not None:
        rounded = scalars.binary("*", scalars.ceil_of(width, constant(512)), constant(512))
        if pitch is not None:
            run.assign(pitch, rounded, node)
        element = run.resolved(cell.type.removesuffix("*"))
        memory = HostArray(cell.name, scalars.binary("*", rounded, height), run.place(node), element)
        run.assign(cell, ArrayPointer(memory, element), node)
    return constant(0)


def _host_memory(run: Run, values: Sequence[Object | None], node: Node) -> Object | None:
    sizes = [value for value in values if isinstance(value, HostScalar)]
    if len(sizes) != len(values) or not sizes:
        return None
    total = sizes[0]
    if len(sizes) > 1:
        total = scalars.binary("*", sizes[0], sizes[1])
    return ArrayPointer(HostArray("", total, run.place(node)))


def _cleared_memory(run: Run, values: Sequence[Object | None], node: Node) -> Object | None:
    memory = _host_memory(run, values, node)
    if isinstance(memory, ArrayPointer):
        memory.memory.contents = memory.memory.contents.constructed()
    return memory


def _aligned_memory(run: Run, values: Sequence[Object | None], node: Node) -> Object | None:
    return _host_memory(run, values[1:], node)


def _copy(run: Run, values: Sequence[Object | None], node: Node) -> Object | None:
    if len(values) < 3 or not isinstance(values[0], ArrayPointer):
        _forget(run, values[0] if values else None, node)
        return constant(0)
    _copy_into(values[0].memory, values[0].offset, values[1], values[2])
    return constant(0)


def _copy_into(memory: HostArray, offset: HostScalar, source: Object | None, size: Object | None) -> None:
    """Note a copy from an array or a number."""
    is_whole = memory.is_whole(size) and offset.number == 0
    begin = memory.contents.reaching(offset, size).begin
    if isinstance(source, ArrayPointer):
        is_same = is_whole and source.offset.number == 0
        memory.contents = memory.contents.with_copy(source.memory.contents, is_whole=is_same)
    elif isinstance(source, Reference) and isinstance(source.cell.value, HostScalar):
        given = ArrayContents().with_all(source.cell.value)
        is_element = memory.bytes is not None and isinstance(size, HostScalar) and memory.bytes.number == size.number
        memory.contents = memory.contents.with_copy(given, is_whole=is_whole and is_element)
    else:
        memory.contents = memory.contents.changed()
    memory.contents = replace(memory.contents, begin=begin)


def _set(_: Run, values: Sequence[Object | None], __: Node) -> Object:
    if len(values) >= 3 and isinstance(values[0], ArrayPointer):
        memory = values[0].memory
        begin = memory.contents.reaching(values[0].offset, values[2]).begin
        contents = memory.contents.changed()
        if isinstance(values[1], HostScalar) and values[1].number == 0:
            is_whole = memory.is_whole(values[2]) and values[0].offset.number == 0
            contents = memory.contents.zeroed(is_whole=is_whole)
        memory.contents = replace(contents, begin=begin)
    return constant(0)


def _fill_range(run: Run, values: Sequence[Object | None], node: Node) -> None:
    """`std::fill` and `thrust::fill`, or a function of that name that is not seen."""
    arguments = node.child_by_field_name("arguments")
    if len(values) == 3 and arguments is not None and isinstance(values[0], ArrayPointer):
        memory = values[0].memory
        end = grammar.text(arguments.named_children[1])
        if values[0].offset.number == 0 and end.endswith("end()"):
            memory.contents = memory.contents.with_all(values[2])
        else:
            memory.contents = memory.contents.changed()
        return
    change(values)
    for value in values:
        _forget(run, value, node)


def _copy_to_symbol(run: Run, values: Sequence[Object | None], node: Node) -> Object:
    name = re.sub(r"^.*[&\s(]", "", _text_at(node, 0)).strip(")")
    size = number_at(values, 2)
    memory = run.symbols.setdefault(name, HostArray(name, size, run.place(node)))
    offset = number_at(values, 3) or constant(0)
    _copy_into(memory, offset, value_at(values, 1), size)
    return constant(0)


def _text_at(call_node: Node, position: int) -> str:
    """Return the text of an argument; "" where the call does not have so many."""
    arguments = call_node.child_by_field_name("arguments")
    if arguments is None or position >= len(arguments.named_children):
        return ""
    return grammar.text(arguments.named_children[position])


def _device_pointer(run: Run, values: Sequence[Object | None], node: Node) -> Object:
    cell = cell_at(values, 0)
    if cell is not None and len(values) > 1:
        run.assign(cell, values[1], node)
    return constant(0)


def _random(*_: object) -> Object:
    return HostScalar("random", 0, high=2147483647)


def _random_float(*_: object) -> Object:
    return HostScalar("random", 0.0, high=1.0)


def _device_attribute(run: Run, values: Sequence[Object | None], node: Node) -> Object:
    cell = cell_at(values, 0)
    attribute = _text_at(node, 1).rpartition("::")[2]
    if cell is not None and attribute in _ATTRIBUTES:
        run.assign(cell, constant(_ATTRIBUTES[attribute]), node)
    elif cell is not None:
        run.assign(cell, run.unknown(cell.name, "int", node), node)
    return constant(0)


def _answer(number: int) -> _Known:
    """A function that writes a known number to its first argument."""

    def write(run: Run, values: Sequence[Object | None], node: Node) -> Object:
        cell = cell_at(values, 0)
        if cell is not None:
            run.assign(cell, constant(number), node)
        return constant(0)

    return write


def _launch_by_pointers(run: Run, values: Sequence[Object | None], node: Node) -> None:
    """`cudaLaunchKernel`: its arguments are an array of the addresses of variables."""
    kernel = values[0]
    if not isinstance(kernel, NamedFunction) or not kernel.name:
        return
    items = values[3].items if isinstance(values[3], Listed) else ()
    cells = [item.cell if isinstance(item, Reference) else HostCell("") for item in items]
    run.record_values(
        kernel.name,
        (values[1], values[2], value_at(values, 4)),
        tuple(cell.value for cell in cells),
        tuple(run.resolved(cell.type) for cell in cells),
        tuple(cell.name for cell in cells),
        node,
    )


def _launch_by_configuration(run: Run, values: Sequence[Object | None], given: Sequence[Node], node: Node) -> None:
    """`cudaLaunchKernelEx`: the first argument is a structure with the sizes."""
    kernel = values[1]
    config = values[0]
    if isinstance(config, Reference):
        config = config.cell.value
    if isinstance(kernel, NamedFunction) and kernel.name and isinstance(config, Structure):
        grid = member_of(config, "gridDim")
        block = member_of(config, "blockDim")
        shared = member_of(config, "dynamicSmemBytes")
        run.record(kernel.name, grid, block, shared, given[2:], node)


def method(run: Run, base: ArrayPointer, name: str, given: Sequence[Node], node: Node) -> Object | None:
    """Call a method of a container or a tensor.

    Args:
        run: the interpreter.
        base: its memory.
        name: of the method, without template arguments.
        given: nodes of its arguments.
        node: of the call.
    """
    values = [run.evaluate(argument) for argument in given]
    memory = base.memory
    if name in ("data", "get", "begin", "data_ptr", "ptr", "mutable_data_ptr", "const_data_ptr"):
        function = node.child_by_field_name("function")
        spelled = re.search(r"<\s*([\w: ]+)\s*>$", grammar.text(function)) if function is not None else None
        if spelled is None:
            return base
        return ArrayPointer(memory, run.resolved(spelled[1]), base.offset)
    if name in ("size", "numel") and memory.bytes is not None and not values:
        return _elements(memory.bytes, run.size(base.type, node))
    if name in ("size", "numel", "sizes", "stride", "dim", "ndimension") and memory.bytes is None:
        shape = _of_tensor(run, memory, name, values, node)
        if shape is not None:
            return shape
    if name in ("size", "numel"):
        arguments = [str(value.number) for value in values if isinstance(value, HostScalar)]
        return run.unknown("_".join([memory.name, name, *arguments]), "int", node)
    if name in ("resize", "reserve", "assign") and values and isinstance(values[0], HostScalar):
        memory.bytes = scalars.binary("*", values[0], run.size(base.type, node))
        if len(values) > 1:
            memory.contents = memory.contents.with_all(values[1])
        return None
    if name in ("contiguous", "cuda", "to", "clone", "detach", "view", "reshape", "flatten"):
        return base
    if name not in _READING_METHODS:
        memory.contents = memory.contents.changed()
    return None


def _elements(size: HostScalar, element: HostScalar) -> HostScalar:
    if element.is_known:
        return scalars.quotient(size, int(element.number))
    return scalars.binary("/", size, element)


def _new_tensor(contents: ArrayContents) -> _Known:
    """`torch::empty` and others, which take the extents in braces."""

    def make(run: Run, values: Sequence[Object | None], node: Node) -> Object | None:
        given = value_at(values, 0)
        extents: tuple[HostScalar, ...] = ()
        if isinstance(given, Listed):
            extents = tuple(item for item in given.items if isinstance(item, HostScalar))
        elif isinstance(given, ArrayPointer):
            extents = given.memory.extents
        if not extents and not isinstance(given, ArrayPointer):
            return None
        memory = HostArray("", None, run.place(node), contents=contents, extents=extents)
        if isinstance(given, ArrayPointer):
            memory.may_have_more_axes = given.memory.may_have_more_axes
            memory.has_channels_last = given.memory.has_channels_last
        return ArrayPointer(memory)

    return make


_NOTHING = ArrayContents()
_ZEROS = _NOTHING.zeroed(is_whole=True)
_CALLS: Mapping[str, _Known] = {
    "empty": _new_tensor(_NOTHING),
    "empty_like": _new_tensor(_NOTHING),
    "zeros": _new_tensor(_ZEROS),
    "zeros_like": _new_tensor(_ZEROS),
    "ones": _new_tensor(_NOTHING.with_all(constant(1))),
    "ones_like": _new_tensor(_NOTHING.with_all(constant(1))),
    "malloc": _host_memory,
    "calloc": _cleared_memory,
    "aligned_alloc": _aligned_memory,
    "cudaMallocPitch": _allocate_pitched,
    "cudaMemcpy": _copy,
    "cudaMemcpyAsync": _copy,
    "memcpy": _copy,
    "memmove": _copy,
    "fill": _fill_range,
    "cudaMemset": _set,
    "cudaMemsetAsync": _set,
    "memset": _set,
    "cudaMemcpyToSymbol": _copy_to_symbol,
    "cudaMemcpyToSymbolAsync": _copy_to_symbol,
    "cudaHostGetDevicePointer": _device_pointer,
    "rand": _random,
    "random": _random,
    "drand48": _random_float,
    "cudaDeviceGetAttribute": _device_attribute,
    "cudaGetDeviceCount": _answer(1),
    "cudaGetDevice": _answer(0),
    "cudaDriverGetVersion": _answer(_CUDA),
    "cudaRuntimeGetVersion": _answer(_CUDA),
}

"""Generated C++ after a source: a kernel that calls a function for each element of its results.

The types of parameters and result come from the compiler, by way of the function's address; where it has overloads,
from their declarations. The kernel takes every buffer as `void*`, so that it compiles whatever the buffers hold. It
leaves a table of the types that it found in the compiled code (`SIGNATURE`), with which the buffers are compared
before anything runs. The text follows the user's under a `#line` of its own, so that lines of the source stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import field

from gpuregress.foundation.records import HARNESS_FILE, HARNESS_KERNEL, FunctionArgument, TypeKind
from gpuregress.gpu.records import Record
from gpuregress.toolchain.functions.overloads import FunctionInstance

NOTHING = "\n"
"""A harness that calls nothing: the source is compiled, and none of its templates is instantiated.

As `DIRECTIVES`, it is blank, because words of a harness are taken for names of the source that are asked for; and not
empty, because the key of the program has it.
"""
DIRECTIVES = "\n\n"
"""A harness with which the directives of the source and its headers are compiled alone, to find missing headers."""
SIGNATURE = "gpuregress_signature"
TYPE = "gpuregress_type_{}"
"""A variable whose debug information tells a type: of the result, then of the parameters; a pointer to it."""
WITH_TYPES = "GPUREGRESS_TYPES"
"""The macro with which those variables are compiled."""

Passing = Literal["value", "reference", "pointer"]
_PASSING: tuple[Passing, ...] = ("value", "reference", "pointer")
KINDS: tuple[TypeKind, ...] = ("void", "bool", "int", "uint", "float", "pointer", "enum", "class")
_FIELDS = 4


class CompiledType(Record):
    """A parameter or a result, as the compiler sees it.

    Attributes:
        passing: by value, by reference or as a pointer.
        kind: of the value that is passed, referred to or pointed to.
        size: its bytes.
        const: whether the function may not write it.
    """

    passing: Passing
    kind: TypeKind
    size: int
    const: bool


class KernelSettings(Record):
    """The form of the calls.

    Attributes:
        scope: `thread`: each thread makes a call; `block`: each block.
        per_thread: the buffers of which each thread of a block takes its own element.
        result_per_thread: whether each thread of a block stores its own result.
        shared: parameter → the elements of shared memory that it points to.
        number_types: parameter that is given a number → the type in which the number travels.
    """

    scope: Literal["thread", "block"] = "thread"
    per_thread: frozenset[str] = frozenset()
    result_per_thread: bool = False
    shared: Mapping[str, int] = field(default_factory=dict)
    number_types: Mapping[str, str] = field(default_factory=dict)


TYPES = """
namespace gpuregress_harness {
typedef unsigned long long index;
template <typename T> struct bare { typedef T type; };
template <typename T> struct bare<const T> { typedef T type; };
template <typename T> struct bare<volatile T> { typedef T type; };
template <typename T> struct bare<const volatile T> { typedef T type; };
template <typename T> struct bare<T&> : bare<T> {};
template <typename T> struct bare<T&&> : bare<T> {};
template <unsigned I, typename... P> struct at;
template <typename F, typename... P> struct at<0, F, P...> { typedef F type; };
template <unsigned I, typename F, typename... P> struct at<I, F, P...> : at<I - 1, P...> {};
template <typename R, typename... P> struct signature {
    typedef R result;
    template <unsigned I> struct parameter : at<I, P...> {};
};
template <typename R, typename... P> __device__ signature<R, P...> of(R (*)(P...));
template <typename T> __device__ T&& value_of();
template <typename T> struct argument {
    static __device__ const T& get(void* p, index i) { return static_cast<const T*>(p)[i]; }
};
template <typename T> struct argument<T&> {
    static __device__ T& get(void* p, index i) { return static_cast<T*>(p)[i]; }
};
template <typename T> struct argument<T&&> {
    static __device__ T&& get(void* p, index i) { return static_cast<T&&>(static_cast<T*>(p)[i]); }
};
template <typename T> struct argument<T*> {
    static __device__ T* get(void* p, index) { return static_cast<T*>(p); }
};
template <typename R> struct sink {
    typename bare<R>::type* to;
    index at;
    __device__ const sink& begin() const { return *this; }
    template <typename V> __device__ void operator,(V&& value) const { if (to) to[at] = value; }
};
template <> struct sink<void> {
    void* to;
    index at;
    __device__ void begin() const {}
};
template <typename T> struct pointee { typedef T type; };
template <typename T> struct pointee<T*> { typedef T type; };
template <typename T> struct pointee<T&> : pointee<T> {};
template <typename T> struct pointee<T&&> : pointee<T> {};
template <typename T> struct passing { enum : unsigned { code = 0 }; };
template <typename T> struct passing<T&> { enum : unsigned { code = 1 }; };
template <typename T> struct passing<T&&> { enum : unsigned { code = 1 }; };
template <typename T> struct passing<T*> { enum : unsigned { code = 2 }; };
template <typename T> struct fixed { enum : unsigned { code = 0 }; };
template <typename T> struct fixed<const T> { enum : unsigned { code = 1 }; };
template <typename T> struct kind { enum : unsigned { code = __is_enum(T) ? 6 : 7, size = sizeof(T) }; };
template <> struct kind<void> { enum : unsigned { code = 0, size = 0 }; };
template <typename T> struct kind<T*> { enum : unsigned { code = 5, size = sizeof(T*) }; };
template <> struct kind<bool> { enum : unsigned { code = 1, size = 1 }; };
#define GPUREGRESS_KIND(type, number) \\
    template <> struct kind<type> { enum : unsigned { code = number, size = sizeof(type) }; };
GPUREGRESS_KIND(char, 2) GPUREGRESS_KIND(signed char, 2) GPUREGRESS_KIND(short, 2) GPUREGRESS_KIND(int, 2)
GPUREGRESS_KIND(long, 2) GPUREGRESS_KIND(long long, 2)
GPUREGRESS_KIND(unsigned char, 3) GPUREGRESS_KIND(unsigned short, 3) GPUREGRESS_KIND(unsigned, 3)
GPUREGRESS_KIND(unsigned long, 3) GPUREGRESS_KIND(unsigned long long, 3)
GPUREGRESS_KIND(float, 4) GPUREGRESS_KIND(double, 4)
#undef GPUREGRESS_KIND
}
"""

_TABLE_ROW = """    gpuregress_harness::passing<{type}>::code,
    gpuregress_harness::kind<gpuregress_harness::bare<gpuregress_harness::pointee<{type}>::type>::type>::code,
    gpuregress_harness::kind<gpuregress_harness::bare<gpuregress_harness::pointee<{type}>::type>::type>::size,
    gpuregress_harness::fixed<gpuregress_harness::pointee<{type}>::type>::code,"""


def kernel_text(instance: FunctionInstance, arguments: Sequence[FunctionArgument], settings: KernelSettings) -> str:
    """Write the kernel that calls a function.

    Args:
        instance: the function.
        arguments: what it is given.
        settings: the form of the calls.
    """
    is_block = settings.scope == "block"
    linear = "threadIdx.x + blockDim.x * (threadIdx.y + (unsigned long long)blockDim.y * threadIdx.z)"
    threads = "((unsigned long long)blockDim.x * blockDim.y * blockDim.z)"
    call = "blockIdx.x" if is_block else f"blockIdx.x * {threads} + gpuregress_thread"
    per_call = "gpuregress_call_number"
    per_thread = f"gpuregress_call_number * {threads} + gpuregress_thread"
    pointers: list[str] = []
    numbers: list[str] = []
    shared: list[str] = []
    values: list[str] = []
    for at, argument in enumerate(arguments):
        values.append(_given(at, argument, per_thread if argument.name in settings.per_thread else per_call))
        if argument.given == "buffer":
            pointers.append(f"void* gpuregress_p{at}")
        elif argument.given == "parameter":
            numbers.append(f"{settings.number_types[argument.name]} gpuregress_p{at}")
        else:
            pointee = f"gpuregress_harness::pointee<{parameter_type(at)}>::type"
            shared.append(f"    __shared__ {pointee} gpuregress_p{at}[{settings.shared[argument.name]}];")
    parameters = ", ".join(["void* gpuregress_result", *pointers, *numbers, "unsigned long long gpuregress_calls"])
    slot = per_thread if settings.result_per_thread else per_call
    stores = "true" if not is_block or settings.result_per_thread else "gpuregress_thread == 0"
    types = ["gpuregress_harness::tested::result", *map(parameter_type, range(len(arguments)))]
    lines = [
        *beginning(instance, len(arguments)),
        f'extern "C" __device__ unsigned int {SIGNATURE}[] = {{',
        *(_TABLE_ROW.format(type=type_) for type_ in types),
        "};",
        f"#ifdef {WITH_TYPES}",
        *(_type_variable(number, type_) for number, type_ in enumerate(types)),
        "#endif",
        f'extern "C" __global__ void {HARNESS_KERNEL}({parameters})',
        "{",
        *shared,
        f"    const unsigned long long gpuregress_thread = {linear};",
        f"    const unsigned long long gpuregress_call_number = {call};",
        "    if (gpuregress_call_number >= gpuregress_calls) return;",
        "    typedef gpuregress_harness::tested::result gpuregress_type;",
        "    typedef gpuregress_harness::bare<gpuregress_type>::type gpuregress_stored;",
        "    const gpuregress_harness::sink<gpuregress_type> gpuregress_sink = {",
        f"        {stores} ? static_cast<gpuregress_stored*>(gpuregress_result) : 0, {slot}}};",
        f"    gpuregress_sink.begin(), ::{instance.name}({', '.join(values)});",
        "}",
    ]
    return "\n".join(lines) + "\n"


def beginning(instance: FunctionInstance, count: int) -> list[str]:
    """Write the text up to the type `gpuregress_harness::tested`, the function's signature.

    Args:
        instance: the function.
        count: the arguments that it is given.
    """
    lines = ["", f'#line 1 "{HARNESS_FILE}"', TYPES.strip()]
    if not instance.overloaded:
        tested = f"decltype(gpuregress_harness::of(&::{instance.name}))"
        return [*lines, f"namespace gpuregress_harness {{ typedef {tested} tested; }}"]
    spaces = [space for space in instance.function.namespace.split("::") if space]
    types = [type_ for _, type_ in instance.parameters]
    given = ", ".join(f"gpuregress_harness::value_of<{type_}>()" for type_ in types[:count])
    result = f"decltype(::{instance.name}({given}))"
    signature = ", ".join([result, *types])
    typed = f"typedef ::gpuregress_harness::signature<{signature}> gpuregress_tested;"
    opened = "".join(f"namespace {space} {{ " for space in spaces)
    inner = "::".join(["", *spaces, "gpuregress_tested"])
    lines.append(f"{opened}{typed}{' }' * len(spaces)}")
    return [*lines, f"namespace gpuregress_harness {{ typedef {inner} tested; }}"]


def parameter_type(at: int) -> str:
    """Write the type of a parameter, by its number."""
    return f"gpuregress_harness::tested::parameter<{at}>::type"


def _type_variable(number: int, type_: str) -> str:
    bare = f"gpuregress_harness::bare<gpuregress_harness::pointee<{type_}>::type>::type"
    return f'extern "C" __device__ {bare}* {TYPE.format(number)} = 0;'


def _given(at: int, argument: FunctionArgument, element: str) -> str:
    """One argument of the call."""
    if argument.given == "shared":
        return f"gpuregress_p{at}"
    if argument.given == "parameter":
        return f"static_cast<gpuregress_harness::bare<{parameter_type(at)}>::type>(gpuregress_p{at})"
    return f"gpuregress_harness::argument<{parameter_type(at)}>::get(gpuregress_p{at}, {element})"


def signature(ptx: str) -> tuple[CompiledType, ...] | None:
    """Read the types of a function from the compiled kernel that calls it: the result's, then the parameters'.

    Args:
        ptx: the compiled source.

    Returns:
        None where the table is not there.
    """
    rows = table(ptx, SIGNATURE, _FIELDS)
    return tuple(CompiledType(_PASSING[row[0]], KINDS[row[1]], row[2], bool(row[3])) for row in rows) or None


def table(ptx: str, name: str, columns: int) -> list[list[int]]:
    """Read a table of unsigned constants from a compiled source; empty where it is not there.

    Args:
        ptx: the compiled source.
        name: of the variable.
        columns: numbers of a row.
    """
    match = re.search(rf"\.(b8|[bu]32)\s+{name}\[(\d+)\]\s*=\s*\{{([^}}]*)\}}", ptx)
    if match is None:
        return []
    numbers = [int(word, 0) for word in match[3].split(",")]
    numbers += [0] * (int(match[2]) - len(numbers))  # zeros at the end are left out
    if match[1] == "b8":
        numbers = [int.from_bytes(numbers[at : at + 4], "little") for at in range(0, len(numbers), 4)]
    return [numbers[at : at + columns] for at in range(0, len(numbers), columns)]

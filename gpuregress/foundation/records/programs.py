"""Records of kernel sources, of compiled programs and of devices."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Literal

from msgspec import field

from gpuregress.foundation.records.rules import Rule
from gpuregress.gpu.records import Record


class PythonKernel(Record):
    """A function in Python of which a compiler makes PTX.

    Attributes:
        language: `triton`, `numba` and `warp` compile the function; `python`: it returns PTX.
        function: its name in the file.
        signature: parameter → its type in the compiler's words, in the function's order.
        constants: parameter → the value that is compiled in; for `python`, what it is called with.
        settings: `num_warps`, `num_stages`, `num_ctas`, and further options of the compiler.
        arguments: where the function has heuristics, parameter → the number that its launches pass, or the shape of the
            buffer.
    """

    language: Literal["triton", "numba", "warp", "python"]
    function: str
    signature: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, bool | int | float | str | None] = field(default_factory=dict)
    settings: Mapping[str, bool | int | float | str] = field(default_factory=dict)
    arguments: Mapping[str, bool | int | float | tuple[int, ...] | None] = field(default_factory=dict)

    @property
    def words(self) -> tuple[str, ...]:
        """Write what it is compiled with as options: `x: *fp32`, `BLOCK=1024`, `num_warps=4`."""
        types = tuple(f"{name}: {text}" for name, text in self.signature.items())
        return (*types, *(f"{name}={value}" for name, value in {**self.constants, **self.settings}.items()))


class Source(Record):
    """A kernel source and the options of its compilation.

    Attributes:
        path: absolute; `.cu`, `.ptx`, `.cubin`, or `.py`.
        options: handed to NVRTC.
        include: absolute folders.
        defines: macro → its text.
        contract: `pinned` or `native`.
        arch: `sm_90`.
        kernels: the C++ names that must be there.
        symbols: the variables that must be there.
        digest: of its text and of all that it includes when it was planned; "": it may be what it is.
        harness: C++ text after the source that calls a device function; then `kernels` has that function's name alone.
        card: the architecture whose tensor cores the CPU device emulates, `sm_80`; "": its own.
        python: the function of a `.py` that becomes the program; None for other sources.
        host_code: `blank`: NVRTC gets the source and the project's headers without host code; `keep`: as they are.
        files: of a whole program, which is run and not compiled: the files that stand for it, absolute.
    """

    path: str
    options: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict)
    contract: Literal["pinned", "native"] = "pinned"
    arch: str = "sm_90"
    kernels: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    digest: str = ""
    harness: str = ""
    card: str = ""
    python: PythonKernel | None = None
    host_code: Literal["blank", "keep"] = "blank"
    files: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its file's name, with the function after it where that is the source: `softmax.py:softmax_kernel`."""
        file = os.path.basename(self.path)  # noqa: PTH119 - text in, text out
        return file if self.python is None else f"{file}:{self.python.function}"


CallScope = Literal["thread", "block"]
Given = Literal["buffer", "parameter", "shared"]
HARNESS_KERNEL = "gpuregress_call"
"""The kernel that calls a function under test, in the compiled code."""


class FunctionArgument(Record):
    """An argument of a function under test.

    Attributes:
        name: of the parameter, and of the buffer or the job's parameter that it is given.
        type: of the parameter, in C++, with the template arguments put in.
        given: a buffer, the value of a parameter of the job, or shared memory.
        each: for a buffer: whether each call takes its own element, and not all of the buffer.
    """

    name: str
    type: str
    given: Given
    each: bool = False


class FunctionCall(Record):
    """The calls of a function under test: one for each element of its results.

    Attributes:
        name: as the log has it, with template arguments: `clampz<float>`.
        declared: as the source declares it: `clampz<T>(T, T, T)`.
        arguments: in order, without those that keep their defaults.
        calls: their number.
        scope: `block`: all threads of a block make one call together.
        threads: of a block.
        result: the buffer that holds what is returned; "": nothing is returned.
        host: the C++ text after the source that calls it on the host; "": it is not asked for.
        library: the functions of the mathematical library that it calls, where its host twin is asked for.
        returns: the type of what is returned, as the source writes it.
    """

    name: str
    declared: str
    arguments: tuple[FunctionArgument, ...]
    calls: int
    scope: CallScope = "thread"
    threads: int = 1
    result: str = ""
    host: str = ""
    library: tuple[str, ...] = ()
    returns: str = ""


# --- whole programs that a case runs in place of launches -------------------------------------------------------------

PROGRAM_LAUNCHES = 1_000_000_000
"""Numbers of the launch log that are kept for the launches of one program, whose count nobody knows before."""
MOST_PROCESSES = 100
"""Processes of a program that have launch numbers, and buffers, of their own."""
UNTYPED = "uint8"
"""The element type of a buffer of which the job says nothing."""

_SET = "sync"


def in_set(buffer: str, number: int) -> str:
    """Name a buffer in the set of a synchronisation: `sync2_alloc1`."""
    return f"{_SET}{number}_{buffer}"


def without_set(buffer: str) -> str:
    """Return a buffer's own name: `alloc1` for `sync2_alloc1`."""
    prefix, _, name = buffer.partition("_")
    is_in_set = prefix.startswith(_SET) and prefix.removeprefix(_SET).isdecimal()
    return name if is_in_set and name else buffer


def pattern_of(buffer: str, patterns: Iterable[str]) -> str | None:
    """Choose the pattern that a buffer of a program has; None where none fits.

    Its name as it is comes first, then its name without its set, then the patterns in their order.
    """
    names = tuple(dict.fromkeys((buffer, without_set(buffer))))
    patterns = tuple(patterns)
    for name in names:
        if name in patterns:
            return name
    for pattern in patterns:
        if any(fnmatchcase(name, pattern) for name in names):
            return pattern
    return None


class WholeProgram(Record):
    """A whole CUDA program, which a case runs in place of launches.

    Attributes:
        command: the program, absolute where it is a file, and its arguments.
        folder: in which it runs, absolute.
        environment: variables beside those of the harness.
        dumps: `exit`: each buffer as it is when the program frees it or ends; `synchronize`: all buffers at each
            synchronisation after a launch.
        dump: names and patterns of the buffers that are dumped.
        dtypes: name or pattern of a buffer → the type of its elements; bytes without one.
        compare: name or pattern of a buffer → its rule.
        defaults: dtype → the project's rule, for buffers that `compare` does not name.
    """

    command: tuple[str, ...]
    folder: str
    environment: Mapping[str, str] = field(default_factory=dict)
    dumps: Literal["exit", "synchronize"] = "exit"
    dump: tuple[str, ...] = ("*",)
    dtypes: Mapping[str, str] = field(default_factory=dict)
    compare: Mapping[str, Rule] = field(default_factory=dict)
    defaults: Mapping[str, Rule] = field(default_factory=dict)

    def dtype_of(self, buffer: str) -> str | None:
        """Return the element type that the job gives a buffer; None where it gives none."""
        pattern = pattern_of(buffer, self.dtypes)
        return None if pattern is None else self.dtypes[pattern]

    def rule_of(self, buffer: str, dtype: str) -> Rule:
        """Return the rule of a buffer: the job's, the project's for its type, or that every bit must be equal."""
        pattern = pattern_of(buffer, self.compare)
        if pattern is not None:
            return self.compare[pattern]
        return self.defaults.get(dtype, Rule())

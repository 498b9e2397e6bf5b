"""The pairs: a kernel with a planted error, its clean twin, how both are launched, and what is to be found.

All of it stands in `cuda/*.cu`. A kernel is compiled twice, with and without `-DPLANTED`. The comment above it says
what is wrong, then `race of words; grid 2, block 64`: the kinds of fault that are right (`race or uninitialized`), the
variable, and the launch. Words in parentheses behind the variable are the class of a pair whose verdict is a choice.
`n = 50` gives a scalar, `scratch: unwritten` leaves a buffer as it was allocated. `s: surface of y, 32 32` makes a
surface of the buffer y, 32 texels wide; `t: layered texture of y, 16 16 4, linear` has layers and a linear filter.

The comments `// first` and `// second` mark the lines of the two accesses that a finding may name, or of the barrier.
`// first of KERNEL` does so outside the kernel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpuregress.foundation.records import Dim3, Source, Texture

FOLDER = Path(__file__).with_name("cuda")
ARCH = "sm_90a"
CLASSES = {
    "warp-synchronous": "a converged warp runs it right; a fault with `--check races`, without it a note",
    "same value": "all writes store the same value: a race by the PTX memory model, a warning of racecheck",
    "volatile": "all accesses are volatile, thus strong: no data race by the PTX memory model, but no order either",
    "mixed sizes": "atomics that overlap in part: a race by the PTX memory model",
    "one-sided fence": "the reader's fence is missing; as samples are written, a race by the PTX memory model",
    "fence before barrier": "the clean twin is an idiom that works, but no release pattern of the PTX memory model",
    "proxy fence": "ordered but for fence.proxy.async: a race by the PTX memory model",
    "whole warps": "warps wait at different barriers: undefined by CUDA, defined by PTX as waiting at one barrier",
    "exited threads": "threads have returned before the barrier: hardware counts them as arrived",
    "ended block": "no barrier keeps the block whose memory is read: undefined, and no two accesses in conflict",
    "undefined lane": "a shuffle reads a lane that does not take part: the value is undefined",
}
"""Class → why the verdict of its pairs is a choice."""

_PAIR = re.compile(
    r"^/// (?P<text>[^\n]*)\n(?P<facts>(?://[^\n]*\n)+)"
    r'extern "C" __global__ void (?:__cluster_dims__\((?P<cluster>[^)]*)\) )?(?P<name>\w+)\((?P<parameters>[^)]*)\)\n',
    re.MULTILINE,
)
_EXPECTED = re.compile(r"^(?P<kinds>[a-z-]+(?: or [a-z-]+)*)(?: of (?P<variable>\w+))?(?: \((?P<variant>[^)]+)\))?$")
_MARK = re.compile(r"// (?P<which>(?:first|second)(?: second)?)(?: of (?P<name>\w+))?$")
_IMAGE = re.compile(
    r"(?P<kinds>(?:\w+ )*)(?P<object>texture|surface) of (?P<memory>\w+), (?P<extents>[\d ]+)(?P<more>.*)"
)
_PARAMETER = re.compile(r"(?P<type>.*?)(?P<pointer>\*?)\s*(?P<name>\w+)$")


@dataclass(frozen=True, slots=True)
class Image:
    """A texture or surface of a buffer.

    Attributes:
        memory: the parameter that is the buffer.
        extents: width, height, depth or layers; 0 where there is none.
        sampler: how it is read.
    """

    memory: str
    extents: Dim3
    sampler: Texture


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a kernel: a scalar, a texture or surface, or a pointer to a buffer that a `const` one only reads.

    Attributes:
        name: as declared.
        type: the C++ type of the scalar, or of the buffer's elements.
        is_buffer: whether it is a pointer.
        is_input: whether it points to `const`.
        is_unwritten: whether the buffer has no content before the launch.
        value: of a scalar.
        image: of a texture or surface.
    """

    name: str
    type: str
    is_buffer: bool
    is_input: bool
    is_unwritten: bool
    value: int
    image: Image | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """A planted error and its clean twin.

    Attributes:
        program: the file's name without `.cu`.
        name: the kernel's.
        text: what it does, or what is wrong with it.
        kinds: the kinds of fault, each of which is right.
        variable: the shared array, buffer or module's variable; `heap`; "" where there is none.
        variant: of `CLASSES`, "" for most.
        grid: blocks along x, y, z.
        block: threads along x, y, z.
        shared: dynamic shared memory, bytes.
        cluster: blocks of a cluster along x, y, z, as the kernel says.
        is_cooperative: whether it needs a cooperative launch.
        parameters: in order.
        first: lines of one access, or of the barrier; counted from 1.
        second: lines of the other access; none where one line says it all.
    """

    program: str
    name: str
    text: str
    kinds: tuple[str, ...]
    variable: str
    variant: str
    grid: Dim3
    block: Dim3
    shared: int
    cluster: Dim3
    is_cooperative: bool
    parameters: tuple[Parameter, ...]
    first: frozenset[int]
    second: frozenset[int]


def programs() -> tuple[str, ...]:
    """Every file of `cuda/`, without `.cu`."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.cu")))


@cache
def pairs(program: str) -> tuple[Pair, ...]:
    """A file's pairs, in its order."""
    text = (FOLDER / f"{program}.cu").read_text(encoding="utf-8")
    lines = text.splitlines()
    result = []
    for match in _PAIR.finditer(text):
        begin = text.count("\n", 0, match.end())
        end = lines.index("}", begin)
        result.append(_pair(program, match, _marks(lines, match["name"], begin, end)))
    return tuple(result)


def every_pair() -> tuple[Pair, ...]:
    """All pairs of all files."""
    return tuple(pair for program in programs() for pair in pairs(program))


def source(program: str, *, planted: bool, kernels: tuple[str, ...] = ()) -> Source:
    """A file to compile: all of its kernels, or the named ones."""
    names = kernels or tuple(pair.name for pair in pairs(program))
    options = ("-lineinfo", *(("-DPLANTED",) if planted else ()))
    return Source(str(FOLDER / f"{program}.cu"), options=options, arch=ARCH, kernels=names)


def _pair(program: str, match: re.Match[str], marks: tuple[frozenset[int], frozenset[int]]) -> Pair:
    facts = [line.removeprefix("// ") for line in match["facts"].splitlines()]
    expected, _, launch = facts[0].partition("; ")
    found = _EXPECTED.match(expected)
    assert found is not None, f"{program}.cu: {match['name']}: {expected!r}"
    shape = dict(item.partition(" ")[::2] for item in launch.split(", "))
    return Pair(
        program=program,
        name=match["name"],
        text=match["text"],
        kinds=tuple(found["kinds"].split(" or ")),
        variable=found["variable"] or "",
        variant=found["variant"] or "",
        grid=_dim3(shape.get("grid", "1")),
        block=_dim3(shape["block"]),
        shared=int(shape.get("shared", "0")),
        cluster=_dim3((match["cluster"] or "1").replace(",", "")),
        is_cooperative="cooperative" in shape,
        parameters=tuple(_parameter(text, facts[1:]) for text in re.split(r",\s+", match["parameters"])),
        first=marks[0],
        second=marks[1],
    )


def _marks(lines: list[str], name: str, begin: int, end: int) -> tuple[frozenset[int], frozenset[int]]:
    """The marked lines of a kernel whose body is lines[begin:end]."""
    found: dict[str, set[int]] = {"first": set(), "second": set()}
    for number, line in enumerate(lines, 1):
        match = _MARK.search(line)
        if match and (match["name"] == name if match["name"] else begin < number <= end):
            for which in match["which"].split():
                found[which].add(number)
    return frozenset(found["first"]), frozenset(found["second"])


def _parameter(text: str, facts: list[str]) -> Parameter:
    match = _PARAMETER.match(text.strip())
    assert match is not None, text
    name, kind = match["name"], match["type"].strip()
    values = [int(fact.removeprefix(f"{name} = ")) for fact in facts if fact.startswith(f"{name} = ")]
    return Parameter(
        name=name,
        type=kind.removeprefix("const "),
        is_buffer=bool(match["pointer"]),
        is_input=kind.startswith("const "),
        is_unwritten=f"{name}: unwritten" in facts,
        value=values[0] if values else 0,
        image=next(
            (
                _image(fact.partition(": ")[2])
                for fact in facts
                if kind.endswith("Object_t") and fact.startswith(f"{name}: ")
            ),
            None,
        ),
    )


def _image(text: str) -> Image:
    match = _IMAGE.fullmatch(text)
    assert match is not None, text
    kinds, more = match["kinds"].split(), match["more"].removeprefix(", ")
    sampler = Texture(
        filter="linear" if more == "linear" else "point",
        address=("wrap",) * 3 if "normalized" in kinds else ("clamp",) * 3,
        normalized="normalized" in kinds,
        memory="linear" if more == "linear memory" else "array",
        surface=match["object"] == "surface",
        kind="layered" if "layered" in kinds else "plain",
    )
    sizes = [int(word) for word in match["extents"].split()] + [0, 0]
    return Image(match["memory"], (sizes[0], sizes[1], sizes[2]), sampler)


def _dim3(text: str) -> Dim3:
    sizes = [int(word) for word in text.split()] + [1, 1]
    return (sizes[0], sizes[1], sizes[2])

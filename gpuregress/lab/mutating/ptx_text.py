"""Text of PTX: instructions with their offsets, code without line information, idle kernels."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

from gpuregress.gpu.records import Record
from gpuregress.lab.mutating.mutants import Edit, apply

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NOT_NEWLINE = re.compile(r"[^\n]")
_FUNCTION = re.compile(r"\.(?P<kind>entry|func)\b(?:\s*\([^)]*\))?\s*(?P<name>[\w$]+)")
_LABEL = re.compile(r"[\w$%]+\s*:(?!:)")
_INSTRUCTION = re.compile(
    r"(?:@(?P<guard>!?%?[\w$]+)\s+)?(?P<opcode>[a-z][\w]*(?:\.[\w]+(?:::\w+)*)*)"
    r"\s*(?P<operands>[^;{}]*(?:\{[^{}]*\}[^;{}]*)*);"
)
_SHARED_ARRAY = re.compile(r"\.shared\b[^;=]*?\.(?P<type>[bsuf]\d+)\s+(?P<name>[\w$]+)\s*\[(?P<size>\d+)\]")
_NUMBERED_REGISTER = re.compile(r"(%[a-z]+)\d+\b")
_INTEGER = re.compile(r"(?<![\w%$.])-?(?:0[xX][0-9a-fA-F]+|\d+)\b")
_DECLARED = re.compile(r"\.reg\s*\.(?P<type>\w+)\s+(?P<names>[^;]+);")
_LINE_ONLY = (".loc", ".file", ".pragma", ".section", ".branchtargets")
_DEBUG = re.compile(r"^\s*\.(?:loc|file)\b|^\s*\$L__tmp\d+:\s*$|^\s*$")
_SECTION = re.compile(r"\.section\s+\.debug\w*\s*\{[^}]*\}", re.DOTALL)


class Operand(Record):
    """An operand's text and its offset."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset after it."""
        return self.start + len(self.text)


class PtxInstruction(Record):
    """An instruction.

    Attributes:
        start: offset of its guard, or of its opcode.
        opcode_at: offset of its opcode.
        end: offset after its semicolon.
        guard: `%p1`, `!%p1`, "" without one.
        opcode: with its modifiers.
        operands: in order.
        location: the last `.loc` before it, with the calls that it is inlined into, "" without line information.
    """

    start: int
    opcode_at: int
    end: int
    guard: str
    opcode: str
    operands: tuple[Operand, ...]
    location: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The opcode and its modifiers."""
        return tuple(self.opcode.split("."))

    @property
    def type(self) -> str:
        """The last modifier, mostly the type of its operands."""
        return self.words[-1]

    @property
    def shape(self) -> tuple[str, ...]:
        """The guard, the opcode and the operands, without numbers of registers and values of integers."""
        texts = [self.guard, self.opcode, *[operand.text for operand in self.operands]]
        return tuple(_INTEGER.sub("0", _NUMBERED_REGISTER.sub(r"\1", text)) for text in texts)

    @property
    def expression(self) -> str:
        """The expression of the source that it is compiled from: its location, "" where that is a line or nothing."""
        file_line_column = self.location.split()[:3]
        if len(file_line_column) < 3 or file_line_column[2] in ("0", "1"):
            return ""
        return self.location


class PtxText:
    """The text of a PTX module.

    Args:
        text: as the module's file holds it.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.bare = _COMMENT.sub(lambda match: _NOT_NEWLINE.sub(" ", match[0]), text)

    @cached_property
    def bodies(self) -> tuple[tuple[str, str, int, int], ...]:
        """Kind (`entry`, `func`), name, start and end of each function that has a body."""
        bodies = []
        for match in _FUNCTION.finditer(self.bare):
            opening = re.compile(r"[;{]").search(self.bare, match.end())
            if opening is not None and opening[0] == "{":
                bodies.append((match["kind"], match["name"], opening.end(), self._closing(opening.end())))
        return tuple(bodies)

    @cached_property
    def register_types(self) -> Mapping[str, str]:
        """Name of a register, without the number of a parameterised one → its type, where the module has one alone."""
        types_of: dict[str, set[str]] = {}
        for match in _DECLARED.finditer(self.bare):
            for name in match["names"].split(","):
                types_of.setdefault(name.partition("<")[0].strip().rstrip("0123456789"), set()).add(match["type"])
        return {name: types.pop() for name, types in types_of.items() if len(types) == 1}

    def instructions(self, entries: Collection[str]) -> Iterator[PtxInstruction]:
        """Yield the instructions of some kernels, and of all device functions."""
        for kind, name, start, end in self.bodies:
            if _is_run(kind, name, entries):
                yield from self.within(start, end)

    def shared_arrays(self, entries: Collection[str]) -> Iterator[re.Match[str]]:
        """Yield the declarations of shared arrays that some kernels or device functions use, with a size.

        Returns:
            Matches with the groups `type`, `name` and `size`.
        """
        code = "".join(self.bare[start:end] for kind, name, start, end in self.bodies if _is_run(kind, name, entries))
        used = set(re.findall(r"[\w$]+", code))
        for match in _SHARED_ARRAY.finditer(self.bare):
            is_run = True
            for kind, name, start, end in self.bodies:
                if start <= match.start() < end and not _is_run(kind, name, entries):
                    is_run = False
            if is_run and match["name"] in used:
                yield match

    def label_at(self, name: str, after: int) -> int:
        """Return the offset of a label after an offset, -1 where there is none."""
        match = re.compile(rf"(?<![\w$]){re.escape(name)}\s*:").search(self.bare, after)
        if match is None:
            return -1
        return match.start()

    def _closing(self, start: int) -> int:
        """Return the offset of the bracket that closes a body, or of the end of the text."""
        depth = 1
        for match in re.compile(r"[{}]").finditer(self.bare, start):
            depth += 1 if match[0] == "{" else -1
            if depth == 0:
                return match.start()
        return len(self.bare)

    def within(self, start: int, end: int) -> Iterator[PtxInstruction]:
        """Yield the instructions between two offsets."""
        bare = self.bare
        location = ""
        position = start
        while position < end:
            if bare[position].isspace() or bare[position] in "{};":
                position += 1
                continue
            if bare[position] == ".":
                is_line = bare.startswith(_LINE_ONLY, position)
                after = self._behind("\n" if is_line else ";", position, end)
                words = bare[position:after].split()
                if words[0] == ".loc":
                    location = " ".join(words[1:])
                position = after
                continue
            label = _LABEL.match(bare, position, end)
            if label is not None:
                position = label.end()
                continue
            match = _INSTRUCTION.match(bare, position, end)
            if match is None:
                position = self._behind(";", position, end)
                continue
            yield _instruction(match, location)
            position = match.end()

    def _behind(self, mark: str, start: int, end: int) -> int:
        """Return the offset after the next mark, or the end of the body."""
        stop = self.bare.find(mark, start, end)
        if stop < 0:
            return end
        return stop + 1


def _is_run(kind: str, name: str, entries: Collection[str]) -> bool:
    """Whether a function may run where these kernels do."""
    return kind == "func" or name in entries


def _instruction(match: re.Match[str], location: str) -> PtxInstruction:
    return PtxInstruction(
        start=match.start(),
        opcode_at=match.start("opcode"),
        end=match.end(),
        guard=match["guard"] or "",
        opcode=match["opcode"],
        operands=tuple(_operands(match["operands"], match.start("operands"))),
        location=location,
    )


def _operands(text: str, offset: int) -> Iterator[Operand]:
    """Split at the commas that are in no brackets."""
    depth = 0
    start = 0
    for position, letter in enumerate((*text, ",")):
        if letter in "[{(":
            depth += 1
        elif letter in "]})":
            depth -= 1
        elif letter == "," and depth == 0:
            part = text[start:position]
            if part.strip():
                yield Operand(part.strip(), offset + start + len(part) - len(part.lstrip()))
            start = position + 1


def code_of(text: str) -> str:
    """Return PTX without comments, line information and empty lines: equal for programs that are the same."""
    lines = _SECTION.sub("", _COMMENT.sub("", text)).splitlines()
    return "\n".join(line.rstrip() for line in lines if not _DEBUG.match(line))


def idle(text: str, entries: Collection[str]) -> str:
    """Return PTX whose kernels do nothing: they return at once.

    Args:
        text: of the module.
        entries: the mangled names of the kernels.
    """
    ptx = PtxText(text)
    returns = []
    for kind, name, start, end in ptx.bodies:
        if kind == "entry" and name in entries:
            starts = [instruction.start for instruction in ptx.within(start, end)]
            first = starts[0] if starts else end
            returns.append(Edit(first, first, "ret;\n\t"))
    return apply(text, returns)


def trap_before(instruction: PtxInstruction) -> Edit:
    """Return the edit that traps where an instruction is executed; the guard is the instruction's own."""
    trap = "trap;\n\t"
    if instruction.guard:
        trap = f"@{instruction.guard} {trap}"
    return Edit(instruction.start, instruction.start, trap)

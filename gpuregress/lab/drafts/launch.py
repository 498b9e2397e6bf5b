"""Draft of a job for a kernel, derived from a launch in host code.

The numbers of the host code become parameters, its formulas expressions. A value that the host code does not tell gets
a guess, and a comment beside it says what is needed.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import MemberLayout
from gpuregress.gpu.records import Record
from gpuregress.jobs.spec import expressions
from gpuregress.lab.drafts import fills
from gpuregress.lab.drafts.compiled import Slot
from gpuregress.lab.drafts.fills import DraftedFill
from gpuregress.lab.drafts.kernel import KernelDraft, default_fill, quoted, shown
from gpuregress.lab.drafts.types import NOTHING, KnownTypes
from gpuregress.lab.host_programs import library, objects, scalars
from gpuregress.lab.host_programs.objects import ArrayPointer, HostArray, HostTexture, Object, SeenLaunch
from gpuregress.lab.host_programs.program import HostFiles
from gpuregress.lab.host_programs.scalars import HostScalar, constant
from gpuregress.toolchain import layouts
from gpuregress.toolchain.cxx_declarations import Declaration

_ELEMENTS = 1024
_GUESSED_BYTES = 4
UNKNOWN_SIZE = "its size, which the host code does not tell"
"""What a comment says of an array whose size is a guess."""
_VECTOR = re.compile(r"(u?char|u?short|u?int|u?longlong|float|double)([1-4])")


class LaunchFacts(Record):
    """What the host code tells of a kernel.

    Attributes:
        launch: of the kernel, or of another one with the same parameters.
        program: the files.
        symbols: `__constant__` and `__device__` variables that the host code fills.
        sizes: of these variables, in elements.
        fixed: names whose values the launch depends on otherwise than by a formula.
        include: folders for the compiler.
        types: what the compiler tells of the program's.
        earlier: launches that the program makes before this one.
    """

    launch: SeenLaunch
    program: HostFiles
    symbols: dict[str, HostArray]
    sizes: dict[str, HostScalar]
    fixed: frozenset[str]
    include: tuple[Path, ...]
    types: KnownTypes = NOTHING
    earlier: tuple[SeenLaunch, ...] = ()


class LaunchDraft(KernelDraft):
    """A job's text.

    Args:
        declaration: the kernel.
        source: its file.
        target: the job's file.
        facts: of the host code.
    """

    def __init__(self, declaration: Declaration, source: Path, target: Path, facts: LaunchFacts) -> None:
        self._facts, self._launch = facts, facts.launch
        chosen, name, guessed = fills.instance_of(declaration, facts.launch)
        super().__init__(
            declaration,
            source,
            target,
            instance=(chosen, name),
            include=facts.include,
            known=facts.types,
            texts=facts.program.texts,
        )
        self._extents = []  # the job's parameters are those of the host code
        self._parameters: dict[HostScalar, str] = {}
        self._guessed = ", ".join(f"{one} = {chosen[one]}" for one in guessed)
        self._notes = [f"the template arguments of {name}: {self._guessed} is a guess"] if guessed else []
        self._arguments = [*self._launch.arguments, *[None] * len(self._named)][: len(self._named)]
        self._guessed_sizes: list[str] = []
        self._random: list[str] = []
        self._unset: dict[str, str] = {}
        self._names = self._buffer_names()
        self._lines = list(self._written())

    @property
    def refusal(self) -> str:
        """Why there can be no job: there is nothing to compare; "" where there is."""
        known = super().refusal
        if known or self._names or self._compiled_kernel.written_variables:
            return known
        if self._compiled_kernel.problem:
            return f"what it writes is not known{self._broken()}"
        return (
            f"the launch at {self._launch.where} gives it no pointer that is not null, so there is nothing to compare"
        )

    @property
    def needed(self) -> tuple[str, ...]:
        """What the host code does not tell, in words."""
        return tuple(dict.fromkeys(self._notes))

    @property
    def guessed_sizes(self) -> tuple[str, ...]:
        """The buffers whose size is a guess and no formula of the program."""
        return tuple(self._guessed_sizes)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the job does otherwise than the program, in words."""
        buffers = ", ".join(dict.fromkeys(self._random))
        first = f"the first turn alone of the loop at {self._loops()}"
        random = f"random numbers, not the program's, are in: {buffers}"
        told = [one for one, holds in ((random, buffers), (first, self._launch.loops)) if holds]
        return (*dict.fromkeys(self._unset.values()), *told)

    def lines(self, others: Sequence[str]) -> Iterator[str]:
        """The job, line by line."""
        del others
        yield from self._lines

    def _written(self) -> Iterator[str]:
        body = [*self._launched()]
        buffers = [*self._buffers(), *self._symbols(), *self._variables()]
        like = "" if self._launch.kernel.rpartition("::")[2] == self._last_name() else f" of {self._launch.kernel}"
        yield f"# A job for {self._declaration}, from the launch{like} at {self._launch.where}."
        if self._launch.conditions:
            yield f"# The program makes it on a condition that is not known, at {', '.join(self._launch.conditions)}."
        if self._launch.loops:
            yield f"# The program makes it in the loop at {self._loops()}: this is the first turn alone."
        for same in self._shared_arrays():
            self._notes.append(f"{same}: one array of the program, which they are not here")
            yield f"# NEEDED: {same} are one array of the program; a job has one for each texture, surface and pointer."
        yield "# Hold every line against what the kernel expects."
        yield from self._compiled()
        if self._parameters:
            yield "parameters:                         # every combination is a case"
            for leaf, name in self._parameters.items():
                yield f"  {name}: [{leaf.number!r}]{self._origin(leaf)}"
        yield "buffers:"
        yield from buffers
        yield "launches:"
        yield from body
        yield from self._dump()
        yield "# compare:                          # nothing said: every bit of every output must be as accepted"
        yield "#   NAME: {rtol: 1.0e-6, atol: 0}"
        yield "limits: {timeout: 60}"

    def _loops(self) -> str:
        return " and ".join(dict.fromkeys(self._launch.loops))

    def _last_name(self) -> str:
        return self._declaration.name.rpartition("::")[2]

    def _origin(self, leaf: HostScalar) -> str:
        if leaf.is_known:
            return f"   # {leaf.where}" if leaf.where else ""
        return f"   # NEEDED: its value; {leaf.number!r} is a guess ({leaf.where or 'the host code'} does not tell)"

    # ---- names and formulas

    def _label(self, leaf: HostScalar) -> str:
        """Name a parameter of the job, or write the number of what decides more than a formula."""
        if leaf.is_known and leaf.name in self._facts.fixed:
            return repr(leaf.number)
        known = self._parameters.get(leaf)
        if known is not None:
            return known
        same = next((one for one in self._parameters if (one.name, one.number) == (leaf.name, leaf.number)), None)
        if same is not None:
            return self._parameters[same]
        base = re.sub(r"\W+", "_", leaf.name).strip("_") or "value"
        base = f"p{base}" if base[0].isdigit() else base
        taken = {*self._parameters.values(), *self._names.values(), *expressions.RESERVED, *self._facts.sizes}
        numbered = (f"{base}_{at}" for at in itertools.count(2))
        name = next(one for one in itertools.chain((base,), numbered) if one not in taken)
        self._parameters[leaf] = name
        if not leaf.is_known:
            self._notes.append(f"{name}: its value ({leaf.where or 'unknown'})")
        return name

    def _formula(self, value: HostScalar) -> str:
        written = scalars.text(value, self._label)
        if len(written) > 400 and value.is_known:
            return repr(value.number)
        return f'"{written}"' if "," in written else written

    def _axes(self, sizes: tuple[HostScalar, HostScalar, HostScalar]) -> str:
        kept = list(sizes)
        while len(kept) > 1 and kept[-1].op == "number" and kept[-1].number == 1:
            kept.pop()
        return ", ".join(map(self._formula, kept))

    # ---- launch

    def _launched(self) -> Iterator[str]:
        guess = f"   # NEEDED: its template arguments; {self._guessed} is a guess" if self._guessed else ""
        yield f"  - kernel: {quoted(self._kernel)}{guess}"
        for key, sizes in (("grid", self._launch.grid), ("block", self._launch.block)):
            if sizes is None:
                guess = "[1]" if key == "grid" else "[256]"
                self._notes.append(f"{key} of {self._last_name()} ({self._launch.where})")
                yield f"    {key}: {guess}   # NEEDED: {self._launch.where} does not tell it"
            else:
                yield f"    {key}: [{self._axes(sizes)}]"
        shared = self._launch.shared
        if shared.number > 0 or not shared.is_known:
            yield f"    shared: {self._formula(shared)}"
        given = [self._given(number) for number in range(len(self._named))]
        yield f"    args: [{', '.join(text for text, _ in given)}]"
        for (name, _), (_, comment) in zip(self._named, given, strict=True):
            if comment:
                yield f"    # {name}: {comment}"

    def _given(self, number: int) -> tuple[str, str]:
        name, one = self._named[number]
        slot = next((slot for slot in self._slots if slot.number == number and not slot.path), None)
        if slot is not None:
            return self._pointer(slot)
        layout = self._layout(one)
        if layout is not None and layouts.is_listed(layout):
            members = [self._given_member(number, field) for field in layout.fields]
            comments = "; ".join(comment for _, comment in members if comment)
            return f"{{struct: [{', '.join(text for text, _ in members)}]}}", comments
        value, dtype = self._arguments[number], self._dtype(one)
        if isinstance(value, HostScalar) and dtype is not None and not _VECTOR.fullmatch(dtype) and dtype[0] != "{":
            return self._number(name, value, dtype)
        spelled = self._launch.texts[number] if number < len(self._launch.texts) else name
        self._notes.append(f"{name}: its value (argument {spelled!r} at {self._launch.where})")
        return self._argument(number), f"NEEDED: its value; {self._launch.where} passes {spelled}"

    def _pointer(self, slot: Slot) -> tuple[str, str]:
        value, buffer = self._value(slot), self._names.get(slot)
        if buffer is None:
            return "null", ""
        if not isinstance(value, ArrayPointer) or value.offset.number == 0:
            return buffer, ""
        size = self._size_of(value.type or value.memory.element)
        offset = self._formula(scalars.binary("*", value.offset, constant(size or _GUESSED_BYTES)))
        guess = "" if size else f"NEEDED: its offset in bytes; elements of {_GUESSED_BYTES} bytes are a guess"
        if guess:
            self._notes.append(f"{slot.name}: its offset in bytes ({self._launch.where})")
        return f"{{pointer: {buffer}, offset: {offset}}}", guess

    def _number(self, name: str, value: HostScalar, dtype: str) -> tuple[str, str]:
        drawn = "" if value.high is None else f"a random number of the program, up to {value.high!r}"
        if "float" in dtype:
            return f"{{{dtype}: {self._formula(scalars.to_float(value))}}}", drawn
        if dtype == "bool":
            guess = "" if value.is_known else f"NEEDED: its value ({value.where or 'unknown'})"
            if guess:
                self._notes.append(f"{name}: its value ({self._launch.where})")
            return f"{{bool: {'true' if value.number else 'false'}}}", guess
        integer = scalars.to_integer(value)
        kept = fills.wrapped(int(integer.number), dtypes.parse(dtype).parts[0].scalar) if integer.is_known else None
        if kept is not None and kept != integer.number and math.isfinite(integer.number):
            return f"{{{dtype}: {kept}}}", drawn
        return f"{{{dtype}: {self._formula(integer)}}}", drawn

    def _given_member(self, number: int, field: MemberLayout) -> tuple[str, str]:
        """Write a member of a structure that is passed by value, and a comment where it is a guess."""
        slot = next((one for one in self._slots if (one.number, one.path) == (number, field.path)), None)
        if slot is not None:
            return self._pointer(slot)
        value, dtype = objects.member_of(self._arguments[number], field.path), layouts.member_dtype(field)
        name = f"{self._named[number][0]}.{field.path}"
        if isinstance(value, HostScalar) and dtype is not None and field.count == 1 and not _VECTOR.fullmatch(dtype):
            return self._number(name, value, dtype)
        self._notes.append(f"{name}: its value ({self._launch.where})")
        return self._member(number, field), f"NEEDED: {field.path}, which {self._launch.where} does not tell"

    def _value(self, slot: Slot) -> Object | None:
        """Return what the host code gives for a pointer."""
        value = self._arguments[slot.number]
        return objects.member_of(value, slot.path) if slot.path else value

    def _size_of(self, type_: str) -> int | None:
        return library.size_of(type_) or self._known.sizes.get(type_)

    def _is_null(self, slot: Slot) -> bool:
        """Whether a null pointer is spelled; a variable that is one may get memory where it is not seen."""
        value = self._value(slot)
        if slot.path:
            return isinstance(value, HostScalar) and value.op == "number" and value.number == 0
        return self._launch.texts[slot.number : slot.number + 1] in (("NULL",), ("nullptr",), ("0",))

    # ---- buffers

    def _buffer_names(self) -> dict[Slot, str]:
        """Name the buffer of each pointer; two that point to the same array share one."""
        names: dict[Slot, str] = {}
        by_memory: dict[tuple[int, str], str] = {}
        for slot in self._slots:
            if self._is_null(slot):
                continue
            value = self._value(slot)
            safe = f"{slot.name}_buffer" if slot.name in (*expressions.RESERVED, "null") else slot.name
            if isinstance(value, ArrayPointer) or (isinstance(value, HostTexture) and value.memory is not None):
                safe = by_memory.setdefault((id(value.memory), slot.texture), safe)
            names[slot] = safe
        return names

    def _shared_arrays(self) -> Iterator[str]:
        """List the buffers that are one array of the program: it is given as a texture or surface and otherwise."""
        by_memory: dict[int, dict[str, None]] = {}
        for slot, buffer in self._names.items():
            value = self._value(slot)
            if isinstance(value, (ArrayPointer, HostTexture)) and value.memory is not None:
                by_memory.setdefault(id(value.memory), {})[buffer] = None
        return (" and ".join(names) for names in by_memory.values() if len(names) > 1)

    def _buffers(self) -> Iterator[str]:
        done: set[str] = set()
        for slot, buffer in self._names.items():
            if buffer in done:
                continue
            done.add(buffer)
            value = self._value(slot)
            if slot.texture:
                yield self._texture(slot, buffer, value)
                continue
            memory = value.memory if isinstance(value, ArrayPointer) else None
            dtype = self._pointee(slot)
            if dtype is None and isinstance(value, ArrayPointer) and slot.type.count("*") < 2:
                dtype = self._known.dtype(value.type)
            comment = f"{memory.name}, {memory.where}" if memory is not None and memory.bytes is not None else ""
            if dtype is None:
                dtype = "uint8"
                needed, note = self._without_dtype(slot)
                comment = f"NEEDED: {needed}"
                self._notes.append(f"{buffer}: {note}")
            shape = self._shape(memory, dtypes.parse(dtype).size)
            if shape is None:
                shape, guessed = self._guessed_shape(buffer), f"NEEDED: {UNKNOWN_SIZE}"
                self._notes.append(f"{buffer}: its size ({self._launch.where})")
                self._guessed_sizes.append(buffer)
                comment = comment if comment.startswith("NEEDED") else guessed
            fill, reason = self._contents(buffer, dtype, memory)
            comment = _joined(comment, reason)
            filled = f", fill: {fill}" if fill else ""
            because = f"   # {comment}" if comment else ""
            yield f"  {buffer}: {{dtype: {shown(dtype)}, shape: [{shape}]{filled}}}{because}"

    def _texture(self, slot: Slot, buffer: str, value: Object | None) -> str:
        """Write the buffer of a texture or surface object."""
        memory = value.memory if isinstance(value, HostTexture) else None
        if not isinstance(value, HostTexture) or memory is None:
            self._notes.append(f"{buffer}: the memory and the settings of this {slot.texture} ({self._launch.where})")
            return self._guessed_texture(slot).replace(f"  {slot.name}:", f"  {buffer}:", 1)
        dtype, comment = self._known.dtype(memory.element), f"{memory.name}, {memory.where}"
        if dtype is None:
            dtype, comment = "float32", f"NEEDED: its dtype, which {memory.where} does not tell"
            self._notes.append(f"{buffer}: the dtype of its elements ({memory.where})")
        shape = ", ".join(map(self._formula, memory.extents)) or self._shape(memory, dtypes.parse(dtype).size)
        if shape is None:
            shape, comment = "64, 64", f"NEEDED: its shape, which {memory.where} does not tell"
            self._notes.append(f"{buffer}: its shape ({memory.where})")
        fill, guess = "", ""
        if memory.contents.is_filled or slot.texture == "texture":
            fill, guess = self._filled(buffer, dtype, memory)
            comment = _joined(comment, guess)
        settings = dict(value.settings)
        if value.layout == "linear":
            settings["memory"] = "linear"
        if memory.kind:
            settings["kind"] = memory.kind
        key = f"texture: {{{', '.join(f'{name}: {one}' for name, one in settings.items()) or 'filter: point'}}}"
        if slot.texture == "surface":
            key = "surface: layered" if memory.kind else "surface: true"
        filled = f"fill: {fill}, " if fill else ""
        return f"  {buffer}: {{dtype: {shown(dtype)}, shape: [{shape}], {filled}{key}}}   # {comment}"

    def _shape(self, memory: HostArray | None, size: int) -> str | None:
        if memory is None or memory.bytes is None or memory.bytes.number < size:
            return None
        return self._formula(scalars.quotient(memory.bytes, size))

    @property
    def buffer_bytes(self) -> int:
        """The bytes of the arrays whose size the host code tells."""
        values = (self._value(slot) for slot in self._names)
        memory = {id(one.memory): one.memory.bytes for one in values if isinstance(one, ArrayPointer)}
        return sum(int(one.number) for one in memory.values() if one is not None)

    def _guessed_shape(self, buffer: str) -> str:
        """Guess an array's size: an element for each thread of the launch, behind the largest offset that is passed."""
        grid, block = self._launch.grid, self._launch.block
        if grid is None or block is None:
            return str(_ELEMENTS)
        total: HostScalar = constant(1)
        for one in (*grid, *block):
            total = scalars.binary("*", total, one)
        values = (self._value(slot) for slot, name in self._names.items() if name == buffer)
        offsets = [one.offset for one in values if isinstance(one, ArrayPointer)]
        total = scalars.binary("+", total, max(offsets, key=lambda one: one.number, default=constant(0)))
        return self._formula(total) if total.number > 0 else str(_ELEMENTS)

    def _contents(self, buffer: str, dtype: str, memory: HostArray | None) -> tuple[str, str]:
        """Choose a fill, "" for an output, and a comment with the reason where it is a guess."""
        slots = [slot for slot, one in self._names.items() if one == buffer]
        # The buffer of several parameters is read if it is read through one of them.
        roles = map(self._compiled_kernel.role, slots)
        role, comment = min(roles, key=lambda one: ("fill", "zeros", "").index(one[0]))
        comment, is_unknown = comment.strip(" #"), self._compiled_kernel.accesses is None
        is_filled = memory is not None and memory.contents.is_filled
        if not (role or (is_unknown and is_filled)):
            return "", comment
        unset = self._unset_part(memory)
        if memory is not None and unset:
            read = self._compiled_kernel.reading(slots)
            self._unset[buffer] = (
                f"{self._last_name()} {read} {buffer} unwritten: the program sets {unset} of {memory.name} "
                f"({memory.where}) before the launch at {self._launch.where}, so it is not filled; "
                "`gpuregress run --check uninitialized` names the lines"
            )
            reason = f"{self._last_name()} {read} it, and the program sets {unset} of it"
            if read == "may read":
                return "", f"not filled: {reason}"
            self._notes.append(f"{buffer}: its contents")
            return "", f"NEEDED: its contents; {reason}"
        if role == "zeros" and not self._is_made(memory):
            return role, comment
        fill, guess = self._filled(buffer, dtype, memory)
        return fill, _joined(guess, comment if role == "fill" else "")

    def _unset_part(self, memory: HostArray | None) -> str:
        """Describe what the program sets of an array that it allocates; "" where that may be all of it."""
        if (
            memory is None
            or memory.bytes is None
            or fills.last_writer(memory, self._facts.earlier, self._facts.program, self._known, is_strict=True)
        ):
            return ""
        contents, size = memory.contents, memory.bytes
        if contents.is_untouched:
            return "nothing"
        if contents.begin is not None and size.is_known and contents.begin < size.number:
            return f"only the first {contents.begin:g} of the {size.number:g} bytes"
        return ""

    def _is_made(self, memory: HostArray | None) -> bool:
        """Tell whether the program puts something into an array before the launch."""
        if memory is None:
            return False
        return memory.contents.is_filled or memory.contents.is_zeroed or self._maker(memory) is not None

    def _maker(self, memory: HostArray | None) -> SeenLaunch | None:
        """Return the last earlier launch of another kernel that may write an array."""
        others = [one for one in self._facts.earlier if one.kernel != self._launch.kernel]
        return None if memory is None else fills.last_writer(memory, others, self._facts.program, self._known)

    def _filled(self, buffer: str, dtype: str, memory: HostArray | None) -> tuple[str, str]:
        """Write a fill, and a comment where the host code does not tell that these are the contents."""
        maker = self._maker(memory)
        made = fills.fill_of(memory, dtype) if memory is not None else DraftedFill(default_fill(dtype), is_told=False)
        if made.is_told and maker is None:
            return made.text, ""
        source = f", which {maker.kernel} may make at {maker.where}: put that launch before this one" if maker else ""
        if all(part.scalar.is_float for part in dtypes.parse(dtype).parts) and made.text == default_fill(dtype):
            self._random.append(buffer)  # any such numbers are an input
            return made.text, f"random numbers, not the program's{source}"
        self._notes.append(f"{buffer}: its contents{source}")
        return made.text, f"NEEDED: its contents{source or '; this fill is a guess'}"

    def _dump(self) -> Iterator[str]:
        written: dict[str, bool] = {}
        for slot, buffer in self._names.items():
            if self._is_result(slot):
                value, dtype = self._value(slot), self._pointee(slot) or "uint8"
                if slot.texture:
                    written[buffer] = (
                        isinstance(value, HostTexture) and value.memory is not None and value.memory.contents.is_filled
                    )
                    continue
                fill, _ = self._contents(buffer, dtype, value.memory if isinstance(value, ArrayPointer) else None)
                written[buffer] = written.get(buffer, False) or bool(fill)
        if any(written.values()) or self._unset.keys() - written.keys():
            yield f"dump: [{', '.join((*written, *self._variable_names()))}]"

    def _variable_fill(self, name: str, buffer: str, dtype: str) -> tuple[str, str]:
        memory = self._facts.symbols.get(name.rpartition("::")[2])
        return self._filled(buffer, dtype, memory) if memory is not None else ("", "")

    def _variable_names(self) -> list[str]:
        taken = {*self._names.values(), *self._parameters.values()}
        names = (name.replace("::", "_") for name in self._compiled_kernel.written_variables)
        return [f"{name}_variable" if name in taken else name for name in names]

    def _symbols(self) -> Iterator[str]:
        """Write the variables that the host code fills and the kernel reads, as buffers."""
        for name, symbol in self._facts.program.symbols.items():
            memory = self._facts.symbols.get(name)
            is_result = name in {one.rpartition("::")[2] for one in self._compiled_kernel.written_variables}
            if memory is None or is_result or not self._compiled_kernel.reads_variable(name):
                continue
            dtype = self._known.dtype(self._facts.program.aliases.get(symbol.type, symbol.type))
            size = self._facts.sizes[name]
            if dtype is None:
                self._notes.append(f"{name}: a job's buffer for this variable of type {symbol.type}")
                yield f"  # NEEDED: {name}, a variable of type {symbol.type}: its dtype or fields"
                continue
            buffer = name if name not in self._names.values() else f"{name}_symbol"
            fill, guess = self._filled(buffer, dtype, memory)
            yield (
                f"  {buffer}: {{dtype: {shown(dtype)}, shape: [{self._formula(size)}], fill: {fill}, symbol: {name}}}"
                f"   # {_joined(memory.where, guess)}"
            )


def _joined(*comments: str) -> str:
    """Join comments, what is needed first."""
    return "; ".join(one for one in sorted(comments, key=lambda one: not one.startswith("NEEDED")) if one)

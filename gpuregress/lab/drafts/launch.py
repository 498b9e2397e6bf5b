"""Draft of a job for a kernel, derived from a launch in host code.

The numbers of the host code become parameters, its formulas expressions. A value that the host code does not tell gets
a guess, and a comment beside it says what is needed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpuregress.foundation import dtypes
from gpuregress.foundation.document import yaml_writer
from gpuregress.foundation.records import MemberLayout
from gpuregress.gpu.architectures import SM_90
from gpuregress.lab.drafts import fills
from gpuregress.lab.drafts.compiled import Slot
from gpuregress.lab.drafts.fills import DraftedFill
from gpuregress.lab.drafts.kernel import VECTOR, KernelDraft, default_fill, formula, shown, valid_name
from gpuregress.lab.drafts.launch_facts import LaunchFacts
from gpuregress.lab.host_programs import library, objects, scalars
from gpuregress.lab.host_programs.objects import ArrayPointer, HostArray, HostTexture, Object, SeenLaunch, Structure
from gpuregress.lab.host_programs.scalars import HostScalar, constant
from gpuregress.toolchain import layouts
from gpuregress.toolchain.cxx_declarations import Declaration

Dimensions = tuple[HostScalar, HostScalar, HostScalar]
_ELEMENTS = 1024
_GUESSED_BYTES = 4
UNKNOWN_SIZE = "its size, which the host code does not give"
"""What a comment says of an array whose size is a guess."""
_LONG_NAMES = 110
_MOST_NAMES = 185
"""Characters of the parameters in a case's name, which has at most 200: further ones have short names, then none."""
_LONGEST_FORMULA = 400


@dataclass(slots=True)
class JobState:
    """What the launches of a job share.

    Attributes:
        parameters: numbers of the host code → parameters of the job.
        unnamed: numbers that are guesses and for which a case's name has no room; the job has them where they are used.
        names: the buffers.
        by_memory: array of the host code, and whether it is a texture → its buffer.
        dtypes: of the buffers, as the first pointer to each tells them.
        written: buffers whose line is written.
        symbols: variables whose buffer is written.
        variables: those that a kernel writes → their buffers.
        is_chain: whether the job may have several launches.
    """

    parameters: dict[HostScalar, str] = field(default_factory=dict)
    unnamed: dict[HostScalar, None] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    by_memory: dict[tuple[int, str], str] = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    symbols: set[str] = field(default_factory=set)
    variables: dict[str, str] = field(default_factory=dict)
    is_chain: bool = False


class LaunchDraft(KernelDraft):
    """A job's text.

    Args:
        declaration: the kernel.
        source: its file.
        target: the job's file.
        facts: of the host code.
        state: of the launches before it in the job; None: it is the only one.
    """

    def __init__(
        self, declaration: Declaration, source: Path, target: Path, facts: LaunchFacts, state: JobState | None = None
    ) -> None:
        self._facts, self._launch = facts, facts.launch
        chosen, name, self._guessed_names = fills.instance_of(declaration, facts.launch)
        super().__init__(
            declaration,
            source,
            target,
            instance=(chosen, name),
            build=facts.build,
            known=facts.types,
            program=facts.program,
        )
        self._extents = []  # the job's parameters are those of the host code
        self._state = state or JobState()
        self._variable_buffers = self._state.variables
        self._declared_variables = self._state.symbols
        self._parameters = self._state.parameters
        self._guessed = ", ".join(f"{parameter} = {value}" for parameter, value in self._guessed_arguments.items())
        self._notes: list[str] = []
        if self._guessed:
            self._notes.append(f"the template arguments of {self._kernel}: {self._guessed} is a guess")
        self._arguments = [*self._launch.arguments, *[None] * len(self._named)][: len(self._named)]
        self._guessed_sizes: list[str] = []
        self._random: list[str] = []
        self._unset: dict[str, str] = {}
        self._names = self._buffer_names()
        # Formulas make parameters, which stand above the launch and the buffers.
        self.launch_lines = list(self._launched())
        self.buffer_lines = [*self._buffers(), *self._symbols(), *self._variables()]
        self._lines = [] if self._state.is_chain else list(self._written())

    @property
    def refusal(self) -> str:
        """Why there can be no job: there is nothing to compare; "" where there is."""
        known = super().refusal
        if known or self._names or self._compiled_kernel.written_variables:
            return known
        return (
            f"the launch at {self._launch.where} gives it no pointer that is not null, so there is nothing to compare"
        )

    @property
    def _guessed_arguments(self) -> Mapping[str, str]:
        return {name: self._types[name] for name in self._guessed_names}

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
        remarks = list(dict.fromkeys(self._unset.values()))
        if self._random:
            remarks.append(f"random numbers, not the program's, are in: {', '.join(dict.fromkeys(self._random))}")
        if self._launch.loops:
            remarks.append(f"only the first iteration of the loop at {self._loops()}")
        return tuple(remarks)

    def lines(self, others: Sequence[str]) -> Iterator[str]:
        """The job, line by line."""
        del others
        yield from self._lines

    def _written(self) -> Iterator[str]:
        like = ""
        if self._launch.kernel.rpartition("::")[2] != self._last_name():
            like = f" of {self._launch.kernel}"
        yield f"# A job for {self._declaration}, from the launch{like} at {self._launch.where}."
        if self._launch.conditions:
            yield f"# The program makes it on a condition that is not known, at {', '.join(self._launch.conditions)}."
        if self._launch.loops:
            yield f"# The program makes it in the loop at {self._loops()}: this is its first iteration."
        for same in self._shared_arrays():
            self._notes.append(f"{same}: one array of the program, which they are not here")
            yield f"# NEEDED: {same} are one array of the program; a job has one for each texture, surface and pointer."
        yield "# Check every line against what the kernel expects."
        yield from self.head_lines()
        yield "buffers:"
        yield from self.buffer_lines
        yield "launches:"
        yield from self.launch_lines
        yield from self._dump()
        yield "# compare:                          # without a rule, every bit of every output must be as accepted"
        yield "#   NAME: {rtol: 1.0e-6, atol: 0}"
        yield "limits: {timeout: 60}"

    def head_lines(self) -> Iterator[str]:
        """Write what is compiled, and the parameters."""
        yield from self._compiled()
        if self._parameters:
            yield "parameters:                         # every combination is a case"
            for leaf, name in self._parameters.items():
                yield f"  {name}: [{leaf.number!r}]{self._origin(leaf)}"
            for leaf in self._state.unnamed:
                yield f"  # {leaf.name} is {leaf.number!r} below{self._origin(leaf)}"

    def _loops(self) -> str:
        return " and ".join(dict.fromkeys(self._launch.loops))

    def _last_name(self) -> str:
        return self._declaration.name.rpartition("::")[2]

    def _origin(self, leaf: HostScalar) -> str:
        if not leaf.is_known:
            return (
                f"   # NEEDED: its value; {leaf.number!r} is a guess ({leaf.where or 'the host code'} does not give it)"
            )
        if leaf.where:
            return f"   # {leaf.where}"
        return ""

    # ---- names and formulas

    def _label(self, leaf: HostScalar) -> str:
        """Name a parameter of the job, or write the number of what decides more than a formula."""
        if leaf.is_known and leaf.name in self._facts.fixed:
            return repr(leaf.number)
        if leaf in self._parameters:
            return self._parameters[leaf]
        for other, name in self._parameters.items():
            if (other.name, other.number) == (leaf.name, leaf.number):
                return name
        used = sum(len(name) + len(repr(other.number)) + 2 for other, name in self._parameters.items())
        if used > (_LONG_NAMES if leaf.is_known else _MOST_NAMES):
            if not leaf.is_known:
                self._state.unnamed[leaf] = None
                self._notes.append(f"{leaf.name}: its value ({leaf.where or 'unknown'})")
            return repr(leaf.number)
        text = leaf.name if used <= _LONG_NAMES else leaf.name[:1]
        name = valid_name(text, {*self._parameters.values(), *self._state.names, *self._facts.sizes})
        self._parameters[leaf] = name
        if not leaf.is_known:
            self._notes.append(f"{name}: its value ({leaf.where or 'unknown'})")
        return name

    def _formula(self, value: HostScalar) -> str:
        written = scalars.text(value, self._label)
        if len(written) > _LONGEST_FORMULA:
            return repr(value.number) if value.is_known else self._label(scalars.guess(value))
        return formula(written)

    def _axes(self, sizes: Dimensions) -> str:
        axes = list(sizes)
        while len(axes) > 1 and axes[-1].op == "number" and axes[-1].number == 1:
            axes.pop()
        return ", ".join(self._formula(size) for size in axes)

    # ---- launch

    def _launched(self) -> Iterator[str]:
        line = f"  - kernel: {yaml_writer.block_scalar(self._kernel)}"
        if self._guessed:
            line += f"   # NEEDED: its template arguments; {self._guessed} is a guess"
        yield line
        grid, block, shared = self._launch.grid, self._launch.block, self._launch.shared
        yield self._dimensions("grid", grid, is_possible=_is_grid(grid), guess="[1]")
        most = self._compiled_kernel.most_threads
        yield self._dimensions("block", block, is_possible=_is_block(block, most), guess=f"[{min(256, most)}]")
        if shared.number > SM_90.shared or shared.number < 0:
            self._notes.append(f"shared of {self._last_name()} ({self._launch.where})")
            given = f"{self._launch.where} gives {shared.number} bytes, and a block may have 0 to {SM_90.shared}"
            yield f"    shared: {SM_90.static_shared}   # NEEDED: {given}"
        elif shared.number > 0 or not shared.is_known:
            yield f"    shared: {self._formula(shared)}"
        if self._by_value:
            yield from self._listed_arguments()
            return
        arguments = [self._given(number) for number in range(len(self._named))]
        yield f"    args: [{', '.join(text for text, _ in arguments)}]"
        for number, (_, comment) in enumerate(arguments):
            if comment:
                yield f"    # args[{number}], {self._named[number][0]}: {comment}"

    def _listed_arguments(self) -> Iterator[str]:
        """Write each argument in a line, and each member of a structure."""
        yield "    args:"
        for number in range(len(self._named)):
            if number not in self._by_value:
                yield _commented(f"      - {self._given(number)[0]}", self._given(number)[1])
                continue
            yield f"      - struct:   # {self._named[number][0]}"
            for name, text, comment in self._members(number):
                yield _commented(f"          {yaml_writer.block_scalar(name)}: {text}", comment)

    def _dimensions(self, key: str, sizes: Dimensions | None, *, is_possible: bool, guess: str) -> str:
        """Write the sizes of the grid or a block; a guess where the host code does not tell what can be launched."""
        if sizes is not None and is_possible:
            return f"    {key}: [{self._axes(sizes)}]"
        reason = "does not give it"
        if sizes is not None:
            shape = " x ".join([str(size.number) for size in sizes])
            reason = f"gives {shape}, as far as it is known, which cannot be launched"
        self._notes.append(f"{key} of {self._last_name()} ({self._launch.where})")
        return f"    {key}: {guess}   # NEEDED: {self._launch.where} {reason}"

    def _given(self, number: int) -> tuple[str, str]:
        """Write an argument, and a comment where it is a guess."""
        name, parameter = self._named[number]
        slot = self._slot(number, "")
        if slot is not None:
            return self._pointer(slot)
        value = self._arguments[number]
        dtype = self._dtype(parameter)
        if isinstance(value, HostScalar) and dtype is not None and not VECTOR.fullmatch(dtype) and dtype[0] != "{":
            return self._number(name, value, dtype)
        spelled = name
        if number < len(self._launch.texts):
            spelled = self._launch.texts[number]
        self._notes.append(f"{name}: its value (argument {spelled!r} at {self._launch.where})")
        return self._argument(number), f"NEEDED: its value; {self._launch.where} passes {spelled}"

    def _pointer(self, slot: Slot) -> tuple[str, str]:
        buffer = self._names.get(slot)
        if buffer is None:
            return "null", ""
        value = self._value(slot)
        if not isinstance(value, ArrayPointer) or value.offset.number == 0:
            own = self._pointee(slot)
            if own is not None and self._state.dtypes.get(buffer, own) != own:
                return f"{{pointer: {buffer}}}", f"takes its elements for {own}"
            return buffer, ""
        element = value.type or value.memory.element
        size = library.size_of(element) or self._known.sizes.get(element)
        offset = self._formula(scalars.binary("*", value.offset, constant(size or _GUESSED_BYTES)))
        guess = ""
        if not size:
            guess = f"NEEDED: its offset in bytes; elements of {_GUESSED_BYTES} bytes are a guess"
            self._notes.append(f"{slot.name}: its offset in bytes ({self._launch.where})")
        return f"{{pointer: {buffer}, offset: {offset}}}", guess

    def _number(self, name: str, value: HostScalar, dtype: str) -> tuple[str, str]:
        drawn = ""
        if value.high is not None:
            drawn = f"a random number of the program, up to {value.high!r}"
        if "float" in dtype:
            return f"{{{dtype}: {self._formula(scalars.to_float(value))}}}", drawn
        if dtype == "bool":
            guess = ""
            if not value.is_known:
                guess = f"NEEDED: its value ({value.where or 'unknown'})"
                self._notes.append(f"{name}: its value ({self._launch.where})")
            return f"{{bool: {json.dumps(bool(value.number))}}}", guess
        integer = scalars.to_integer(value)
        if integer.is_known:
            converted = fills.wrapped(int(integer.number), dtypes.parse(dtype).parts[0].scalar)
            if converted != integer.number and math.isfinite(integer.number):
                return f"{{{dtype}: {converted}}}", drawn
        return f"{{{dtype}: {self._formula(integer)}}}", drawn

    def _member(self, number: int, field: MemberLayout, name: str) -> tuple[str, str]:
        slot = self._slot(number, field.path)
        if slot is not None:
            return self._pointer(slot)
        value = objects.member_of(self._arguments[number], name)
        dtype = layouts.member_dtype(field)
        is_unset = self._is_unset(number, name)
        name = f"{self._named[number][0]}.{name}"
        if isinstance(value, HostScalar) and dtype is not None and not VECTOR.fullmatch(dtype):
            return self._number(name, value, dtype)
        if is_unset and dtype is not None and not VECTOR.fullmatch(dtype):
            zero = "false" if dtype == "bool" else "0"
            return f"{{{dtype}: {zero}}}", "the program does not set it"
        self._notes.append(f"{name}: its value ({self._launch.where})")
        return super()._member(number, field, name)[0], f"NEEDED: {self._launch.where} does not give it"

    def _is_unset(self, number: int, path: str) -> bool:
        """Tell whether the program fills a structure, but not this member."""
        structure = self._arguments[number]
        if not isinstance(structure, Structure) or structure.is_given or objects.is_named(structure, path):
            return False
        return any(cell.value is not None for cell in structure.members.values())

    def _value(self, slot: Slot) -> Object | None:
        """Return what the host code gives for a pointer."""
        value = self._arguments[slot.number]
        if slot.path:
            return objects.member_of(value, slot.path)
        return value

    def _memory(self, slot: Slot) -> HostArray | None:
        """Return the array that the host code gives for a pointer or a texture."""
        value = self._value(slot)
        if isinstance(value, (ArrayPointer, HostTexture)):
            return value.memory
        return None

    def _is_null(self, slot: Slot) -> bool:
        """Whether a null pointer is spelled; a variable that is one may get memory where it is not seen."""
        value = self._value(slot)
        if slot.path:
            return (isinstance(value, HostScalar) and value.number == 0) or self._is_unset(slot.number, slot.path)
        return self._launch.texts[slot.number : slot.number + 1] in (("NULL",), ("nullptr",), ("0",))

    # ---- buffers

    def _buffer_names(self) -> dict[Slot, str]:
        """Name the buffer of each pointer; two that point to the same array share one."""
        names: dict[Slot, str] = {}
        for slot in self._slots:
            if self._is_null(slot):
                continue
            memory = self._memory(slot)
            key = (id(memory), slot.texture)
            if memory is None or key not in self._state.by_memory:
                called = slot.name
                if self._state.is_chain and memory is not None and memory.name and not slot.texture:
                    called = memory.name  # which is one for all kernels
                name = valid_name(called, {*self._state.names, *self._parameters.values()}, "_buffer")
                self._state.names.add(name)
                if memory is not None:
                    self._state.by_memory[key] = name
            else:
                name = self._state.by_memory[key]
            names[slot] = name
            dtype = self._pointee(slot)
            if dtype is not None and not slot.texture:
                self._state.dtypes.setdefault(name, dtype)
        return names

    def _shared_arrays(self) -> Iterator[str]:
        """List the buffers that are one array of the program: it is given as a texture or surface and otherwise."""
        by_memory: dict[int, dict[str, None]] = {}
        for slot, buffer in self._names.items():
            memory = self._memory(slot)
            if memory is not None:
                by_memory.setdefault(id(memory), {})[buffer] = None
        for names in by_memory.values():
            if len(names) > 1:
                yield " and ".join(names)

    def _buffers(self) -> Iterator[str]:
        done: set[str] = set()
        for slot, buffer in self._names.items():
            if buffer in done:
                continue
            done.add(buffer)
            if buffer in self._state.written:
                continue  # by an earlier launch
            self._state.written.add(buffer)
            value = self._value(slot)
            if slot.texture:
                yield self._texture(slot, buffer, value)
                continue
            yield self._pointed_buffer(slot, buffer, value if isinstance(value, ArrayPointer) else None)

    def _pointed_buffer(self, slot: Slot, buffer: str, pointer: ArrayPointer | None) -> str:
        """Write the buffer of a pointer; None: the host code does not tell to what it points."""
        memory = None
        comment = ""
        dtype = self._pointee(slot)
        if pointer is not None:
            memory = pointer.memory
            if memory.bytes is not None:
                comment = f"{memory.name}, {memory.where}"
            if dtype is None and slot.type.count("*") < 2:
                dtype = self._known.dtype(pointer.type)
        if dtype is None:
            dtype = "uint8"
            needed, note = self._without_dtype(slot)
            comment = f"NEEDED: {needed}"
            self._notes.append(f"{buffer}: {note}")
        self._state.dtypes.setdefault(buffer, dtype)
        shape = self._shape(memory, dtypes.parse(dtype).size)
        if shape is None:
            shape = self._guessed_shape(buffer)
            self._notes.append(f"{buffer}: its size ({self._launch.where})")
            self._guessed_sizes.append(buffer)
            if not comment.startswith("NEEDED"):
                comment = f"NEEDED: {UNKNOWN_SIZE}"
        elif memory is not None and memory.may_have_more_axes:
            self._guessed_sizes.append(buffer)
        fill, reason = self._contents(buffer, dtype, memory)
        settings = f"dtype: {shown(dtype)}, shape: [{shape}]"
        if fill:
            settings += f", fill: {fill}"
        line = f"  {buffer}: {{{settings}}}"
        comment = _joined(comment, reason)
        if comment:
            line += f"   # {comment}"
        return line

    def _texture(self, slot: Slot, buffer: str, value: Object | None) -> str:
        """Write the buffer of a texture or surface object."""
        if not isinstance(value, HostTexture) or value.memory is None:
            self._notes.append(f"{buffer}: the memory and the settings of this {slot.texture} ({self._launch.where})")
            return self._guessed_texture(slot).replace(f"  {slot.name}:", f"  {buffer}:", 1)
        memory = value.memory
        dtype = self._known.dtype(memory.element)
        comment = f"{memory.name}, {memory.where}"
        if dtype is None:
            dtype = "float32"
            comment = f"NEEDED: its dtype, which {memory.where} does not give"
            self._notes.append(f"{buffer}: the dtype of its elements ({memory.where})")
        extents = [self._formula(extent) for extent in memory.extents]
        shape = ", ".join(extents) or self._shape(memory, dtypes.parse(dtype).size)
        if shape is None:
            shape = "64, 64"
            comment = f"NEEDED: its shape, which {memory.where} does not give"
            self._notes.append(f"{buffer}: its shape ({memory.where})")
        parts = [f"dtype: {shown(dtype)}", f"shape: [{shape}]"]
        if memory.contents.is_filled or slot.texture == "texture":
            fill, guess = self._filled(buffer, dtype, memory)
            comment = _joined(comment, guess)
            if fill:
                parts.append(f"fill: {fill}")
        parts.append(_texture_settings(slot, value, memory))
        return f"  {buffer}: {{{', '.join(parts)}}}   # {comment}"

    def _shape(self, memory: HostArray | None, size: int) -> str | None:
        if memory is not None and memory.bytes is None and memory.extents:
            if size == 1 and memory.size is not None:  # bytes, for the elements are not known
                return self._formula(memory.size)
            return ", ".join(self._formula(extent) for extent in memory.shape)
        if memory is None or memory.bytes is None or memory.bytes.number < size:
            return None
        return self._formula(scalars.quotient(memory.bytes, size))

    @property
    def buffer_bytes(self) -> int:
        """The bytes of the arrays whose size the host code tells."""
        sizes: dict[int, int] = {}
        for slot in self._names:
            memory = self._memory(slot)
            if memory is not None and memory.size is not None:
                sizes[id(memory)] = int(memory.size.number)
        return sum(sizes.values())

    def _guessed_shape(self, buffer: str) -> str:
        """Guess an array's size: an element for each thread of the launch, after the largest offset that is passed."""
        grid, block = self._launch.grid, self._launch.block
        if grid is None or block is None:
            return str(_ELEMENTS)
        total: HostScalar = constant(1)
        for size in (*grid, *block):
            total = scalars.binary("*", total, size)
        values = [self._value(slot) for slot, name in self._names.items() if name == buffer]
        offsets = [value.offset for value in values if isinstance(value, ArrayPointer)]
        largest = max(offsets, key=lambda offset: offset.number, default=constant(0))
        total = scalars.binary("+", total, largest)
        if total.number <= 0:
            return str(_ELEMENTS)
        return self._formula(total)

    def _contents(self, buffer: str, dtype: str, memory: HostArray | None) -> tuple[str, str]:
        """Choose a fill, "" for an output, and a comment with the reason where it is a guess."""
        slots = [slot for slot, name in self._names.items() if name == buffer]
        # The buffer of several parameters is read if it is read through one of them.
        roles = [self._compiled_kernel.role(slot) for slot in slots]
        role, comment = min(roles, key=lambda role_and_reason: ("fill", "zeros", "").index(role_and_reason[0]))
        comment = comment.strip(" #")
        is_filled = memory is not None and memory.contents.is_filled
        if not role and not (is_filled and self._compiled_kernel.accesses is None):
            if self._state.is_chain and memory is not None and fills.fill_of(memory, dtype).is_told:
                return fills.fill_of(memory, dtype).text, ""  # a later launch may read what this one does not write
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
        if role != "fill":
            return fill, guess
        return fill, _joined(guess, comment)

    def _unset_part(self, memory: HostArray | None) -> str:
        """Describe what the program sets of an array that it allocates; "" where that may be all of it."""
        if (
            memory is None
            or memory.bytes is None
            or fills.last_writer(memory, self._facts.earlier, self._facts.program, self._known, is_strict=True)
        ):
            return ""
        size = memory.bytes
        begin = memory.contents.begin
        if memory.contents.is_untouched:
            return "nothing"
        if begin is not None and size.is_known and begin < size.number:
            return f"only the first {begin:g} of the {size.number:g} bytes"
        return ""

    def _is_made(self, memory: HostArray | None) -> bool:
        """Tell whether the program puts something into an array before the launch."""
        if memory is None:
            return False
        return memory.contents.is_filled or memory.contents.is_zeroed or self._maker(memory) is not None

    def _maker(self, memory: HostArray | None) -> SeenLaunch | None:
        """Return the last earlier launch of another kernel that may write an array."""
        if memory is None:
            return None
        others = [launch for launch in self._facts.earlier if launch.kernel != self._launch.kernel]
        return fills.last_writer(memory, others, self._facts.program, self._known)

    def _filled(self, buffer: str, dtype: str, memory: HostArray | None) -> tuple[str, str]:
        """Write a fill, and a comment where the host code does not tell that these are the contents."""
        maker = self._maker(memory)
        fill = DraftedFill(default_fill(dtype), is_told=False)
        if memory is not None:
            fill = fills.fill_of(memory, dtype)
        if fill.is_told and maker is None:
            return fill.text, ""
        source = ""
        if maker is not None:
            source = f", which {maker.kernel} may make at {maker.where}: put that launch before this one"
        # Any floating-point numbers are an input: such a guess is reported and asks for nothing.
        if all(part.scalar.is_float for part in dtypes.parse(dtype).parts) and fill.text == default_fill(dtype):
            self._random.append(buffer)
            return fill.text, f"random numbers, not the program's{source}"
        self._notes.append(f"{buffer}: its contents{source}")
        return fill.text, f"NEEDED: its contents{source or '; this fill is a guess'}"

    def _dump(self) -> Iterator[str]:
        is_filled: dict[str, bool] = {}
        for slot, buffer in self._names.items():
            if not self._is_result(slot):
                continue
            value = self._value(slot)
            if slot.texture:
                memory = value.memory if isinstance(value, HostTexture) else None
                is_filled[buffer] = memory is not None and memory.contents.is_filled
                continue
            memory = value.memory if isinstance(value, ArrayPointer) else None
            fill, _ = self._contents(buffer, self._pointee(slot) or "uint8", memory)
            is_filled[buffer] = is_filled.get(buffer, False) or bool(fill)
        if any(is_filled.values()) or self._unset.keys() - is_filled.keys():
            yield f"dump: [{', '.join((*is_filled, *self._variable_names()))}]"

    def _variable_fill(self, name: str, buffer: str, dtype: str) -> tuple[str, str]:
        memory = self._facts.symbols.get(name.rpartition("::")[2])
        if memory is None:
            return "", ""
        return self._filled(buffer, dtype, memory)

    def _taken_names(self) -> set[str]:
        return {*self._state.names, *self._parameters.values()}

    @property
    def results(self) -> list[str]:
        """The buffers that the kernel may write."""
        names = [buffer for slot, buffer in self._names.items() if self._is_result(slot)]
        return list(dict.fromkeys([*names, *self._variable_names()]))

    def read_arrays(self, *, with_floats: bool) -> Iterator[HostArray]:
        """List the arrays whose contents the kernel may read before it writes them.

        Args:
            with_floats: also arrays of floating-point numbers, of which any are an input.
        """
        for slot in self._names:
            memory = self._memory(slot)
            if memory is None or slot.texture or not self._compiled_kernel.role(slot)[0]:
                continue
            dtype = self._pointee(slot) or "uint8"
            if with_floats or not all(part.scalar.is_float for part in dtypes.parse(dtype).parts):
                yield memory

    def _symbols(self) -> Iterator[str]:
        """Write the variables that the host code fills and the kernel reads, as buffers."""
        results = {variable.rpartition("::")[2] for variable in self._compiled_kernel.written_variables}
        for name, symbol in self._facts.program.symbols.items():
            memory = self._facts.symbols.get(name)
            is_known = name in results or name in self._state.symbols
            if memory is None or is_known or not self._compiled_kernel.reads_variable(name):
                continue
            dtype = self._known.dtype(self._facts.program.aliases.get(symbol.type, symbol.type))
            if dtype is None:
                self._notes.append(f"{name}: a job's buffer for this variable of type {symbol.type}")
                yield f"  # NEEDED: {name}, a variable of type {symbol.type}: its dtype or fields"
                continue
            self._state.symbols.add(name)
            buffer = f"{name}_symbol" if name in self._state.names else name
            fill, guess = self._filled(buffer, dtype, memory)
            shape = self._formula(self._facts.sizes[name])
            settings = f"dtype: {shown(dtype)}, shape: [{shape}], fill: {fill}, symbol: {name}"
            yield f"  {buffer}: {{{settings}}}   # {_joined(memory.where, guess)}"


def _is_grid(sizes: Dimensions | None) -> bool:
    """Tell whether a grid can be launched."""
    return sizes is not None and all(1 <= size.number <= most for size, most in zip(sizes, SM_90.max_grid, strict=True))


def _is_block(sizes: Dimensions | None, most_threads: int) -> bool:
    """Tell whether a block can be launched."""
    if sizes is None or math.prod([size.number for size in sizes]) > most_threads:
        return False
    return all(1 <= size.number <= most for size, most in zip(sizes, SM_90.max_block, strict=True))


def _texture_settings(slot: Slot, texture: HostTexture, memory: HostArray) -> str:
    """Write the key of a buffer that makes it a texture or a surface."""
    if slot.texture == "surface":
        return "surface: layered" if memory.kind else "surface: true"
    settings = dict(texture.settings)
    if texture.layout == "linear":
        settings["memory"] = "linear"
    if memory.kind:
        settings["kind"] = memory.kind
    text = ", ".join(f"{name}: {setting}" for name, setting in settings.items())
    return f"texture: {{{text or 'filter: point'}}}"


def _commented(line: str, comment: str) -> str:
    return f"{line}   # {comment}" if comment else line


def _joined(*comments: str) -> str:
    """Join comments, what is needed first."""
    ordered = sorted(comments, key=lambda comment: not comment.startswith("NEEDED"))
    return "; ".join(comment for comment in ordered if comment)

"""Checks that an assembler makes of PTX: forms, architectures, types, memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuregress.gpu.architectures import ARCHITECTURES, SM_90, number
from gpuregress.gpu.demangle import demangle
from gpuregress.gpu.errors import CodeLine, CompileError, InfeasibleSource, RefusedSource
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.analysis.effects import reads
from gpuregress.virtual_gpu.analysis.module_facts import names_used
from gpuregress.virtual_gpu.compilation.operand_types import register_types, wrong_operand
from gpuregress.virtual_gpu.ptx.modifiers import byte_size, lay_out
from gpuregress.virtual_gpu.ptx.opcode_table import MemoryEffect, Wait, info
from gpuregress.virtual_gpu.ptx.tree import (
    Function,
    Instruction,
    Integer,
    MaskedSymbol,
    Module,
    Symbol,
    Variable,
    code_line,
)

# --- architectures that a form needs ----------------------------------------------------------------------------------


_FORMS = {row.name: re.compile(row.forms) for row in ARCHITECTURES if row.forms}
_REGISTERS = {row.name: re.compile(row.special_registers) for row in ARCHITECTURES if row.special_registers}


def supports(target: str, needed: str) -> bool:
    """Whether code for `target` may use what `needed` introduced; `sm_90a` stands for itself alone."""
    return target == needed if needed[-1].isalpha() else number(target) >= number(needed)


def needed_target(instruction: Instruction, registers: tuple[str, ...]) -> str:
    """The first architecture that has an instruction; "" where all have it.

    Args:
        instruction: any.
        registers: the names of the registers that it reads.
    """
    mnemonic = instruction.mnemonic
    needed = [info(instruction).since]
    needed += [target for target, pattern in _FORMS.items() if pattern.search(mnemonic)]
    needed += [target for target, pattern in _REGISTERS.items() if any(map(pattern.match, registers))]
    return max(needed, key=number)


# --- checks -----------------------------------------------------------------------------------------------------------
# Checks of the PTX assembler: sizes, targets and operands that ptxas refuses.
#
# A kernel that no GPU can load does not run here either.


_MOST_TOLD = 5
_OWN = f"{SM_90.name}a"
"""The architecture of the virtual GPU with its letter."""
_CLUSTER_DIRECTIVES = frozenset(["reqnctapercluster", "explicitcluster", "maxclusterrank"])
_SIZES = {"ca": (4, 8, 16), "cg": (16,)}
"""The bytes that cp.async copies, by its cache operator."""


class _Problem(Record):
    """What an assembler refuses.

    Attributes:
        message: one line.
        source_line: of the instruction; None where it is none.
        needed: the architecture that has it; "" where no other one helps.
    """

    message: str
    source_line: CodeLine | None = None
    needed: str = ""


def check(tree: Module) -> None:
    """Refuse a program that no assembler would take, or no sm_90 would load.

    Raises:
        RefusedSource: the problems, as the assembler reports them: every kernel of the program is refused.
        CompileError: the program is for a newer architecture.
        InfeasibleSource: all of them are sizes over the architecture's limits.
    """
    newer, sizes = [*_newer(tree)], [*_sizes(tree)]
    of_instructions: list[_Problem] = []
    for function in tree.functions:
        of_instructions += _instructions(tree.target, function)
    problems = [*newer, *of_instructions, *sizes]
    if not problems:
        return
    lines = [f"the assembler refuses this program for {tree.target}:"]
    lines += [problem.message for problem in problems[:_MOST_TOLD]]
    if len(problems) > _MOST_TOLD:
        lines.append(f"and {len(problems) - _MOST_TOLD} more")
    if tree.target != _OWN and any(problem.needed == _OWN for problem in problems):
        lines.append(f"write `compile: {{arch: {_OWN}}}` in the job to use these")
    first_lines = [problem.source_line for problem in problems if problem.source_line is not None]
    error_class: type[CompileError] = InfeasibleSource
    if of_instructions:
        error_class = RefusedSource
    if newer:
        error_class = CompileError
    raise error_class("\n".join(lines), source_line=first_lines[0] if first_lines else None)


def _newer(tree: Module) -> Iterator[_Problem]:
    if number(tree.target) > number(SM_90.name) or (tree.target[-1:].isalpha() and tree.target != _OWN):
        text = f"it is compiled for {tree.target}; the virtual GPU is an {SM_90.name}, and loads nothing newer"
        yield _Problem(text)


def constant_bytes(tree: Module) -> int:
    """The bytes of a module's `__constant__` variables, with the padding between them."""
    return lay_out(tuple(item for item in tree.variables if item.space == "const"))[1]


# --- sizes ------------------------------------------------------------------------------------------------------------


def _sizes(tree: Module) -> Iterator[_Problem]:
    constant = constant_bytes(tree)
    if constant > SM_90.constant:
        yield _Problem(f"its __constant__ variables take {constant} bytes; a program has {SM_90.constant}")
    for kernel in (item for item in tree.functions if item.is_entry and item.body is not None):
        name = demangle(kernel.name) or kernel.name
        shared = sum(byte_size(item) for item in _shared_variables(tree, kernel))
        if shared > SM_90.static_shared:
            yield _Problem(
                f"{name} has {shared} bytes of static shared memory; a kernel has {SM_90.static_shared} "
                "(dynamic shared memory, `extern __shared__`, can be larger)"
            )
        _, parameters = lay_out(kernel.parameters)
        if parameters > SM_90.parameters:
            yield _Problem(f"{name} has {parameters} bytes of parameters; a kernel has {SM_90.parameters}")


def _shared_variables(tree: Module, kernel: Function) -> list[Variable]:
    """The shared variables that a kernel refers to, or the functions that it calls."""
    functions = {item.name: item for item in tree.functions}
    variables = {item.name: item for item in tree.variables}
    shared: list[Variable] = []
    pending, seen = [kernel.name], {kernel.name}
    while pending:
        name = pending.pop()
        names: set[str] = set()
        if function := functions.get(name):
            names = names_used(function)
            own = [item for item in function.variables if item.space == "shared"]
            shared += [item for item in own if item.name in names or function.is_skipped]
        elif variable := variables.get(name):
            shared += [variable] if variable.space == "shared" else []
            names = {item.name for item in variable.initializer if isinstance(item, Symbol)}
            names |= {item.symbol.name for item in variable.initializer if isinstance(item, MaskedSymbol)}
        pending += names - seen
        seen |= names
    return shared


# --- instructions -----------------------------------------------------------------------------------------------------


def _instructions(target: str, function: Function) -> Iterator[_Problem]:
    for directive in sorted(_CLUSTER_DIRECTIVES & function.directives.keys()):
        if not supports(target, SM_90.name):
            text = f".{directive} of {function.name} needs {SM_90.name}; the program is compiled for {target}"
            yield _Problem(text, needed=SM_90.name)
    if {"reqnctapercluster", "maxclusterrank"} <= function.directives.keys():
        yield _Problem(f"{function.name} has .reqnctapercluster and .maxclusterrank; a kernel has at most one of them")
    types = register_types(function)
    for statement in function.instructions:
        line = code_line(statement)
        needed = needed_target(statement, reads(statement))
        if needed and not supports(target, needed):
            text = f"{statement.mnemonic} at {line} needs {needed}; the program is compiled for {target}"
            yield _Problem(text, line, needed)
        problem = wrong_operand(statement, types) or _out_of_range(statement)
        if problem:
            yield _Problem(f"{statement.mnemonic} at {line}: {problem}", line)


def _out_of_range(instruction: Instruction) -> str:
    facts, words, operands = info(instruction), instruction.modifiers, instruction.operands
    numbers = [item.value if isinstance(item, Integer) else None for item in operands]
    if facts.wait is Wait.BLOCK:
        return _barrier(numbers[1:] if "red" in words else numbers, is_vote="red" in words)
    if instruction.mnemonic.startswith("mbarrier.init") and (count := numbers[1]) is not None:
        most = SM_90.max_mbarrier_count
        return "" if 1 <= count <= most else f"a count of {count}; 1 to {most} are possible"
    if facts.memory is MemoryEffect.COPY and (sizes := _SIZES.get(words[1])) and (size := numbers[2]) is not None:
        return "" if size in sizes else f"a copy of {size} bytes; {' or '.join(map(str, sizes))} are possible"
    stores = facts.memory is MemoryEffect.WRITE
    return "nothing can be stored to constant memory" if stores and "const" in words else ""


def _barrier(numbers: list[int | None], *, is_vote: bool) -> str:
    number = numbers[0] if numbers else None
    if number is not None and not 0 <= number < SM_90.barriers:
        return f"barrier {number}; a block has {SM_90.barriers}, numbered from 0"
    counts = numbers[1 : -1 if is_vote else None]
    if counts and counts[0] is not None and counts[0] % SM_90.warp_size:
        return f"a barrier for {counts[0]} threads; only whole warps of {SM_90.warp_size} can be counted"
    return ""

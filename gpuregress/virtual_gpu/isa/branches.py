"""Lowering of branches and calls."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.gpu.errors import UnsupportedError
from gpuregress.virtual_gpu.builder.address_resolution import field, set_field
from gpuregress.virtual_gpu.builder.heap import call_free, call_malloc
from gpuregress.virtual_gpu.builder.services import Services, call_python
from gpuregress.virtual_gpu.builder.structured import I32, I64, convert, i32, i64, stack_words
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.checks.heap_cells import begin_allocation
from gpuregress.virtual_gpu.ptx.modifiers import byte_size, unsupported
from gpuregress.virtual_gpu.ptx.tree import Call, Instruction, Integer, Operand, Symbol, code_line
from gpuregress.virtual_gpu.runtime.machine_layout import FAULT_BRANCH, FAULT_CALL, FAULT_TRAP, SYSTEM_CALLS

# --- branches ---------------------------------------------------------------------------------------------------------


def _bra(emitter: Services, instruction: Instruction) -> None:
    label = instruction.operands[0]
    if not isinstance(label, Symbol) or label.name not in emitter.flow.block_of_label:
        raise unsupported(instruction, "there is no such label")
    number = emitter.flow.block_of_label[label.name]
    if instruction.guard is None:
        emitter.builder.branch(emitter.edge(number))
        return
    known = emitter.proven.branches.get(emitter.index)
    if known is not None:
        emitter.builder.branch(emitter.edge(number if known else emitter.block_number + 1))
        return
    target, following = emitter.edge(number), emitter.edge(emitter.block_number + 1)
    emitter.builder.cbranch(emitter.guard_value(instruction), target, following)


def _brx(emitter: Services, instruction: Instruction) -> None:
    targets = emitter.flow.targets(instruction)
    if not targets:
        raise unsupported(instruction, "there is no such list of targets")
    if instruction.guard is not None:
        body = emitter.builder.append_basic_block("guarded")
        following = emitter.edge(emitter.block_number + 1)
        emitter.builder.cbranch(emitter.guard_value(instruction), body, following)
        emitter.builder = ir.IRBuilder(body)
    index = emitter.read(instruction.operands[0], "u32")
    outside = emitter.builder.append_basic_block("outside")
    switch = emitter.builder.switch(index, outside)
    for number, name in enumerate(targets):
        switch.add_case(i32(number), emitter.edge(emitter.flow.block_of_label[name]))
    emitter.builder = ir.IRBuilder(outside)
    emitter.fail(FAULT_BRANCH, instruction)


def _ret(emitter: Services, instruction: Instruction) -> None:
    del instruction
    emitter.exits.finish(emitter)


def _exit(emitter: Services, instruction: Instruction) -> None:
    del instruction
    emitter.exits.exit(emitter)


def _trap(emitter: Services, instruction: Instruction) -> None:
    emitter.fail(FAULT_TRAP, instruction)


def _set_registers(emitter: Services, instruction: Instruction) -> None:
    """Check the number of registers, which changes no result."""
    del emitter
    (count,) = instruction.operands
    if not isinstance(count, Integer) or not 24 <= count.value <= 256 or count.value % 8:
        raise unsupported(instruction, "the number of registers is a multiple of 8 from 24 to 256")


def _depend_on_grids(emitter: Services, instruction: Instruction) -> None:
    """Check the form: launches follow each other, so that there is nothing to wait for."""
    del emitter
    if instruction.modifiers not in (("wait",), ("launch_dependents",)):
        raise unsupported(instruction)


def _nothing(emitter: Services, instruction: Instruction) -> None:
    """Hints to the hardware: no code."""


TABLE = {
    "bra": _bra,
    "brx": _brx,
    "ret": _ret,
    "exit": _exit,
    "trap": _trap,
    "brkpt": _trap,
    "pmevent": _nothing,
    "setmaxnreg": _set_registers,
    "griddepcontrol": _depend_on_grids,
}


# --- calls ------------------------------------------------------------------------------------------------------------
# Calls of device functions, directly and through pointers, and of system calls (vprintf, malloc).
#
# A device function is `i32 f(machine, thread, results…, parameters…)`, each result and parameter a pointer to its
# bytes. It returns RETURNED, EXITED or FAULTED; the caller passes the last two on.


RETURNED, EXITED, FAULTED = range(3)
_HEAP = {"malloc": call_malloc, "free": call_free, "__cuda_syscall_aligned_malloc": call_malloc}
"""`new` of an over-aligned type: every allocation starts at a multiple of 1024, more than is asked for."""
MOST_CALLS = 2000
"""Calls inside calls before it is a stack overflow. Each takes some hundred bytes of the host's own stack."""


def lower_call(emitter: Services, call: Call) -> None:
    """Lower one call.

    Raises:
        UnsupportedError: the function is not there.
    """
    if not isinstance(call.callee, Symbol):
        _call_pointer(emitter, call)
    elif call.callee.name in emitter.unit.functions:
        _call_function(emitter, call, call.callee.name)
    elif call.callee.name in SYSTEM_CALLS:
        _call_system(emitter, call, call.callee.name)
    else:
        line = code_line(call)
        message = f"the function {call.callee.name}, called at {line}, is not defined"
        raise UnsupportedError(message, source_line=line)


def _memory(emitter: Services, operand: Operand, call: Call) -> ir.Value:
    if isinstance(operand, Symbol):
        memory = emitter.frame.param_memory(operand.name)
        if memory is not None:
            return memory
    line = code_line(call)
    message = f"the call at {line} passes {operand}: only .param variables are supported"
    raise UnsupportedError(message, source_line=line)


def _arguments(emitter: Services, call: Call) -> list[ir.Value]:
    pointers = [_memory(emitter, item, call) for item in (*call.results, *call.arguments)]
    return [emitter.view.machine, emitter.thread.handle, *pointers]


def _call_function(emitter: Services, call: Call, name: str) -> None:
    emitter.forget_pointers()
    _go_on(emitter, emitter.builder.call(emitter.unit.device_function(name), _arguments(emitter, call)))


def _go_on(emitter: Services, status: ir.Value) -> None:
    """Continue after a call that returned; otherwise leave the caller with its status."""
    b = emitter.builder
    after, left, exited = (b.append_basic_block(name) for name in ("returned", "left", "exited"))
    b.cbranch(b.icmp_unsigned("==", status, i32(RETURNED)), after, left).set_weights([1000, 1])
    b.position_at_end(left)
    b.cbranch(b.icmp_unsigned("==", status, i32(EXITED)), exited, emitter.fault_block)
    b.position_at_end(exited)
    emitter.exits.exit(emitter)
    emitter.builder = ir.IRBuilder(after)


def _call_pointer(emitter: Services, call: Call) -> None:
    emitter.forget_pointers()
    address = emitter.read(call.callee, "u64")
    candidates = _candidates(emitter.unit, call)
    arguments = _arguments(emitter, call)
    b = emitter.builder
    nowhere, after = b.append_basic_block("nowhere"), b.append_basic_block("called")
    switch = b.switch(address, nowhere)
    status = ir.IRBuilder(after).phi(I32)
    for name in candidates:
        block = b.append_basic_block("callee")
        switch.add_case(i64(emitter.unit.function_address(name)), block)
        builder = ir.IRBuilder(block)
        status.add_incoming(builder.call(emitter.unit.device_function(name), arguments), block)
        builder.branch(after)
    emitter.builder = ir.IRBuilder(nowhere)
    emitter.fail(FAULT_CALL, call)
    emitter.builder = ir.IRBuilder(after)
    if candidates:
        _go_on(emitter, status)
    else:
        emitter.builder.unreachable()


def _candidates(unit: Unit, call: Call) -> list[str]:
    """The functions whose address is taken and whose counts of results and parameters match."""
    return [
        name
        for name in unit.address_taken
        if len(unit.functions[name].results) == len(call.results)
        and len(unit.functions[name].parameters) == len(call.arguments)
    ]


def _call_system(emitter: Services, call: Call, name: str) -> None:
    """Call a function of the device: the heap's are compiled code, the others Python."""
    b, values = emitter.builder, []
    for operand in call.arguments:
        value = b.load(_memory(emitter, operand, call), typ=_type_of(emitter, operand))
        values.append(convert(b, value, I64))
    site = i64(emitter.unit.site(call))
    if name in _HEAP:
        answer = _call_heap(emitter, name, site, values[0])
    else:
        answer = _call_with(emitter, SYSTEM_CALLS.index(name), site, values)
    for operand in call.results:
        value = convert(emitter.builder, answer, _type_of(emitter, operand))
        emitter.builder.store(value, _memory(emitter, operand, call))


def _call_heap(emitter: Services, name: str, site: ir.Value, value: ir.Value) -> ir.Value:
    """Call malloc or free, which are compiled once for the module."""
    b, machine = emitter.builder, emitter.view.machine
    answer = _HEAP[name](b, machine, site, value)
    if name != "free" and emitter.unit.granules is not None:
        begin_allocation(emitter.unit, b, machine, answer, value)
    fine = b.icmp_unsigned("==", field(b, machine, "fault_kind"), i64(0))
    after = b.append_basic_block("answered")
    b.cbranch(fine, after, emitter.fault_block)
    emitter.builder = ir.IRBuilder(after)
    emitter.forget_pointers()
    return answer


def _call_with(emitter: Services, number: int, site: ir.Value, values: list[ir.Value]) -> ir.Value:
    """Pass the arguments, eight bytes each, to Python."""
    words = stack_words(emitter.builder, values)
    set_field(emitter.builder, emitter.view.machine, "fault_site", site)
    return call_python(emitter, number, words)


def _type_of(emitter: Services, operand: Operand) -> ir.IntType:
    """The integer type of a variable that is passed to a function of the device."""
    variable = emitter.frame.variable(operand.name) if isinstance(operand, Symbol) else None
    assert variable is not None
    return ir.IntType(8 * byte_size(variable))

"""Calls: to device functions, through pointers, and to what the device itself offers.

A device function is `i32 f(machine, thread, results…, parameters…)`, each result and parameter a pointer to its bytes.
It answers RETURNED, EXITED or FAULTED; the caller passes the last two on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

from gpuregress.devices.cpu.lower.regions import MachineView
from gpuregress.devices.cpu.lower.resolve import field, set_field
from gpuregress.devices.cpu.lower.structured import at, entry_alloca, i32, i64, open_function
from gpuregress.devices.cpu.lower.threads import THREAD_FIELDS, CalledThread
from gpuregress.devices.cpu.lower.types import I32, I64, POINTER
from gpuregress.devices.cpu.lower.unit import byte_size, where
from gpuregress.devices.cpu.machine.layout import FAULT_CALL, FAULT_STACK, LOCAL_START, SYSTEM_CALLS
from gpuregress.devices.cpu.ptx.tree import Call, Function, Label, Operand, Symbol, Variable
from gpuregress.errors import UnsupportedError

if TYPE_CHECKING:
    from gpuregress.devices.cpu.lower.function import FunctionEmitter
    from gpuregress.devices.cpu.lower.unit import Unit

RETURNED, EXITED, FAULTED = range(3)
MOST_CALLS = 2000
"""Calls inside calls before it is a stack overflow. Each takes some hundred bytes of the host's own stack."""


def lower_call(emitter: FunctionEmitter, call: Call) -> None:
    """Lowers one call.

    Raises:
        UnsupportedError: the function is not there.
    """
    if not isinstance(call.callee, Symbol):
        _call_pointer(emitter, call)
    elif call.callee.name in emitter.unit.functions:
        _call_function(emitter, call, call.callee.name)
    elif call.callee.name in SYSTEM_CALLS:
        _call_system(emitter, call, SYSTEM_CALLS.index(call.callee.name))
    else:
        raise UnsupportedError(f"the function {call.callee.name}, called at {where(call)}, is not there")


def _memory(emitter: FunctionEmitter, operand: Operand, call: Call) -> ir.Value:
    if isinstance(operand, Symbol):
        memory = emitter.frame.param_memory(operand.name)
        if memory is not None:
            return memory
    raise UnsupportedError(f"the call at {where(call)} passes {operand}: only .param variables are supported")


def _arguments(emitter: FunctionEmitter, call: Call) -> list[ir.Value]:
    places = [_memory(emitter, item, call) for item in (*call.results, *call.arguments)]
    return [emitter.view.machine, emitter.thread.handle, *places]


def _call_function(emitter: FunctionEmitter, call: Call, name: str) -> None:
    emitter.forget_pointers()
    _go_on(emitter, emitter.builder.call(emitter.unit.device_function(name), _arguments(emitter, call)))


def _go_on(emitter: FunctionEmitter, status: ir.Value) -> None:
    """Goes on behind a call that returned; leaves with one that did not."""
    b = emitter.builder
    after, left, exited = (b.append_basic_block(name) for name in ("returned", "left", "exited"))
    b.cbranch(b.icmp_unsigned("==", status, i32(RETURNED)), after, left).set_weights([1000, 1])
    b.position_at_end(left)
    b.cbranch(b.icmp_unsigned("==", status, i32(EXITED)), exited, emitter.fault_block)
    b.position_at_end(exited)
    emitter.exits.exit(emitter)
    emitter.builder = ir.IRBuilder(after)


def _call_pointer(emitter: FunctionEmitter, call: Call) -> None:
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
    """The functions whose address is taken and that have as many results and parameters."""
    return [
        name
        for name in unit.address_taken
        if len(unit.functions[name].results) == len(call.results)
        and len(unit.functions[name].parameters) == len(call.arguments)
    ]


def _call_system(emitter: FunctionEmitter, call: Call, number: int) -> None:
    """Hands the arguments, eight bytes each, to Python."""
    b, machine = emitter.builder, emitter.view.machine
    slots = entry_alloca(b.function, ir.ArrayType(I64, max(1, len(call.arguments))), align=8)
    for place, operand in enumerate(call.arguments):
        variable = emitter.frame.variable(operand.name) if isinstance(operand, Symbol) else None
        value = _argument(b, variable, _memory(emitter, operand, call))
        b.store(value, at(b, slots, 8 * place))
    set_field(b, machine, "fault_site", i64(emitter.unit.site(call)))
    # llvmlite asks the callee's pointer for the function's type, and writes `ptr` all the same.
    type_ = ir.FunctionType(I64, (I64, POINTER, POINTER)).as_pointer()
    function = b.inttoptr(field(b, machine, "syscall"), type_)
    answer = b.call(function, (i64(number), slots, emitter.thread.local))
    fine = b.icmp_unsigned("==", field(b, machine, "fault_kind"), i64(0))
    after = b.append_basic_block("answered")
    b.cbranch(fine, after, emitter.fault_block)
    emitter.builder = ir.IRBuilder(after)
    emitter.forget_pointers()
    for operand in call.results:
        variable = emitter.frame.variable(operand.name) if isinstance(operand, Symbol) else None
        assert variable is not None
        type_of = ir.IntType(8 * byte_size(variable))
        value = answer if type_of == I64 else emitter.builder.trunc(answer, type_of)
        emitter.builder.store(value, _memory(emitter, operand, call))


def _argument(b: ir.IRBuilder, variable: Variable | None, memory: ir.Value) -> ir.Value:
    assert variable is not None
    type_ = ir.IntType(8 * byte_size(variable))
    value = b.load(memory, typ=type_)
    return value if type_ == I64 else b.zext(value, I64)


# --- device functions -------------------------------------------------------------------------------------------------


class FunctionExits:
    """How a thread leaves a device function: by the status it returns."""

    def finish(self, emitter: FunctionEmitter) -> None:
        """Returns to the caller, whose stack and depth come back."""
        b, handle = emitter.builder, emitter.thread.handle
        depth = at(b, handle, THREAD_FIELDS["depth"])
        b.store(b.sub(b.load(depth, typ=I64), i64(1)), depth)
        b.store(emitter.thread.stack, at(b, handle, THREAD_FIELDS["stack"]))
        b.ret(i32(RETURNED))

    def exit(self, emitter: FunctionEmitter) -> None:
        """The thread exits."""
        emitter.builder.ret(i32(EXITED))

    def fault(self, emitter: FunctionEmitter) -> None:
        """A fault has been recorded."""
        emitter.builder.ret(i32(FAULTED))

    def wait(self, emitter: FunctionEmitter, kind: int, live: frozenset[str], dirty: frozenset[str]) -> None:
        """Functions that wait are inlined into their kernels; this one could not be."""
        del kind, live, dirty
        raise UnsupportedError(
            f"{emitter.function.name} waits for other threads and is called recursively or through a pointer: "
            "not supported by the cpu device"
        )

    def store(self, emitter: FunctionEmitter, name: str, value: ir.Value) -> None:
        """See `wait`."""
        del name, value
        self.wait(emitter, 0, frozenset(), frozenset())

    def fetch(self, emitter: FunctionEmitter, name: str) -> ir.Value:
        """See `wait`."""
        del name
        self.wait(emitter, 0, frozenset(), frozenset())
        raise AssertionError

    def fetch_lane(self, emitter: FunctionEmitter, lane: ir.Value) -> ir.Value:
        """See `wait`."""
        del lane
        self.wait(emitter, 0, frozenset(), frozenset())
        raise AssertionError


def build_device_function(unit: Unit, name: str) -> None:
    """Lowers a device function that something calls."""
    from gpuregress.devices.cpu.lower.function import FunctionEmitter  # noqa: PLC0415 - the two call each other

    tree: Function = unit.functions[name]
    function = unit.device_function(name)
    function.attributes.add("nounwind")
    entry = open_function(function)
    machine, handle, *places = function.args
    names = [item.name for item in (*tree.results, *tree.parameters)]
    view, thread = MachineView(unit, machine, entry), CalledThread(handle, entry)
    emitter = FunctionEmitter(unit, tree, view, thread, FunctionExits(), dict(zip(names, places, strict=True)))
    first = function.append_basic_block("start")
    start = ir.IRBuilder(first)
    _enter(emitter, start)
    emitter.clear_registers(start)
    emitter.lower(start)
    entry.branch(first)


def _enter(emitter: FunctionEmitter, b: ir.IRBuilder) -> None:
    """Takes a frame on the thread's stack; too many calls or bytes are a fault."""
    handle, machine = emitter.thread.handle, emitter.view.machine
    depth = at(b, handle, THREAD_FIELDS["depth"])
    deeper = b.add(b.load(depth, typ=I64), i64(1))
    b.store(deeper, depth)
    top = b.add(emitter.thread.stack, i64(emitter.frame.local_bytes))
    b.store(top, at(b, handle, THREAD_FIELDS["stack"]))
    too_many = b.icmp_unsigned(">", deeper, i64(MOST_CALLS))
    too_much = b.icmp_unsigned(">", b.sub(top, i64(LOCAL_START)), emitter.view.field("local_size"))
    with b.if_then(b.or_(too_many, too_much), likely=False):
        set_field(b, machine, "fault_kind", i64(FAULT_STACK))
        first = next(item for item in emitter.flow.statements if not isinstance(item, Label))
        set_field(b, machine, "fault_site", i64(emitter.unit.site(first)))
        b.ret(i32(FAULTED))

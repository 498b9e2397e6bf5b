"""Runs single PTX instructions over arrays: an `Emit` whose registers are the values loaded from numpy arrays.

`Lanes` turns a list of instructions into an LLVM function `void f(i64 n, ptr …)` that loops over the arrays, loads the
inputs, applies the instructions and stores the outputs; it is compiled by the same LLVM passes the device uses.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt
from llvmlite import ir

from gpuregress.toolchain import cache as object_cache
from gpuregress.virtual_gpu.builder.structured import F32, F64, I1, I8, I32, I64
from gpuregress.virtual_gpu.isa.lowering_table import lowering
from gpuregress.virtual_gpu.ptx.modifiers import BITS, is_signed
from gpuregress.virtual_gpu.ptx.tree import (
    Float,
    Instruction,
    Integer,
    Minus,
    Negated,
    Operand,
    Pair,
    Register,
    Selected,
    Sink,
)
from gpuregress.virtual_gpu.runtime import llvm_backend
from gpuregress.virtual_gpu.runtime.special_function_tables import table

Array = npt.NDArray[Any]


def operand(text: str) -> Operand:
    """`%r1`, `%r1.b0`, `-%r1`, `!%p`, `%p|%q`, `_`, `0f3F800000`, `0d…`, `12`."""
    if "|" in text:
        first, second = text.split("|")
        return Pair(operand(first), operand(second))
    if text == "_":
        return Sink()
    if text.startswith("!"):
        return Negated(Register(text[1:]))
    if text.startswith("-%"):
        return Minus(operand(text[1:]))  # type: ignore[arg-type]  # a register, or a part of one
    if text.startswith("%"):
        name, _, part = text.partition(".")
        return Selected(Register(name), part) if part else Register(name)
    if text.startswith(("0f", "0d")):
        return Float(int(f"0x{text[2:]}", 0), 32 if text[1] == "f" else 64)
    return Integer(int(text, 0))


@cache
@cache
def parse(line: str) -> Instruction:
    """One instruction: `add.rn.f32 %d, %a, %b`."""
    mnemonic, _, rest = line.strip().rstrip(";").partition(" ")
    opcode, *modifiers = mnemonic.split(".")
    return Instruction(opcode, tuple(modifiers), tuple(operand(part) for part in re.split(r",\s*", rest.strip())))


def llvm_type(type_name: str) -> ir.Type:
    if type_name == "f32":
        return F32
    if type_name == "f64":
        return F64
    return ir.IntType(BITS[type_name])


def storage(type_name: str) -> np.dtype[Any]:
    """The unsigned numpy type that holds a type's bits (uint8 for a predicate)."""
    return np.dtype(f"u{max(BITS[type_name], 8) // 8}")


class ArrayEmit:
    """`Emit` over SSA values: a register is the last value written to it."""

    def __init__(self, module: ir.Module, builder: ir.IRBuilder) -> None:
        self.module = module
        self.builder = builder
        self.registers: dict[str, tuple[ir.Value, str]] = {}
        self.carry: ir.Value = I1(0)

    def read(self, operand: Operand, type_name: str) -> ir.Value:
        kind = llvm_type(type_name)
        if isinstance(operand, Negated):
            return self.builder.not_(self.read(operand.operand, "pred"))
        if isinstance(operand, Integer):
            return kind(operand.value) if isinstance(kind, ir.IntType) else self._bits(kind, operand.value)
        if isinstance(operand, Float):
            return self._bits(kind, operand.bits)
        assert isinstance(operand, Register), operand
        value, declared = self.registers[operand.name]
        if value.type == kind:
            return value
        bits = self._as_integer(value, declared)
        if bits.type.width > BITS[type_name]:
            bits = self.builder.trunc(bits, ir.IntType(BITS[type_name]))
        assert bits.type.width == BITS[type_name], (operand, declared, type_name)
        return bits if isinstance(kind, ir.IntType) else self.builder.bitcast(bits, kind)

    @staticmethod
    def _bits(kind: ir.Type, bits: int) -> ir.Value:
        if isinstance(kind, ir.IntType):
            return kind(bits)
        return ir.Constant(I32 if kind == F32 else I64, bits).bitcast(kind)

    def _as_integer(self, value: ir.Value, declared: str) -> ir.Value:
        if isinstance(value.type, ir.IntType):
            return value
        return self.builder.bitcast(value, ir.IntType(BITS[declared]))

    def write(self, operand: Operand, value: ir.Value, type_name: str) -> None:
        assert value.type == llvm_type(type_name), (value.type, type_name)
        if isinstance(operand, Sink):
            return
        assert isinstance(operand, Register), operand
        self.registers[operand.name] = (value, type_name)

    def stored(self, name: str, type_name: str) -> ir.Value:
        """A register's bits as a store of `type_name` sees them: widened by the signedness it was written with."""
        value, written = self.registers[name]
        bits = self._as_integer(value, written)
        wanted = ir.IntType(max(BITS[type_name], 8))
        if bits.type.width == wanted.width:
            return bits
        assert bits.type.width < wanted.width
        return self.builder.sext(bits, wanted) if is_signed(written) else self.builder.zext(bits, wanted)

    def intrinsic(self, name: str, result: ir.Type, *arguments: ir.Value) -> ir.Value:
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        known = self.module.globals.get(name)
        function = ir.Function(self.module, kind, name) if known is None else known
        return self.builder.call(function, arguments)

    def subroutine(
        self,
        name: str,
        result: ir.Type,
        parameters: tuple[ir.Type, ...],
        build: Callable[[ir.IRBuilder, tuple[ir.Value, ...]], ir.Value],
    ) -> ir.Function:
        known = self.module.globals.get(name)
        if known is not None:
            return known
        function = ir.Function(self.module, ir.FunctionType(result, parameters), name)
        function.linkage = "private"
        builder = ir.IRBuilder(function.append_basic_block())
        builder.ret(build(builder, tuple(function.args)))
        return function

    def table(self, name: str) -> ir.Value:
        symbol = f"table.{name}"
        llvm.add_symbol(symbol, table(name).ctypes.data)
        known = self.module.globals.get(symbol)
        return ir.GlobalVariable(self.module, I8, symbol) if known is None else known

    def read_carry(self) -> ir.Value:
        return self.carry

    def write_carry(self, value: ir.Value) -> None:
        self.carry = value


def _object(text: str, *, vectorize: bool) -> bytes:
    """Compile LLVM IR to object code, or find it in the cache, which the session's processes share."""
    key = object_cache.digest([text, llvm_backend.fingerprint(), f"vectorize={vectorize}"])
    if object_cache.load(key) is None:
        object_cache.store(key, {}, {".o": _compile(text, vectorize=vectorize)})
    return object_cache.file_path(key, ".o").read_bytes()


def _compile(text: str, *, vectorize: bool) -> bytes:
    module = llvm.parse_assembly(text)
    module.verify()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    machine = target.create_target_machine(
        opt=2, cpu=llvm.get_host_cpu_name(), features=features, reloc="pic", codemodel="jitdefault", jit=True
    )
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = vectorize
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    code: bytes = machine.emit_object(module)
    return code


class Lanes:
    """Instructions compiled for arrays.

    Args:
        programs: name → (instructions, input registers with types, output registers with types); the input `%carry`
            of type `pred` sets the carry flag.
        vectorize: let LLVM vectorize the loop, as it does the device's; compiling takes twice as long.
    """

    def __init__(
        self, programs: dict[str, tuple[str, dict[str, str], dict[str, str]]], *, vectorize: bool = True
    ) -> None:
        self.programs = programs
        module = ir.Module()
        for name, (text, inputs, outputs) in programs.items():
            _function(module, name, text, inputs, outputs)
        self.text = str(module)
        self._code = llvm_backend.LoadedCode(_object(self.text, vectorize=vectorize))

    def run(self, name: str, *arrays: Array) -> list[Array]:
        """Applies a program to arrays of bits (unsigned), one an input; gives one array an output."""
        _, inputs, outputs = self.programs[name]
        count = len(arrays[0])
        given = [
            np.ascontiguousarray(array, storage(kind)) for array, kind in zip(arrays, inputs.values(), strict=True)
        ]
        results = [np.empty(count, storage(kind)) for kind in outputs.values()]
        function = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (len(given) + len(results)))(
            self._code.address(name)
        )
        function(count, *[array.ctypes.data for array in (*given, *results)])
        return results


def _function(module: ir.Module, name: str, text: str, inputs: dict[str, str], outputs: dict[str, str]) -> None:
    pointer = ir.PointerType()
    kind = ir.FunctionType(ir.VoidType(), [I64] + [pointer] * (len(inputs) + len(outputs)))
    function = ir.Function(module, kind, name)
    entry, loop, done = (function.append_basic_block(block) for block in ("entry", "loop", "done"))
    builder = ir.IRBuilder(entry)
    builder.cbranch(builder.icmp_signed(">", function.args[0], I64(0)), loop, done)
    ir.IRBuilder(done).ret_void()
    builder.position_at_end(loop)
    index = builder.phi(I64)
    emit = ArrayEmit(module, builder)
    for (register, type_name), base in zip(inputs.items(), function.args[1:], strict=False):
        _load(emit, register, type_name, base, index)
    for line in text.strip().splitlines():
        instruction = parse(line)
        lowering(instruction)(emit, instruction)
    for (register, type_name), base in zip(outputs.items(), function.args[1 + len(inputs) :], strict=True):
        bits = emit.stored(register, type_name)
        builder.store(bits, builder.gep(base, [index], source_etype=bits.type))
    following = builder.add(index, I64(1))
    index.add_incoming(I64(0), entry)
    index.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, function.args[0]), loop, done)


def _load(emit: ArrayEmit, register: str, type_name: str, base: ir.Value, index: ir.Value) -> None:
    builder = emit.builder
    if type_name == "pred":
        byte = builder.load(builder.gep(base, [index], source_etype=I8), typ=I8)
        value = builder.icmp_unsigned("!=", byte, I8(0))
    else:
        kind = llvm_type(type_name)
        value = builder.load(builder.gep(base, [index], source_etype=kind), typ=kind)
    if register == "%carry":
        emit.carry = value
    else:
        emit.registers[register] = (value, type_name)


def run(text: str, inputs: dict[str, str], outputs: dict[str, str], arrays: Sequence[Array]) -> list[Array]:
    """Compiles and applies one program."""
    return Lanes({"f": (text, inputs, outputs)}).run("f", *arrays)

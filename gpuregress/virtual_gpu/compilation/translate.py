"""Translation of a PTX module: parsing, checks, LLVM IR, object code, launch facts."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from itertools import pairwise

from gpuregress.gpu.errors import CodeLine, DeviceError, UnsupportedError
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.analysis.module_facts import check_cluster
from gpuregress.virtual_gpu.builder.translation_unit import Unit, byte_size, variable_facts
from gpuregress.virtual_gpu.checks import local_notes
from gpuregress.virtual_gpu.checks.dead_loads import with_guarded_loads
from gpuregress.virtual_gpu.checks.heap_cells import allocates
from gpuregress.virtual_gpu.checks.program_facts import (
    granules,
    has_strong_accesses,
    orders_in_part,
    synchronizes,
    usual_kind,
    volatile_data,
)
from gpuregress.virtual_gpu.compilation.assembler_checks import check, constant_bytes
from gpuregress.virtual_gpu.compilation.kernel import build_kernel
from gpuregress.virtual_gpu.functions.device_function import build_device_function, with_device_runtime
from gpuregress.virtual_gpu.functions.inlining import inlined
from gpuregress.virtual_gpu.isa.arithmetic.integer import with_constant_divisors
from gpuregress.virtual_gpu.isa.matrix.mma import with_batches
from gpuregress.virtual_gpu.isa.matrix.wgmma_results import with_results
from gpuregress.virtual_gpu.isa.memory.stack import with_addresses, with_stack
from gpuregress.virtual_gpu.isa.shadow_pass import with_shadows
from gpuregress.virtual_gpu.isa.warp_barriers import with_warp_barriers
from gpuregress.virtual_gpu.ptx.modifiers import NOT_UNDERSTOOD, not_understood
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Function, Module
from gpuregress.virtual_gpu.runtime import llvm_backend
from gpuregress.virtual_gpu.runtime.program import (
    NO_KERNEL,
    CompiledModule,
    KernelFacts,
    ModuleFacts,
    Schedule,
    SharedVariable,
)

STAGES = ("PTX", "lowering", "LLVM")
"""The stages of a compilation: parsing and checks, lowering to LLVM IR, LLVM's own time."""


def translate(
    tree: Module, kernels: Sequence[str], schedule: Schedule | None = None
) -> tuple[Unit, dict[str, KernelFacts]]:
    """Translate kernels, and the functions that they call, into LLVM IR: `str(unit.module)`.

    Args:
        tree: the PTX.
        kernels: mangled names.
        schedule: how the threads of a block are run; the usual way where not given.

    Raises:
        UnsupportedError: one of them needs an instruction that is not there; names it and its source line.
        DeviceError: there is no such kernel.
    """
    try:
        return _translated(tree, kernels, schedule)
    except NOT_UNDERSTOOD as error:
        raise not_understood(error) from error


def _translated(tree: Module, kernels: Sequence[str], schedule: Schedule | None) -> tuple[Unit, dict[str, KernelFacts]]:
    needed = replace(tree, functions=tuple(item for item in tree.functions if not item.is_skipped))
    plain = with_stack(with_addresses(with_device_runtime(needed)))
    if schedule is not None and schedule.instruments.accuracy:
        whole = with_warp_barriers(with_batches(with_shadows(inlined(plain))))
    else:
        whole = inlined(with_warp_barriers(with_batches(plain)))
    final = with_constant_divisors(with_results(whole))
    is_watched = schedule is not None and bool({"races", "uninitialized"} & set(schedule.instruments.checks))
    unit = Unit(with_guarded_loads(final) if is_watched else final, schedule)
    if is_watched:
        unit.granules = granules(unit.functions.values())
        looks_for_races = "races" in unit.schedule.instruments.checks
        unit.synchronizes = looks_for_races and synchronizes(unit.functions.values())
        unit.orders_in_part = unit.clustered or unit.has_bulk_copies or orders_in_part(unit.functions.values())
        unit.has_strong_accesses = has_strong_accesses(unit.functions.values())
        wanted = "uninitialized" in unit.schedule.instruments.checks
        unit.watches_local = wanted and local_notes.are_needed(unit.functions.values())
        unit.allocates = allocates(list(unit.functions.values()))
        unit.volatile_data = volatile_data(unit.functions.values(), unit.variables)
        if unit.schedule.instruments.conflicts:
            unit.commuting = usual_kind(unit.functions.values())
    facts: dict[str, KernelFacts] = {}
    for number, name in enumerate(kernels):
        function = unit.functions.get(name)
        if function is None or not function.is_entry:
            raise DeviceError(f"there is no kernel {name}; there are {', '.join(entries(tree)) or 'none'}")
        check_cluster(function)
        facts[name] = build_kernel(unit, function, f"kernel_{number}")
    done = 0
    while done < len(unit.called_functions):
        build_device_function(unit, unit.called_functions[done])
        done += 1
    return unit, facts


def check_ptx(text: str, kernels: Sequence[str], library_files: Collection[str] = ()) -> None:
    """Parse, check and translate a PTX text's kernels, without making code.

    Raises:
        UnsupportedError: one of them needs an instruction that is not there.
        CompileError: the PTX does not follow the grammar, or no assembler would take it.
    """
    tree = parse(text, kernels, library_files)
    try:
        check(tree)
    except NOT_UNDERSTOOD as error:
        raise not_understood(error) from error
    translate(tree, kernels)


def llvm_text(text: str, kernels: Sequence[str], library_files: Collection[str] = ()) -> str:
    """The LLVM IR of a PTX text's kernels as the optimiser gets it, to be read.

    Raises:
        UnsupportedError: one of them needs an instruction that is not there.
        DeviceError: there is no such kernel.
        CompileError: the PTX does not follow the grammar.
    """
    unit, _ = translate(parse(text, kernels, library_files), kernels)
    return str(unit.module)


def entries(tree: Module) -> list[str]:
    """The kernels of a module."""
    return [item.name for item in tree.functions if item.is_entry and item.body is not None]


def compile_module(
    text: str, kernels: Sequence[str], schedule: Schedule | None = None, library_files: Collection[str] = ()
) -> CompiledModule:
    """Compile a PTX text; see `object_cache.compiled`."""
    times = [time.perf_counter()]
    is_declared_only = tuple(kernels) == NO_KERNEL
    tree = parse(text, () if is_declared_only else kernels, library_files)
    try:
        check(tree)
    except NOT_UNDERSTOOD as error:
        raise not_understood(error) from error
    times.append(time.perf_counter())
    wanted = list(kernels or entries(tree))
    if is_declared_only:
        wanted = []
        tree = replace(tree, functions=tuple(_declared(function) for function in tree.functions))
    refused: dict[str, tuple[str, CodeLine | None]] = {}
    try:
        unit, facts = translate(tree, wanted, schedule)
    except UnsupportedError:
        refused = _refused(tree, wanted)
        if len(refused) == len(wanted):
            raise
        able = [name for name in wanted if name not in refused]
        unit, facts = translate(tree, able, schedule)
    shared = tuple(
        SharedVariable(key[1], unit.shared_starts[key], -1 if item.count is None else byte_size(item))
        for key, item in unit.shared.items()
    )
    module_facts = ModuleFacts(
        facts,
        tuple(unit.sites),
        tuple(variable_facts(unit.variables[name]) for name in unit.symbols),
        tuple(unit.tables),
        shared,
        {name: unit.function_address(name) for name in unit.functions},
        unit.dynamic_start,
        refused,
        constant_bytes(tree),
        tuple(unit.probes.values()),
        tuple(stretch for _, stretch in unit.stretches.values()),
    )
    is_optimised = schedule is None or schedule.is_optimised
    lowered = str(unit.module)
    times.append(time.perf_counter())
    code = llvm_backend.compile_object(lowered, is_optimised=is_optimised)
    times.append(time.perf_counter())
    ends = zip(STAGES, pairwise(times), strict=True)
    return CompiledModule(code, module_facts, {stage: end - start for stage, (start, end) in ends})


def _declared(function: Function) -> Function:
    """A function without its statements, which keeps its address."""
    return replace(function, body=None if function.body is None else ())


def _refused(tree: Module, kernels: Sequence[str]) -> dict[str, tuple[str, CodeLine | None]]:
    """Return the kernels that cannot be translated, each with the message and the source line."""
    refused: dict[str, tuple[str, CodeLine | None]] = {}
    for name in kernels:
        try:
            translate(tree, [name])
        except UnsupportedError as error:
            refused[name] = str(error), error.source_line
    return refused

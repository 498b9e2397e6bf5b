"""Compiled modules by content, and the proof that two programs are equivalent by equal code."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.errors import InfeasibleSource
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.cache import Cache
from gpuregress.virtual_gpu.runtime import llvm_backend
from gpuregress.virtual_gpu.runtime.program import CompiledModule, ModuleFacts, Schedule

# --- the cache --------------------------------------------------------------------------------------------------------


def compiled(
    text: str,
    kernels: Sequence[str],
    schedule: Schedule | None = None,
    *,
    library_files: Collection[str] = (),
    cache: Cache | None = None,
) -> CompiledModule:
    """Compile the kernels of a PTX text, or find them in the cache.

    Args:
        text: the PTX.
        kernels: mangled names; none: all; `NO_KERNEL`: the module is checked, and no kernel of it is built.
        schedule: how the threads of a block are run; the usual way where not given.
        library_files: see `ptx.parser.parse`.
        cache: where compiled modules are kept; None: nowhere.

    Raises:
        UnsupportedError: every kernel needs an unsupported instruction. Where some do, the others can be launched.
        CompileError: the PTX does not follow the grammar.
        InfeasibleSource: it needs more memory than the architecture has, as was found now or before.
    """
    schedule = schedule or Schedule()
    if cache is None:
        return _compile(text, kernels, schedule, library_files)
    words = ["\n".join(kernels), "\n".join(library_files), llvm_backend.fingerprint(), repr(schedule)]
    key = cache.digest([text, *words, *_own_code()])
    module = _load(key, cache)
    if module is not None:
        return module
    with cache.making(key):
        module = _load(key, cache)
        if module is not None:
            return module
        try:
            module = _compile(text, kernels, schedule, library_files)
        except InfeasibleSource as refused:
            cache.keep(key, {"infeasible": str(refused)}, {})
            raise
        cache.keep(key, {"facts": msgspec.json.encode(module.facts).decode()}, {".o": module.code})
    return module


def _compile(text: str, kernels: Sequence[str], schedule: Schedule, library_files: Collection[str]) -> CompiledModule:
    from gpuregress.virtual_gpu.compilation.translate import compile_module  # noqa: PLC0415 - costs 100 ms

    with _without_collection():
        return compile_module(text, kernels, schedule, library_files)


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Leave the garbage collector off: it would walk through the growing syntax trees, a fifth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _load(key: str, cache: Cache) -> CompiledModule | None:
    """The cached module; None where there is none, or none that can be used."""
    record = cache.load(key)
    if record is None:
        return None
    if "infeasible" in record:
        raise InfeasibleSource(str(record["infeasible"]))
    try:
        facts = msgspec.json.decode(record["facts"], type=ModuleFacts)
        return CompiledModule(cache.file_path(key, ".o").read_bytes(), facts)
    except (OSError, msgspec.DecodeError):
        return None


@functools.cache
def _own_code() -> tuple[bytes, ...]:
    """The compiler's own code, and that of `gpu`, which it is built on: part of every key."""
    root = Path(__file__).parents[2]
    paths = [*sorted((root / "gpu").rglob("*.py")), *sorted((root / "virtual_gpu").rglob("*.py"))]
    return tuple(path.read_bytes() for path in paths)


# --- equality of code -------------------------------------------------------------------------------------------------
# Proof that two programs are equivalent by equal optimised code (trivial compiler equivalence).
#
# M. Papadakis et al., "Trivial Compiler Equivalence: A Large Scale Empirical Study", ICSE 2015.


MOST_CHARACTERS = 100_000
"""Of a PTX text that is compared; larger ones compile for many seconds."""
_ORDERING = re.compile(
    r"(?P<guard>@!?%[\w$]+\s+)?(?P<opcode>membar|fence|bar\.warp|barrier\.cluster|griddepcontrol|mbarrier"
    r"|wgmma\.(?:fence|commit_group|wait_group)|cp\.async\.(?:bulk\.)?(?:commit|wait)\w*|cp\.async\.mbarrier)\b[^;{}]*;"
)
_MASKED = re.compile(
    r"(?P<guard>@!?%[\w$]+\s+)?(?:shfl|vote|match|redux)\.(?:\w+\.)*?sync\b[^;{}]*,\s*(?P<mask>[\w%$-]+)\s*;"
)
_REQUIRED_BLOCK = re.compile(r"\.reqntid\s+(?P<sizes>\d+(?:\s*,\s*\d+)*)")
_INDEX = re.compile(r"(?<!\S)mov\.[ub]32\s+(?P<result>%\w+),\s*%(?P<name>tid|ctaid)\.(?P<axis>[xyz])\s*;")
_COMMENT = re.compile(r"//[^\n]*")


def is_equivalent(
    first: str, second: str, kernels: Sequence[str], card: str = SM_90.name, cache: Cache | None = None
) -> bool:
    """Tell whether two PTX texts are proven to have the same effects, for every launch.

    The optimiser is given the ranges of thread and block indices. Instructions that only order memory have no code on
    this device, and masks of lanes may have none: a store is put before each, so that a program that executes it under
    another condition, or with another mask, is another one.

    Args:
        first: the PTX.
        second: the other one.
        kernels: mangled names of the kernels that are compared.
        card: the architecture whose tensor cores are emulated.
        cache: where compiled modules are kept.

    Raises:
        GpuregressError: the errors of `compiled`.
    """
    if max(len(first), len(second)) > MOST_CHARACTERS:
        return False
    marked = [_with_marks(text) for text in (first, second)]
    schedule = Schedule(proven_rows=False, counts=False, card=card)
    ranged = map(_with_ranges, marked)
    return _is_same_code(ranged, kernels, schedule, cache) or _is_same_code(marked, kernels, schedule, cache)


def _is_same_code(texts: Iterable[str], kernels: Sequence[str], schedule: Schedule, cache: Cache | None) -> bool:
    one, other = (compiled(text, tuple(kernels), schedule, cache=cache) for text in texts)
    return one.code == other.code and _facts(one) == _facts(other)


def _with_marks(text: str) -> str:
    """The PTX with a volatile store before each instruction that orders memory, and of each mask of lanes."""
    numbers = itertools.count(1)
    masked = _MASKED.sub(
        lambda match: f"{match['guard'] or ''}st.volatile.shared.u32 [20], {match['mask']}; {match[0]}",
        _COMMENT.sub("", text),
    )
    return _ORDERING.sub(
        lambda match: f"{match['guard'] or ''}st.volatile.shared.u32 [16], {next(numbers)}; {match[0]}", masked
    )


def _with_ranges(text: str) -> str:
    """The PTX with the largest value of each index of a thread or block, which changes none that a launch may have."""
    sizes = [match["sizes"].split(",") for match in _REQUIRED_BLOCK.finditer(text)]
    block = [int(size) for size in sizes[0]] if len(sizes) == 1 == text.count(".entry") else list(SM_90.max_block)
    most = {
        "tid": [size - 1 for size in (*block, 1, 1)[:3]],
        "ctaid": [size - 1 for size in SM_90.max_grid],
    }
    return _INDEX.sub(
        lambda match: (
            f"{match[0]} min.u32 {match['result']}, {match['result']}, "
            f"{most[match['name']]['xyz'.index(match['axis'])]};"
        ),
        text,
    )


def _facts(module: CompiledModule) -> ModuleFacts:
    """The facts that a launch needs, without those that name lines and those that only divide its work over cores."""
    kernels = {
        name: replace(facts, footprint=None, uncounted=(), unwatched=()) for name, facts in module.facts.kernels.items()
    }
    return replace(module.facts, kernels=kernels, sites=(), probes=(), stretches=())

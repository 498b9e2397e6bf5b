"""Proof that two programs are equivalent by equal optimised code (trivial compiler equivalence).

M. Papadakis et al., "Trivial Compiler Equivalence: A Large Scale Empirical Study", ICSE 2015.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence

from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.cache import Cache
from gpuregress.virtual_gpu.compilation import object_cache
from gpuregress.virtual_gpu.runtime.program import CompiledModule, ModuleFacts, Schedule

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

    The optimiser is told the ranges of thread and block indices. Instructions that only order memory have no code on
    this device, and masks of lanes may have none: a store is put before each, so that a program that executes it under
    another condition, or with another mask, is another one.

    Args:
        first: the PTX.
        second: the other one.
        kernels: mangled names of the kernels that are compared.
        card: the architecture whose tensor cores are emulated.
        cache: where compiled modules are kept.

    Raises:
        GpuregressError: the errors of `object_cache.compiled`.
    """
    if max(len(first), len(second)) > MOST_CHARACTERS:
        return False
    marked = [_with_marks(text) for text in (first, second)]
    schedule = Schedule(proven_rows=False, counts=False, card=card)
    ranged = map(_with_ranges, marked)
    return _is_same_code(ranged, kernels, schedule, cache) or _is_same_code(marked, kernels, schedule, cache)


def _is_same_code(texts: Iterable[str], kernels: Sequence[str], schedule: Schedule, cache: Cache | None) -> bool:
    one, other = (object_cache.compiled(text, tuple(kernels), schedule, cache=cache) for text in texts)
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

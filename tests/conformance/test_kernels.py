"""Whole kernels: what an H200 stored, and what Python says they must store.

Every program runs here in one of its variants, every sixth kernel of it; all of them, and the jobs of configs/, with
`python -m tests.conformance.kernels compare cpu tests/conformance/kernels/digests.json`.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpuregress.execution.device_registry import open_device
from gpuregress.gpu.records import replace
from tests.conformance.kernels import images, programs
from tests.conformance.kernels.execute import DIGESTS, compiled, digest, launch
from tests.conformance.kernels.programs import Variant
from tests.devices import texture_oracle
from tests.slow_cases import some_slow

Words = npt.NDArray[np.uint32]
Oracle = Callable[[Words], npt.NDArray[Any]]


SLOW_TO_OPTIMISE = ("cub_block", "library", "math_double", "random")
"""Programs that run here as those of launches of few threads do: without the seconds of LLVM's optimisation."""


QUICK = ("filtering", "language", "matrices", "matrix_moves", "warps")
"""Programs whose tests are not slow."""


def _variant(program: str) -> Variant:
    variants = programs.variants(program)
    return variants[programs.names().index(program) % len(variants)]


def _run(program: str, kernels: list[str], variant: Variant) -> dict[str, tuple[bytes, str]]:
    built = compiled(programs.source(program, variant), "cpu")
    few = replace(built, entries={name: built.entries[name] for name in kernels})
    with open_device("cpu") as device:
        module = device.load(few, 1 if program in SLOW_TO_OPTIMISE else None)
        shapes = programs.kernels(program)
        return {name: launch(device, module, few.entries[name].mangled, shapes[name]) for name in kernels}


@pytest.mark.parametrize("program", some_slow(programs.names(), set(programs.names()) - set(QUICK)))
def test_programs_store_what_the_card_stored_and_what_they_say(program: str) -> None:
    recorded = json.loads(DIGESTS.read_text(encoding="utf-8"))
    variant = _variant(program)
    chosen = list(programs.kernels(program))[::6]
    explained = [kernel for name, kernel in ORACLES if name == program]
    results = _run(program, list(dict.fromkeys([*chosen, *explained])), variant)
    actual = {}
    for kernel, (written, printed) in results.items():
        full = f"{program}/{kernel}/{variant.name}"
        actual[full] = digest(full, written, printed)
        if kernel in explained:
            oracle, part = ORACLES[program, kernel]
            assert (part(np.frombuffer(written, np.uint32)) == oracle(programs.words())).all(), kernel
    wrong = {name: value for name, value in actual.items() if recorded.get(name) != value}
    assert not {name: value for name, value in wrong.items() if not programs.left_open(name)}


def test_the_card_was_asked_for_every_kernel_but_those_that_are_said() -> None:
    recorded = set(json.loads(DIGESTS.read_text(encoding="utf-8")))
    wanted = {
        f"{program}/{kernel}/{variant.name}"
        for program in programs.names()
        for kernel in programs.kernels(program)
        for variant in programs.variants(program)
    }
    assert {name for name in wanted - recorded if not programs.left_open(name)} == set()
    assert {name for name in recorded - wanted if not name.startswith("jobs/")} == set()
    assert all(any(fnmatch.fnmatchcase(name, pattern) for name in wanted | recorded) for pattern in programs.OPEN)


def test_every_program_has_kernels_and_every_kernel_a_launch() -> None:
    shapes = {name: programs.kernels(name) for name in programs.names()}
    assert all(shapes.values())
    assert sum(len(kernels) for kernels in shapes.values()) > 300
    assert shapes["blocks"]["coordinates"].grid == (3, 2, 2)
    assert shapes["blocks"]["dynamic_shared"].shared == 5120


# --- oracles ----------------------------------------------------------------------------------------------------------


def _blocks(x: Words, size: int, count: int) -> Words:
    return x[: size * count].reshape(count, size)


def _sorted_blocks(x: Words) -> Words:
    return np.sort(_blocks(x, 256, 4), 1).ravel()


def _merge_sorted(x: Words) -> Words:
    return np.sort(_blocks(x, 512, 4), 1).ravel()


def _radix_sorted(x: Words) -> Words:
    rows = np.sort(_blocks(x, 512, 4), 1)
    rows[1::2] = rows[1::2, ::-1]
    return rows.ravel()


def _sorted_long_words(x: Words) -> Words:
    rows = np.sort(x[: 4 * 512 * 2].view(np.int64).reshape(4, 512), 1)
    rows[1::2] = rows[1::2, ::-1]
    return rows.ravel().view(np.uint32)


def _scanned(x: Words) -> Words:
    return np.cumsum(_blocks(x, 256, 4) & 0xFFFF, 1, dtype=np.uint32).ravel()


def _counted(x: Words) -> Words:
    rows = _blocks(x, 256, 4)
    odd, last = (rows & 1).sum(1), ((rows & 1023) == 5).any(1)
    return np.stack([odd, (rows != 12345).all(1), last, 0 * odd], 1).repeat(256, 0).astype(np.uint32).ravel()


def _histogram(x: Words) -> Words:
    return np.concatenate([np.bincount(row & 63, minlength=64) for row in _blocks(x, 512, 4)]).astype(np.uint32)


def _locked(x: Words) -> Words:
    sums = (_blocks(x, 256, 4) & 255).sum(1)
    return np.stack([0 * sums, sums, 0 * sums + pow(3, 256, 1 << 32), 0 * sums], 1).astype(np.uint32).ravel()


def _added_brain_floats(x: Words) -> Words:
    odd = float((x[:256] & 1).sum())
    pair, one = (
        np.array([odd, 128], np.float32).view(np.uint32) >> 16,
        np.array([512], np.float32).view(np.uint32) >> 16,
    )
    return np.tile(np.array([pair[0] | pair[1] << 16, one[0]], np.uint32), 4)


def _long_division(x: Words) -> Words:
    """The 128-bit quotients of `double_long_words`, and the low halves of its remainders."""
    result = []
    for i in range(1024):
        a, b, c, d = (int(x[i + 1024 * position]) for position in range(4))
        b = b >> i % 32 if i % 5 else 0
        first, second = a << 32 | c, (b << 32 | d) >> i % 64 if i % 7 else 3
        dividend = (first * second + (c << 90) - first) % (1 << 128)
        quotient = dividend // (second | 1)
        low = (1 << 64) - 1
        result.append([quotient & low, quotient >> 64, dividend % (first | 1) & low])
    return np.array(result, np.uint64).view(np.uint32)


def _wide_division(x: Words) -> Words:
    """The quotients of `long_words`."""
    result = []
    for i in range(1024):
        a, b, c, d = (int(x[i + 1024 * position]) for position in range(4))
        b = b >> i % 32 if i % 5 else 0
        wide, divisor = a << 32 | c, ((b << 32 | d) >> i % 64 if i % 7 else 3) or 1
        result.append(wide // divisor)
    return np.array(result, np.uint64).view(np.uint32).reshape(-1, 2)


def _ring(x: Words) -> Words:
    """What `clusters/ring` keeps after five rounds: 8 blocks in clusters of 4."""
    kept = x[:1024].reshape(2, 4, 128).copy()
    for step in range(5):
        kept ^= np.roll(kept + np.uint32(step), -1, axis=1)[:, :, ::-1]
    return kept.ravel()


def _sent(x: Words) -> Words:
    """What `clusters/sent` finds in the memory that the other block of two has written, six words a thread."""
    own, more = (x[start : start + 1024].reshape(4, 2, 128)[:, ::-1] for start in (0, 1024))
    total, least = own.sum(2, dtype=np.uint32), own.min(2)
    whole = [np.broadcast_to(value[:, :, None], own.shape) for value in (total, least)]
    return np.stack([own[:, :, ::-1] + np.uint32(1), own, own, more, *whole], axis=-1).ravel()


def _warps(x: Words) -> Words:
    return x[:256].reshape(8, 32)


def _warp_scans(x: Words) -> Words:
    return np.cumsum(_warps(x), 1, dtype=np.uint32).ravel()


def _warp_rotations(x: Words) -> Words:
    rows = _warps(x)
    for step in range(5):
        rows = np.roll(rows, 1, 1) * np.uint32(3) + np.uint32(step)
    return rows.ravel()


def _warp_permutations(x: Words) -> Words:
    rows, places = x[256:512].reshape(8, 32), (_warps(x) % 32).astype(int)
    for step in range(4):
        rows = np.take_along_axis(rows, places, 1) + np.uint32(step)
    return rows.ravel()


def _warp_reductions(x: Words) -> Words:
    sums = (x[:1024].reshape(4, 256) >> 12).astype(np.float32) * np.float32(2**-13)
    for step in (128, 64):
        sums = sums[:, :step] + sums[:, step : 2 * step]
    for step in (32, 16, 8, 4, 2, 1):
        sums[:, :32] = sums[:, :32] + sums[:, step : step + 32]
    return np.pad(sums[:, :32], ((0, 0), (0, 224))).ravel().view(np.uint32)


def _chain(x: Words) -> Words:
    results = [0]
    for word in x[:64][::-1].tolist():
        results.append((word + 3 * results[-1]) % 2**32)
    return np.array(results[:0:-1], np.uint32)


def _turns(x: Words) -> Words:
    sums = np.zeros(64, np.uint32)
    for row in x[: 48 * 64].reshape(48, 64)[::-1]:
        sums = sums * np.uint32(5) + row
    return sums


def _places(x: Words, extents: tuple[int, ...], *, normalized: bool) -> tuple[npt.NDArray[np.float32], ...]:
    """The coordinates that the kernels of `textures` sample at."""
    result = []
    for axis, extent in enumerate(extents):
        word = x[1024 * axis : 1024 * axis + 512]
        position = (word % (5 * extent)).astype(int) - 2 * extent + (1 + (word >> 16) % 7) / 8
        result.append(position.astype(np.float32) / np.float32(extent if normalized else 1))
    return tuple(result)


def _sampled(kernel: str, step: int) -> Oracle:
    """What a kernel of `textures` finds that reads a number from each of its images: `step` words a thread."""

    def oracle(x: Words) -> npt.NDArray[Any]:
        result = np.zeros((512, step), np.uint32)
        for number, item in enumerate(programs.kernels("textures")[kernel].images):
            content = images.content(item, number)
            extents = tuple(extent for extent in item.extents if extent)
            places = _places(x, extents, normalized=item.sampler.normalized)
            values = texture_oracle.sample(content.reshape(*extents[::-1], item.channels), item, places)
            result[:, number] = np.ascontiguousarray(values.astype(content.dtype)).view(np.uint32).reshape(512)
        return result.ravel()

    return oracle


ORACLES: dict[tuple[str, str], tuple[Oracle, Callable[[Words], npt.NDArray[Any]]]] = {
    ("blocks", "sort"): (_sorted_blocks, lambda y: y[:1024]),
    ("blocks", "counting_barriers"): (_counted, lambda y: y[:4096]),
    ("warps", "scan"): (_scanned, lambda y: y[:1024]),
    ("cub_block", "sort_words"): (_radix_sorted, lambda y: y[:2048]),
    ("cub_block", "sort_long_words"): (_sorted_long_words, lambda y: y[:4096]),
    ("cub_block", "merge_sort"): (_merge_sorted, lambda y: y[:2048]),
    ("cub_block", "histogram_sort"): (_histogram, lambda y: y[:256]),
    ("cub_block", "histogram_atomic"): (_histogram, lambda y: y[:256]),
    ("atomics", "lock"): (_locked, lambda y: y[:16]),
    ("integers", "long_words"): (_wide_division, lambda y: y[: 16 * 1024].reshape(1024, 16)[:, :2]),
    ("integers", "double_long_words"): (_long_division, lambda y: y[: 16 * 1024].reshape(1024, 16)[:, 8:14]),
    ("bfloat", "atomics"): (_added_brain_floats, lambda y: y[:8]),
    ("clusters", "ring"): (_ring, lambda y: y[:1024]),
    ("clusters", "sort"): (lambda x: np.sort(_blocks(x, 512, 2), 1).ravel(), lambda y: y[:1024]),
    ("clusters", "histogram"): (lambda x: np.bincount(x % 256, minlength=256), lambda y: y[:256]),
    ("clusters", "sent"): (_sent, lambda y: y[: 6 * 1024]),
    **{
        ("textures", name): (_sampled(name, 8), lambda y: y[: 8 * 512])
        for name in ("row", "plane", "brick", "mixed_modes")
    },
    ("warp_synchronous", "reduction"): (_warp_reductions, lambda y: y[:1024]),
    ("warp_synchronous", "scan"): (_warp_scans, lambda y: y[:256]),
    ("warp_synchronous", "padded_scan"): (_warp_scans, lambda y: y[:256]),
    ("warp_synchronous", "rotation"): (_warp_rotations, lambda y: y[:256]),
    ("warp_synchronous", "permutation"): (_warp_permutations, lambda y: y[:256]),
    ("warp_synchronous", "later_blocks"): (_chain, lambda y: y[:64]),
    ("warp_synchronous", "turns"): (_turns, lambda y: y[:64]),
    ("asynchronous", "group_copy"): (lambda x: _blocks(x, 512, 4)[:, ::-1].ravel(), lambda y: y[:2048]),
    ("asynchronous", "latches"): (
        lambda x: _blocks(x, 128, 4).sum(1, dtype=np.uint32).repeat(128),
        lambda y: y[:512],
    ),
}


def test_what_is_printed_is_what_c_prints() -> None:
    lines = _run("printing", ["formats"], _variant("printing"))["formats"][1].splitlines()
    assert lines[1] == "[      42][42      ][00000042][+42][ 42][0xff][010]"
    assert lines[3] == "3.250000 1.234568e+04 1e-07 1E+20 -5.000000E-01 0x1p+0"
    assert lines[4] == "[     3.142][2.72e+00  ][+2][-0001.5000][0.3333333333]"
    assert lines[5] == "plain [     right] [left  ] [cu]"
    assert lines[6] == "inf -inf 0.000000"
    assert lines[7] == "[    42] [%.*f]"

"""wgmma, and the descriptors of its matrices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault, UnsupportedError
from gpuregress.virtual_gpu.isa.matrix.wgmma import DescribedMatrix
from tests.virtual_gpu.isa.matrix.warpgroups import Array, descriptor, run, sums, wgmma_kernel
from tests.virtual_gpu.running import Running

with np.load(Path(__file__).with_name("warpgroup.npz")) as _file:
    VECTORS = dict(_file)
FORMS = sorted({name.partition("/")[0] for name in VECTORS})
SIGNS = {"f16": ", 1, 1, 0", "bf16": ", 1, 1, 0", "tf32": ", 1, 1", "e4m3": ", 1, 1", "e5m2": ", 1, 1"}
PLAIN = descriptor(0, 128, 256)


def _stored(rows: Array, start: int = 0) -> Array:
    """Shared memory with rows of 32 bytes, [group][row][8 words]: core matrices of 8 rows, LBO 128, SBO 256."""
    groups, count, _ = rows.shape
    shared = np.zeros((groups, 8192), np.uint32)
    cores = rows.reshape(groups, count // 8, 8, 2, 4).transpose(0, 1, 3, 2, 4)
    shared[:, start // 4 : start // 4 + count * 8] = cores.reshape(groups, -1)
    return shared


@pytest.mark.parametrize("form", FORMS)
def test_sums_have_the_bits_of_a_card(form: str, tmp_path: Path) -> None:
    depth, kind, result = form.split("_")
    a, b, c, d = (VECTORS[f"{form}/{name}"] for name in "abcd")
    text = wgmma_kernel(
        f"wgmma.mma_async.sync.aligned.m64n8{depth}.{result}.{kind}.{kind}", d.shape[2], signs=SIGNS[kind]
    )
    got = run(tmp_path, text, (a, c, _stored(b)), [(1, 0, PLAIN)] * len(a), d.shape[2])
    assert (got == d).all()


def _bytes(kind: str, values: Array) -> Array:
    """Rows of numbers in 32 bytes each, as words."""
    if kind in ("s8", "u8"):
        return values.astype(np.int64).astype(np.uint8).view(np.uint32)
    if kind == "f16":
        return values.astype(np.float16).view(np.uint32)
    singles = values.astype(np.float32).view(np.uint32)
    if kind == "tf32":
        return singles
    return (singles >> 16).astype(np.uint16).view(np.uint32)


@pytest.mark.parametrize(("kinds", "columns"), [("f16.f16", 256), ("bf16.bf16", 24), ("tf32.tf32", 64), ("s8.u8", 96)])
def test_both_matrices_come_from_shared_memory(kinds: str, columns: int, tmp_path: Path) -> None:
    left, right = kinds.split(".")
    depth = {"f16": 16, "bf16": 16, "tf32": 8}.get(left, 32)
    generator = np.random.default_rng(columns)
    result = "s32" if depth == 32 else "f32"
    low = {kind: 0 if kind == "u8" else -8 for kind in (left, right)}
    a = generator.integers(low[left], 9, (2, 64, depth))
    b = generator.integers(low[right], 9, (2, columns, depth))
    shared = _stored(_bytes(left, a)) | _stored(_bytes(right, b), 4096)
    c = np.arange(2 * 128 * columns // 2).reshape(2, 128, columns // 2)
    words = c.astype(np.int32 if result == "s32" else np.float32).view(np.uint32)
    signs = {16: ", 1, 1, 0, 0", 8: ", 1, 1", 32: ""}[depth]
    name = f"wgmma.mma_async.sync.aligned.m64n{columns}k{depth}.{result}.{kinds}"
    text = wgmma_kernel(name, columns // 2, signs=signs, registers=0)
    settings = [(scale, PLAIN, descriptor(4096, 128, 256)) for scale in (1, 0)]
    got = sums(run(tmp_path, text, (np.zeros(1, np.uint32), words, shared), settings, columns // 2))
    expected = np.einsum("gik,gjk->gij", a, b) + sums(c) * np.array([1, 0])[:, None, None]
    assert (got.view(np.int32 if result == "s32" else np.float32) == expected).all()


@pytest.mark.parametrize(("signs", "factor"), [("1, 1", 1), ("-1, 1", -1), ("1, -1", -1), ("-1, -1", 1)])
def test_the_signs_of_a_and_b_negate_the_products(signs: str, factor: int, tmp_path: Path) -> None:
    a, b, c, d = (VECTORS[f"k16_f16_f32/{name}"][:3] for name in "abcd")
    flipped = a if factor > 0 else a ^ np.uint32(0x80008000)
    text = wgmma_kernel("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", 4, signs=f", {signs}, 0")
    got = run(tmp_path, text, (flipped, c, _stored(b)), [(1, 0, PLAIN)] * 3, 4)
    assert (got == d).all()


@pytest.mark.parametrize(("words", "expected"), [("", -(2**31) + 31 * 32 * 16 - 1), (".satfinite", 2**31 - 1)])
def test_sums_of_integers_wrap_or_stop(words: str, expected: int, tmp_path: Path) -> None:
    ones = np.full((1, 64, 8), 0x1F1F1F1F, np.uint32)
    sixteens = np.full((1, 8, 8), 0x10101010, np.uint32)
    shared = _stored(ones) | _stored(sixteens, 4096)
    c = np.full((1, 128, 4), 2**31 - 1, np.uint32)
    name = f"wgmma.mma_async.sync.aligned.m64n8k32{words}.s32.s8.s8"
    settings = [(1, PLAIN, descriptor(4096, 128, 256))]
    got = run(tmp_path, wgmma_kernel(name, 4, registers=0), (np.zeros(1, np.uint32), c, shared), settings, 4)
    assert (got.view(np.int32) == expected).all()


def test_single_bits_are_counted_where_both_have_them(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    a, b = (generator.integers(0, 2**32, (1, count, 8), np.uint32) for count in (64, 16))
    name = "wgmma.mma_async.sync.aligned.m64n16k256.s32.b1.b1.and.popc"
    shared = _stored(a) | _stored(b, 4096)
    c = np.zeros((1, 128, 8), np.uint32)
    settings = [(1, PLAIN, descriptor(4096, 128, 256))]
    got = sums(run(tmp_path, wgmma_kernel(name, 8, registers=0), (c, c, shared), settings, 8))
    common = a[0][:, None, :] & b[0][None, :, :]
    assert (got[0] == np.bitwise_count(common).sum(2)).all()


def test_a_descriptor_beyond_shared_memory_is_a_fault(tmp_path: Path) -> None:
    text = wgmma_kernel("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", 4, signs=", 1, 1, 0")
    words = np.zeros((1, 128, 4), np.uint32)
    with pytest.raises(KernelFault, match=r"out-of-bounds read of 16 bytes at tile\[16384\] .*PTX line"):
        run(tmp_path, text, (words, words, np.zeros((1, 8192), np.uint32)), [(1, 0, descriptor(32768, 128, 256))], 4)


def test_half_a_warpgroup_is_a_fault(tmp_path: Path) -> None:
    text = wgmma_kernel("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", 4, signs=", 1, 1, 0")
    running = Running(tmp_path, text, "k")
    buffers = [running.put(name, np.zeros(32768, np.uint32)) for name in "abcde"]
    with pytest.raises(KernelFault, match="needs the 128 threads of a whole warpgroup; the block has 64"):
        running.launch("k", 1, 64, *buffers)


@pytest.mark.parametrize(
    "name", ["m64n8k32.f32.f16.f16", "m64n12k16.f32.f16.f16", "sp.m64n8k32.f32.f16.f16", "m64n8k16.f32.f16"]
)
def test_other_forms_are_refused(name: str, tmp_path: Path) -> None:
    text = wgmma_kernel(f"wgmma.mma_async.sync.aligned.{name}", 4, signs=", 1, 1, 0")
    with pytest.raises(UnsupportedError, match="wgmma"):
        Running(tmp_path, text, "k")


@pytest.mark.parametrize("signs", [", 2, 1, 0", ", 1, 0, 0", ", 1, 1, 2"])
def test_other_signs_are_refused(signs: str, tmp_path: Path) -> None:
    text = wgmma_kernel("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", 4, signs=signs)
    with pytest.raises(UnsupportedError, match="a sign is 1 or -1, and a transposition 0 or 1"):
        Running(tmp_path, text, "k")


def _metadata(generator: np.random.Generator, depth: int, *, pairs: bool) -> tuple[Array, Array]:
    """Registers of metadata, [thread], for selector 0, and the places of the held elements, [row][element]."""
    count, nibbles = (2, (0b0100, 0b1110)) if pairs else (4, (0x4, 0x8, 0xC, 0x9, 0xD, 0xE))
    chunks = depth // count
    chosen = generator.choice(nibbles, (64, chunks))
    words = np.zeros(128, np.uint32)
    for row in range(64):
        for chunk in range(chunks):
            inner = row % 16
            lane = 4 * (inner % 8) + (chunk // 4 if chunks < 16 else inner // 8 + 2 * (chunk // 8))
            shift = 4 * (chunk % 8) if chunks == 16 else 16 * (inner // 8) + 4 * (chunk % 4)
            words[row // 16 * 32 + lane] |= np.uint32(int(chosen[row, chunk]) << shift)
    held = (chosen == 0b1110)[..., None] if pairs else np.stack([chosen & 3, chosen >> 2], 2)
    return words, (held + count * np.arange(chunks)[:, None]).reshape(64, -1)


@pytest.mark.parametrize(("kinds", "columns"), [("f16.f16", 16), ("tf32.tf32", 8), ("e4m3.e4m3", 24), ("s8.u8", 8)])
def test_a_sparse_matrix_meets_the_rows_that_its_metadata_name(kinds: str, columns: int, tmp_path: Path) -> None:
    left, right = kinds.split(".")
    depth = {"tf32": 16, "f16": 32, "bf16": 32}.get(left, 64)
    result = "s32" if right == "u8" else "f32"
    generator = np.random.default_rng(depth)
    metadata, held = _metadata(generator, depth, pairs=left == "tf32")
    a, b = (generator.integers(0, 4, (1, *shape)) for shape in ((64, depth // 2), (columns, depth)))
    codes = np.array([0x00, 0x38, 0x40, 0x44])  # 0, 1, 2, 3 as e4m3
    stored = [_bytes("u8", codes[item]) if left == "e4m3" else _bytes(left, item) for item in (a, b)]
    # B has two core matrices more along its inner dimension: LBO 128, SBO 512.
    shared = _stored(stored[0])
    cores = stored[1].reshape(columns // 8, 8, 4, 4).transpose(0, 2, 1, 3)
    shared[0, 1024 : 1024 + columns * 16] = cores.reshape(-1)
    signs = {"f16": ", 1, 1, 0, 0", "bf16": ", 1, 1, 0, 0", "s8": ""}.get(left, ", 1, 1")
    name = f"wgmma.mma_async.sp.sync.aligned.m64n{columns}k{depth}.{result}.{kinds}"
    text = wgmma_kernel(name, columns // 2, signs=signs, registers=0)
    text = text.replace("%rd11, %p0", "%rd11, %a0, 0, %p0").replace(
        "mov.u32 %r4, tile;", "ld.global.b32 %a0, [%rd0]; mov.u32 %r4, tile;"
    )
    zeros = np.zeros((1, 128, columns // 2), np.uint32)
    settings = [(1, PLAIN, descriptor(4096, 128, 512))]
    got = sums(run(tmp_path, text, (metadata, zeros, shared), settings, columns // 2))[0]
    expected = np.einsum("ie,jie->ij", a[0], b[0][:, held])
    assert (got.view(np.int32 if result == "s32" else np.float32) == expected).all()


def test_the_blocks_of_a_cluster_multiply_their_own_matrices(tmp_path: Path) -> None:
    a, b, c, d = (VECTORS[f"k16_f16_f32/{name}"][:2] for name in "abcd")
    text = wgmma_kernel("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", 4, signs=", 1, 1, 0")
    text = text.replace("\n{\n", "\n.explicitcluster .reqnctapercluster 2, 1, 1\n{\n", 1)
    text = text.replace("cvt.u64.u32 %rd8, %r4;", "and.b32 %r5, %r4, 0x3FFFF; cvt.u64.u32 %rd8, %r5;")
    assert (run(tmp_path, text, (a, c, _stored(b)), [(1, 0, PLAIN)] * 2, 4) == d).all()


def test_shared_memory_that_no_descriptor_reaches_is_a_fault(tmp_path: Path) -> None:
    text = wgmma_kernel("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", 4, signs=", 1, 1, 0")
    many = "".join(f".shared .b32 v{number};\n" for number in range(9)) + ".extern .shared .b8 more[];\n"
    uses = "".join(f"mov.u32 %r6, v{number};\n" for number in range(9)) + "mov.u32 %r6, more;\n"
    text = text.replace(".shared .align 1024", many + ".shared .align 1024").replace(
        "fence.proxy", uses + "fence.proxy"
    )
    running = Running(tmp_path, text, "k")
    buffers = [running.put(name, np.zeros(32768, np.uint32)) for name in "abcde"]
    running.launch("k", 1, 128, *buffers, shared=150_000)
    with pytest.raises(KernelFault, match="where no matrix descriptor reaches"):
        running.launch("k", 1, 128, *buffers, shared=198_000)


GROUPS = 24
IDENTITY = np.arange(64)[:, None] == np.arange(16)


def _offsets(count: int, *, transposed: bool, leading: int, stride: int, swizzle: int) -> Array:
    """Bytes from the start to each element, [row of A or column of B][step], before the swizzle."""
    row, step = np.arange(count)[:, None], np.arange(16)[None, :]
    width = 256 >> swizzle if swizzle else 16
    if not transposed:
        chunk = (step // 8) * (16 if swizzle else leading)
        return row % 8 * width + row // 8 * stride + chunk + step % 8 * 2
    per = width // 16
    along, down = (leading, stride) if swizzle else (stride, leading)
    group = row // 8
    return group % per * 16 + group // per * along + step % 8 * width + step // 8 * down + row % 8 * 2


def _elements(count: int, start: int, base: int, *, transposed: bool, leading: int, stride: int, swizzle: int) -> Array:
    """The numbers of the halves that a descriptor names, [row or column][step]."""
    linear = start + _offsets(count, transposed=transposed, leading=leading, stride=stride, swizzle=swizzle)
    mask = (256 >> swizzle if swizzle else 16) // 16 - 1
    elements: Array = (linear ^ (((linear >> 7) - base & mask) << 4)) // 2
    return elements


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("is_a", [False, True])
def test_descriptors_name_the_bytes_that_a_card_reads(*, transposed: bool, is_a: bool, tmp_path: Path) -> None:
    generator = np.random.default_rng(11)
    halves = generator.integers(-900, 900, (1, 16384)).astype(np.float16)
    # The identity, for the product with a matrix in registers or (from byte 31744 on) in shared memory.
    cores = IDENTITY[:16].reshape(2, 8, 2, 8).transpose(0, 2, 1, 3).reshape(-1)
    halves[0, 15872 : 15872 + 256] = cores
    count, settings, expected = (64 if is_a else 32), [], []
    for number in range(GROUPS):
        swizzle, base = number % 4, number % 8
        start = 16 * int(generator.integers(0, 256))
        leading, stride = (16 * int(generator.integers(0, 128)) for _ in range(2))
        named = descriptor(start, leading, stride, swizzle, base)
        settings.append((0, named, descriptor(31744, 128, 256)) if is_a else (0, 0, named))
        places = _elements(count, start, base, transposed=transposed, leading=leading, stride=stride, swizzle=swizzle)
        expected.append(halves[0, places] if is_a else halves[0, places].T)
    shared = np.repeat(halves.view(np.uint32), GROUPS, 0)
    columns = 16 if is_a else 32
    registers = 0 if is_a else 4
    signs = f", 1, 1, {int(transposed)}{', 0' if is_a else ''}"
    name = f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.f16.f16"
    text = wgmma_kernel(name, columns // 2, signs=signs, registers=registers)
    a = np.repeat(_identity_in_registers()[None], GROUPS, 0)
    got = sums(run(tmp_path, text, (a, np.zeros((GROUPS, 128, 64), np.uint32), shared), settings, columns // 2))
    assert (got.view(np.float32)[:, : 64 if is_a else 16] == np.array(expected, np.float32)).all()


def _identity_in_registers() -> Array:
    """A whose first 16 rows are the identity: [thread][register]."""
    thread = np.arange(128)
    row, inner = thread // 32 * 16 + thread % 32 // 4, thread % 4
    words = np.zeros((128, 4), np.uint32)
    for register in range(4):
        for half in range(2):
            is_one = row + 8 * (register % 2) == inner * 2 + half + 8 * (register // 2)
            words[:, register] |= (is_one * 0x3C00).astype(np.uint32) << np.uint32(16 * half)
    return words


def test_subroutines_are_named_by_shape() -> None:
    assert DescribedMatrix(16, 32, transposed=True).name == "descriptor.16x32.transposed"

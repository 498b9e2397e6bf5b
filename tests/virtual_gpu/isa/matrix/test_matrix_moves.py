from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.virtual_gpu.running import Running

MOVES = """
extern "C" __global__ void k(const unsigned short* x, unsigned* y)
{
    __shared__ __align__(16) unsigned short tile[256], back[256];
    int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) tile[i] = x[i], back[i] = 0;
    __syncwarp();
    unsigned from = __cvta_generic_to_shared(tile + 8 * lane), to = __cvta_generic_to_shared(back + 8 * lane), v[4], t;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(from));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(t) : "r"(v[2]));
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(to), "r"(v[0]), "r"(v[1]), "r"(t), "r"(v[3]) : "memory");
    for (int r = 0; r < 4; ++r) y[32 * r + lane] = v[r];
    for (int i = lane; i < 128; i += 32) y[128 + i] = reinterpret_cast<unsigned*>(back)[i];
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(from));
    y[256 + lane] = v[0], y[288 + lane] = v[1];
}
"""

ONE_PLACE = """
extern "C" __global__ void k(const unsigned* place, uint4* y)
{
    __shared__ uint4 rows[16];
    unsigned lane = threadIdx.x, to = __cvta_generic_to_shared(rows + place[lane]);
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(to), "r"(lane), "r"(lane + 100)
                 : "memory");
    __syncwarp();
    if (lane < 16) y[lane] = rows[lane];
}
"""


def test_matrices_go_to_and_from_shared_memory(tmp_path: Path) -> None:
    running = Running(tmp_path, MOVES, "k")
    tiles = np.random.default_rng(3).integers(0, 1 << 16, (4, 8, 8), np.uint16)
    given, out = running.put("x", tiles), running.put("y", np.zeros(320, np.uint32))
    running.launch("k", 1, 32, given, out)
    actual = out.read().view(np.uint16)
    assert (actual[:256].reshape(4, 8, 8) == tiles).all()
    turned = tiles.transpose(0, 2, 1)
    stored = np.stack([turned[0], turned[1], tiles[2], turned[3]])
    assert (actual[256:512].reshape(4, 8, 8) == stored).all()
    assert (actual[512:].reshape(2, 8, 8) == turned[:2]).all()


def test_of_rows_with_one_address_the_lowest_of_the_last_matrix_stays(tmp_path: Path) -> None:
    running = Running(tmp_path, ONE_PLACE, "k")
    places = np.zeros(32, np.uint32)
    places[:16] = [0, 1, 1, 2, 3, 3, 3, 4, 5, 6, 6, 0, 7, 7, 2, 8]  # of the rows of both matrices
    given, out = running.put("place", places), running.put("y", np.zeros(64, np.uint32))
    running.launch("k", 1, 32, given, out)
    writer = [3, 1, 6, 4, 7, 0, 1, 4, 7]  # the row of its matrix
    matrix = [1, 0, 1, 0, 0, 1, 1, 1, 1]
    expected = [[100 * m + 4 * row + part for part in range(4)] for row, m in zip(writer, matrix, strict=True)]
    assert out.read().view(np.uint32).reshape(16, 4)[:9].tolist() == expected

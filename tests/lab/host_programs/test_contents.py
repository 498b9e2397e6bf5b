"""What the host code puts into an array, and whether that tells every element."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.lab.host_programs.contents import ArrayContents
from gpuregress.lab.host_programs.objects import ArrayPointer
from tests.lab.host_programs.launched import launches

KERNEL = "__global__ void k(float *x) {}\n"


def contents(folder: Path, body: str) -> ArrayContents:
    before = "int n = 500; float *h = (float *)malloc(4 * n), *x; cudaMalloc(&x, 4 * n);"
    after = "cudaMemcpy(x, h, 4 * n, cudaMemcpyHostToDevice); k<<<1, 1>>>(x);"
    (launch,) = launches(folder, f"{KERNEL}int main() {{ {before} {body} {after} }}\n")
    pointer = launch.arguments[0]
    assert isinstance(pointer, ArrayPointer)
    assert pointer.memory.contents.is_filled
    return pointer.memory.contents


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < n; i++) h[i] = 2.5f;",
        "for (int i = 0; i < n; i++) h[i] = i;",
        "for (int i = 0; i < n; i++) h[i] = rand() / (float)RAND_MAX;",
        "for (int i = 0; i < 20; i++) for (int j = 0; j < 25; j++) h[i * 25 + j] = 1;",
        "memset(h, 0, 4 * n);",
        "memset(h, 0, 4 * n); free(h); printf(h);",
        "float *y; cudaMalloc(&y, 4 * n); for (int i = 0; i < n; i++) h[i] = 1; cudaMemcpy(y, h, 4 * n, K);",
        "std::vector<float> v(n, 2.0f); memcpy(h, v.data(), 4 * n);",
        "std::vector<float> v(n); std::fill(v.begin(), v.end(), 2.0f); memcpy(h, v.data(), 4 * n);",
    ],
)
def test_contents_that_the_host_code_tells(tmp_path: Path, body: str) -> None:
    assert contents(tmp_path, body).is_certain


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < n; i++) h[i] = i == 0;",
        "for (int i = 0; i < n; i++) h[i] = i < 100 ? 1 : 0;",
        "for (int i = 0; i < n; i++) { if (i < 100) h[i] = 1; else h[i] = 0; }",
        "for (int i = 0; i < n; i++) { switch (i) { case 0: h[i] = 1; break; default: h[i] = 2; } }",
        "for (int i = 0; i < 20; i++) for (int j = 0; j < 25; j++) h[i * 25 + j] = i;",
        "for (int i = 1; i < n; i++) h[i] = 1;",
        "h[7] = 1;",
        "memset(h, 0, 4 * n); h[7]++;",
        "memset(h, 0, 4 * n); for (int i = 0; i < 9; i++) h[i] = 1;",
        "memset(h, 0, 4); ",
        "memset(h, 0, 4 * n); load(h, n);",
        "memset(h, 0, 4 * n); file.read(h, n);",
        "memset(h, 0, 4 * n); float *p = h; *p++ = 1;",
        'memset(h, 0, 4 * n); fscanf(f, "%f", &h[3]);',
        "memset(h, 0, 4 * n); std::cin >> h[3];",
        "for (int i = 0; i < n; i++) h[i] = 1; h[3] = 2;",
        "for (int i = 0; i < n; i++) h[i] = 1; for (int i = 0; i < n; i++) h[i] *= 3;",
        "for (int i = 0; i < n; i++) h[i] = sin(i); h[0] = 1;",
        "float one = 1; memset(h, 0, 4 * n); cudaMemcpy(h + 7, &one, 4, K);",
        "std::vector<float> v(n, 2.0f); for (auto &one : v) one = next(); memcpy(h, v.data(), 4 * n);",
        "std::vector<float> v(n, 2.0f); std::sort(v.begin(), v.end()); memcpy(h, v.data(), 4 * n);",
        "std::vector<float> v(n, 2.0f); v.push_back(1); memcpy(h, v.data(), 4 * n);",
        "std::vector<float> v(n, 2.0f); memcpy(h, v.data(), 40);",
        "float v[2] = {1, 2}; memcpy(h, v, 4 * n);",
        "struct P { float x; }; memset(h, 0, 4 * n); P *p = (P *)h; p[3].x = 1;",
        "struct P { float x; }; memset(h, 0, 4 * n); P *p = (P *)h; p->x = 1;",
    ],
)
def test_contents_that_the_host_code_does_not_tell(tmp_path: Path, body: str) -> None:
    assert not contents(tmp_path, body).is_certain


def test_copies_in_a_circle_keep_what_was_copied_first(tmp_path: Path) -> None:
    body = "for (int i = 0; i < n; i++) h[i] = 4; cudaMemcpy(x, h, 4 * n, K); cudaMemcpy(h, x, 4 * n, K);"
    found = contents(tmp_path, body)
    assert found.stored is not None
    assert (found.stored.number, found.is_certain) == (4.0, True)

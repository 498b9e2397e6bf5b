"""`gpuregress new`: a job written from a kernel's signature."""

from __future__ import annotations

from tests.workshop import KERNEL, Workshop


def test_new_never_overwrites(shop: Workshop) -> None:
    before = (shop.root / "configs/scale.yaml").read_text()
    output = shop.fails(2, "new", str(shop.root / "kernels/scale.cu"))
    assert "already there" in output
    assert (shop.root / "configs/scale.yaml").read_text() == before


def test_the_job_that_is_written_can_be_checked_and_names_the_next_command(shop: Workshop) -> None:
    shop.write("kernels/other.cu", KERNEL.replace("void scale", "void other"))
    result = shop.call("new", str(shop.root / "kernels/other.cu"))
    assert result.exit_code == 0
    assert "a job for other; edit it, then: gpuregress check" in result.stdout
    assert "kernel: other" in (shop.root / "configs/other.yaml").read_text()
    assert shop.call("check", "other").exit_code == 0


def test_a_pattern_writes_the_jobs_that_are_not_there_yet(shop: Workshop) -> None:
    functions = (
        "__device__ float half_of(float x) { return x / 2; }\n__device__ float twice(float x) { return x + x; }\n"
    )
    shop.write("kernels/small.cuh", functions)
    shop.write("configs/half_of.yaml", "# mine\n")
    source = str(shop.root / "kernels/small.cuh")
    printed = shop.call("new", source, "--function", "*").stdout
    assert "half_of.yaml: already there, and left as it is" in printed
    assert "twice.yaml: a job for twice(float" in printed
    assert (shop.root / "configs/half_of.yaml").read_text() == "# mine\n"
    assert "the jobs of all 2 functions are already there" in shop.fails(2, "new", source, "--function", "*")
    assert "half_of.yaml is already there" in shop.fails(2, "new", source, "--function", "half_of")

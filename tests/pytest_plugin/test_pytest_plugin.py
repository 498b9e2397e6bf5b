"""Sessions of pytest over a project, as its user starts them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pytest_plugin import inside, outside
from tests.workshop import Workshop

TWICE = 'extern "C" __global__ void twice(float *out, const float *x) {}\n'
CHANGES = (
    ("kernel: scale", "kernel: twice"),
    (", {float32: 2.0}, {int32: n}", ""),
    ("n: [100]", "n: [100, 7]"),
    ("parameters:", "tags: [quick, smoke-test]\nparameters:"),
)
CPU = ("--gpuregress-device", "cpu")


@pytest.fixture
def project(fake_shop: Workshop) -> Workshop:
    fake_shop.write("kernels/scale.cu", f"// $Revision: 1.0 $\n{TWICE}")
    fake_shop.job(*CHANGES)
    return fake_shop


@pytest.fixture
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch") / "base"


def test_cases_are_items_that_fail_are_accepted_and_pass(project: Workshop, scratch: Path) -> None:
    project.write("configs/wrong.yaml", "source: ../kernels/scale.cu\nlaunches: []\nbuffer: {}\n")
    project.write("others/configs/net.yaml", "source: images\nlayers: 3\n")
    project.write("test_plain.py", "def test_nothing(): pass\n")
    code, text = inside.run(project.root, scratch, ".", *CPU, "--continue-on-collection-errors")
    assert code == 1, text
    assert "configs/wrong.yaml:3: buffer: unknown key; did you mean 'buffers'?" in text
    assert "new      scale/n=7" in text
    assert "or: pytest --gpuregress-accept" in text
    assert "2 new (run " in text
    assert "2 failed, 1 passed, 1 error" in text
    assert "Traceback" not in text
    code, text = inside.run(project.root, scratch, ".", *CPU)
    assert (code, "(run " in text) == (2, False), text  # pytest stops at errors of the collection: nothing was run
    (project.root / "configs/wrong.yaml").unlink()
    accept = ("--gpuregress-accept", "--gpuregress-message", "by hand")
    code, text = inside.run(project.root, scratch, "configs", *CPU, *accept)
    assert (code, "2 passed" in text) == (0, True), text
    assert "by hand" in project.call("blame", "scale/n=7").output
    options = ("--strict-markers", "-m", "quick and smoke-test", "-k", "7 and scale", "-v")
    twice = ("configs", "configs/scale.yaml", "--keep-duplicates")
    code, text = inside.run(project.root, scratch, *twice, *CPU, *options)
    assert (code, "configs/scale.yaml::n=7" in text, "2 passed" in text) == (0, True, True), text
    assert text.count("1 pass (run ") == 1
    assert "has no case any more" not in text


@pytest.mark.slow
def test_processes_of_xdist_share_one_run(project: Workshop, scratch: Path) -> None:
    code, text = outside.run(project.root, scratch, "configs", "-n", "2")
    assert (code, "2 failed" in text) == (1, True), text
    assert text.count("2 new (run ") == 1
    assert len(list((project.root / "runs").glob("2*"))) == 1


def test_failures_are_told_in_our_words_and_end_the_run_where_pytest_is_told_so(
    project: Workshop, scratch: Path
) -> None:
    job = project.job(*CHANGES[1:], ("kernel: scale", "kernel: fault"), name="a_fault")
    project.write("kernels/scale.cu", TWICE + TWICE.replace("twice", "fault"))
    code, text = inside.run(project.root, scratch, str(job), "configs/scale.yaml", *CPU, "--gpuregress-accept", "-v")
    assert code == 1
    assert "fault    a_fault/n=" in text
    assert "out-of-bounds read of 4 bytes at x[9]" in text
    assert "2 failed, 2 passed" in text
    assert "Traceback" not in text
    code, text = inside.run(project.root, scratch, str(job), "configs/scale.yaml", *CPU, "-x")
    assert "1 failed" in text
    code, text = inside.run(project.root, scratch, "configs/scale.yaml", "--gpuregress-device", "tpu")
    assert code == 1
    assert "not run: no device is called 'tpu'" in text


def test_a_skipped_case_is_a_skipped_test_and_two_jobs_need_two_names(project: Workshop, scratch: Path) -> None:
    project.job(*CHANGES, ("tags:", "devices: [cuda]\ntags:"))
    project.job(*CHANGES, ("tags:", "job: Scale\ntags:"), name="twin")
    code, text = inside.run(project.root, scratch, "configs", *CPU, "-rs", "--continue-on-collection-errors")
    assert code == 1
    assert "2 skipped, 1 error" in text
    assert "its job runs on cuda only" in text
    assert "configs/twin.yaml: job: 'Scale' is also the name of the job in configs/scale.yaml" in text


def test_a_session_without_jobs_loads_nothing(tmp_path: Path, scratch: Path) -> None:
    (tmp_path / "data.yaml").write_text("a: 1\n")
    (tmp_path / "test_light.py").write_text(
        "import sys\n"
        "def test_light():\n"
        "    loaded = {name for name in sys.modules if name.startswith(('gpuregress.', 'numpy'))}\n"
        "    assert loaded == {'gpuregress.pytest_plugin', 'gpuregress.pytest_plugin.job_files'}\n"
    )
    code, text = outside.run(tmp_path, scratch, fake=False, fresh=True)
    assert code == 0, text

"""What is recorded is what kernels wrote, and no text of an error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpuregress.foundation.errors import HarnessError
from gpuregress.foundation.records import Source
from gpuregress.gpu.base import Device
from tests.conformance.kernels import __main__ as suite
from tests.conformance.kernels import execute, programs
from tests.conformance.kernels.execute import Finding
from tests.conformance.kernels.programs import Variant

FINDINGS = {
    "same/sm_90/fast": Finding("same/sm_90/fast", "0123456789abcdef"),
    "other/sm_90/fast": Finding("other/sm_90/fast", "fedcba9876543210"),
    "broken/sm_90/fast": Finding("broken/sm_90/fast", problem="CompileError: no"),
    "large/sm_90/fast": Finding("large/sm_90/fast", problem="LaunchRefused: 2048\nthreads", is_infeasible=True),
}


@pytest.fixture(autouse=True)
def _found(monkeypatch: pytest.MonkeyPatch) -> None:
    def everything(_device: Device, _kind: str, wanted: Callable[[str], bool]) -> Iterator[Finding]:
        yield from (item for name, item in FINDINGS.items() if wanted(name.partition("/")[0]))

    monkeypatch.setattr(suite, "everything", everything)


def _file(folder: Path, **digests: str) -> Path:
    path = folder / "digests.json"
    path.write_text(json.dumps({f"{name}/sm_90/fast": digest for name, digest in digests.items()}))
    return path


def test_an_error_is_named_and_not_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _file(tmp_path, same="0123456789abcdef", broken="0000000000000000", further="1111111111111111")
    assert suite.main(["record", "cpu", "--out", str(path), "same", "other", "broken", "large"]) == 1
    assert json.loads(path.read_text()) == {
        "broken/sm_90/fast": "0000000000000000",
        "further/sm_90/fast": "1111111111111111",
        "other/sm_90/fast": "fedcba9876543210",
        "same/sm_90/fast": "0123456789abcdef",
    }
    assert capsys.readouterr().out.splitlines() == [
        "large/sm_90/fast: infeasible: LaunchRefused: 2048",
        "broken/sm_90/fast: not recorded: CompileError: no",
        f"2 recorded into {path}: 1 new, 0 changed, 1 as before; 1 infeasible, 1 not recorded",
    ]


def test_what_changed_is_named_and_without_patterns_the_file_is_new(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _file(tmp_path, same="0000000000000000", further="1111111111111111")
    assert suite.main(["record", "cpu", "same", "--out", str(path)]) == 0
    assert "same/sm_90/fast: was 0000000000000000, is 0123456789abcdef" in capsys.readouterr().out
    assert suite.main(["record", "cpu", "--out", str(path)]) == 1
    assert list(json.loads(path.read_text())) == ["other/sm_90/fast", "same/sm_90/fast"]


def test_a_comparison_fails_where_a_kernel_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _file(tmp_path, same="0123456789abcdef")
    assert suite.main(["compare", "cpu", str(path), "same", "large"]) == 0
    assert suite.main(["compare", "cpu", str(path), "broken"]) == 1
    assert "broken/sm_90/fast: CompileError: no" in capsys.readouterr().out


def test_a_card_runs_only_what_was_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its host may have another version of a compiler, with other bits."""
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path))
    path = tmp_path / "k.cu"
    path.write_text('extern "C" __global__ void k() {}')
    with pytest.raises(HarnessError, match="run `build` where the compiler is"):
        execute.compiled(Source(str(path), kernels=("k",)), "cuda:0")


def test_flags_of_nvrtc_make_no_variants_of_kernels_in_python() -> None:
    flags = {
        case.source.python is not None: {item.flags for item in execute.variants_of(case)} for case in execute.cases()
    }
    assert flags == {True: {"default"}, False: set(programs.FLAGS)}
    fp8 = next(case for case in execute.cases() if case.job == "triton-matmul-fp8")
    assert execute.variants_of(fp8) == (Variant("sm_90", "default"),)

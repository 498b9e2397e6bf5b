"""Captures of an application on a fake GPU, from the run to jobs that the CPU device replays."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation import applications, storage
from gpuregress.foundation.applications import LaunchChoice
from gpuregress.foundation.errors import RunLocked, UsageError
from gpuregress.lab.capture import capture
from gpuregress.store import launch_log
from gpuregress.store.launch_log import LaunchBegin, LaunchEnd, LaunchFault, LaunchRetry
from gpuregress.store.project import Project
from tests.workshop import Workshop


def _capture(
    root: Path, gpu: Path, *steps: str, choice: LaunchChoice | None = None, seconds: float = 60.0
) -> capture.Capture:
    project = Project(root, root / "configs", root / "baselines", root / "runs")
    command = [str(gpu / "app"), str(gpu / "kernels.ptx"), *steps]
    return capture.capture(project, command, choice or LaunchChoice(), seconds=seconds)


@pytest.mark.slow
def test_jobs_replay_the_launches_with_the_result_of_the_card(gpu: Path, shop: Workshop) -> None:
    done = _capture(shop.root, gpu, "saxpy", "packed", "wild", "saxpy")
    verdicts = {job.path.stem: job.verdict for job in done.jobs}
    assert verdicts["saxpy"] == verdicts["packed"] == "the CPU device gives the GPU's bits"
    assert "out-of-bounds write of 4 bytes" in verdicts["wild"]
    saxpy = (shop.root / "configs/saxpy.yaml").read_text()
    # Both arrays lie in one allocation; each is cut to the 1001 elements that the kernel touched.
    assert "  arg1: {dtype: float32, shape: [1001], fill: {file: ../captured/saxpy/arg1.bin}}" in saxpy
    assert "    args: [{float32: 2.5}, arg1, arg2, {int32: 1001}]" in saxpy
    packed = (shop.root / "configs/packed.yaml").read_text()
    assert "{struct: [arg0_0, arg0_8, {uint32: 1001}, {uint32: 1056964608}]}" in packed
    assert "symbol: factor}" in packed
    assert "  arg0_8: {dtype: uint32, shape: [1001], fill: {file: ../captured/packed/arg0_8.bin}}\n" in packed
    printed = shop.call("run", "--device", "cpu", "saxpy", "packed", "wild").stdout
    assert printed.count("as its reference, without a baseline") == 2
    assert "arg0[1048704]" in printed


def test_a_changed_result_differs_from_the_captured_one(gpu: Path, shop: Workshop) -> None:
    _capture(shop.root, gpu, "saxpy", seconds=0)
    path = shop.root / "captured/saxpy/kernel.ptx"
    path.write_text(path.read_text().replace("fma.rn.f32 %f4, %f1, %f2, %f3", "fma.rn.f32 %f4, %f1, %f2, %f2"))
    result = shop.call("run", "--device", "cpu", "saxpy")
    assert result.exit_code == 1
    assert "differ" in result.stdout


def test_a_crash_is_blamed_on_its_kernel(gpu: Path, tmp_path: Path) -> None:
    done = _capture(tmp_path, gpu, "saxpy", "saxpy", "wild", "saxpy", "saxpy", choice=LaunchChoice(most=0))
    assert [(one.number, one.text) for one in done.failures] == [(3, "CUDA_ERROR_ILLEGAL_ADDRESS")]
    assert done.failures[0].call.startswith("wild<<<(4,1,1),(256,1,1),0>>>(0x")
    assert done.end.code == 1
    assert not done.jobs
    log = launch_log.read(done.log)
    kinds = {type(event): event.number for event in log.events}
    assert kinds[LaunchEnd] == 2
    assert sorted(event.number for event in log.events if isinstance(event, LaunchRetry)) == [4, 5]
    assert not log.unfinished
    assert not log.unreadable
    assert log.header["device"] == "Fake GPU, sm_90"


def test_launches_of_other_streams_are_suspects_too(gpu: Path, tmp_path: Path) -> None:
    done = _capture(tmp_path, gpu, "saxpy", "wild", "packed", "packed", choice=LaunchChoice(most=0))
    assert [one.number for one in done.failures] == [2, 3]
    assert all("or 1 others that were under way; --sync shows which" in one.text for one in done.failures)
    done = _capture(tmp_path, gpu, "saxpy", "wild", "packed", "packed", choice=LaunchChoice(most=0, sync=True))
    assert [one.number for one in done.failures] == [2]


def test_a_launch_waits_for_nothing_and_is_logged_with_its_arguments(gpu: Path, tmp_path: Path) -> None:
    done = _capture(tmp_path, gpu, "saxpy", "packed", choice=LaunchChoice(kernels="nothing"))
    begun = [event for event in launch_log.read(done.log).events if isinstance(event, LaunchBegin)]
    assert begun[0].call.startswith("saxpy<float><<<(4,1,1),(256,1,1),0>>>(2.5, 0x")
    assert begun[0].call.endswith(", 1001)")
    assert begun[1].call.startswith("packed<<<(4,1,1),(256,1,1),0>>>({0x")
    assert len([one for one in launch_log.read(done.log).events if isinstance(one, LaunchEnd)]) == 2


def test_each_launch_is_timed_in_sync(gpu: Path, tmp_path: Path) -> None:
    done = _capture(tmp_path, gpu, "saxpy", "wild", choice=LaunchChoice(most=0, sync=True))
    events = launch_log.read(done.log).events
    assert next(one for one in events if isinstance(one, LaunchEnd)).elapsed_ms >= 0
    assert [one.number for one in events if isinstance(one, LaunchFault)] == [2]


def test_launches_are_chosen_by_name_and_number(gpu: Path, tmp_path: Path) -> None:
    steps = ("saxpy", "packed", "saxpy", "saxpy", "saxpy")
    chosen = {
        "every": (LaunchChoice("saxpy*", every=2), [1, 3]),
        "nth": (LaunchChoice("sax*", nth=3), [3]),
        "most": (LaunchChoice("saxpy<float>*", most=2), [1, 2]),
        "packed": (LaunchChoice("_Z6packed4Args"), [1]),
    }
    for name, (choice, expected) in chosen.items():
        done = _capture(tmp_path / name, gpu, *steps, choice=choice, seconds=0)
        assert [job.launch.occurrence for job in done.jobs] == expected, name
        assert done.launches == 5


def test_a_launch_into_a_graph_is_refused_by_name(gpu: Path, tmp_path: Path) -> None:
    steps = ("record", "saxpy", "saxpy", "recorded", "replay", "packed")
    done = _capture(tmp_path, gpu, *steps, choice=LaunchChoice("saxpy"))
    assert done.refused == {"saxpy<float>": "it is launched while a stream is captured into a CUDA graph"}
    begun = [one.call for one in launch_log.read(done.log).events if isinstance(one, LaunchBegin)]
    assert begun[0] == "graph of saxpy<float>, saxpy<float><<<(1,1,1),(1,1,1),0>>>()"
    assert begun[1].startswith("packed<<<(4,1,1)")  # what was recorded did not run, and is not logged


def test_a_launch_beside_a_recorded_stream_is_logged_and_not_waited_for(gpu: Path, tmp_path: Path) -> None:
    done = _capture(tmp_path, gpu, "record", "saxpy", "packed", "recorded", "replay", choice=LaunchChoice("packed"))
    assert done.refused == {"packed": "it is launched while another stream is captured into a CUDA graph"}
    begun = [one.call for one in launch_log.read(done.log).events if isinstance(one, LaunchBegin)]
    assert begun[0].startswith("packed<<<(4,1,1)")
    assert begun[1] == "graph of saxpy<float><<<(1,1,1),(1,1,1),0>>>()"


def test_a_launch_that_waits_for_a_later_one_is_given_up(gpu: Path, tmp_path: Path) -> None:
    done = _capture(tmp_path, gpu, "spin", "spin", choice=LaunchChoice(wait=1), seconds=0)
    assert "did not end within the time limit (--launch-timeout)" in done.refused["spin"]
    assert done.end.code == 0
    assert done.launches == 2
    assert not launch_log.read(done.log).unfinished


def test_a_child_that_dies_under_a_parent_that_ends_well_is_told(gpu: Path, tmp_path: Path) -> None:
    project = Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")
    script = '"$0" "$1" saxpy packed abort; exit 0'
    command = ["sh", "-c", script, str(gpu / "app"), str(gpu / "kernels.ptx")]
    done = capture.capture(project, command, LaunchChoice(most=0))
    assert done.end.code == 0
    assert len(done.cut) == 1
    assert [text.split("<")[0] for text in done.unfinished] == ["launch 1: saxpy", "launch 2: packed"]


def test_a_process_that_outlives_the_first_one_is_waited_for(
    gpu: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")
    app, kernels = str(gpu / "app"), str(gpu / "kernels.ptx")
    command = ["sh", "-c", '"$0" "$1" saxpy sleep saxpy & sleep 0.1', app, kernels]
    done = capture.capture(project, command, LaunchChoice(most=0))
    assert done.launches == 2
    assert not done.problems
    monkeypatch.setattr(applications, "OTHERS_S", 0.0)
    done = capture.capture(project, command, LaunchChoice(most=0))
    assert "still runs: what it launches from now on is not captured" in done.problems[0]


def test_one_capture_at_a_time_writes_to_a_project(gpu: Path, tmp_path: Path) -> None:
    held = storage.lock(tmp_path / "runs/.capture.lock")
    with held, pytest.raises(RunLocked, match=r"runs/\.capture\.lock is locked by process"):
        _capture(tmp_path, gpu, "saxpy")


def test_contents_are_bounded(gpu: Path, tmp_path: Path) -> None:
    done = _capture(tmp_path / "less", gpu, "saxpy", choice=LaunchChoice(max_bytes=8192))
    assert "it needs more of its 64.0 KiB of memory than --max-bytes allows" in done.refused["saxpy<float>"]
    done = _capture(tmp_path, gpu, "saxpy", choice=LaunchChoice(max_bytes=16384))
    text = done.jobs[0].path.read_text()
    assert "bytes of the allocation were kept (--max-bytes)" in text
    assert sum(path.stat().st_size for path in (tmp_path / "captured/saxpy").glob("*.bin")) <= 2 * 16384
    assert done.jobs[0].verdict == "the CPU device gives the GPU's bits"


def test_another_ones_job_is_left_as_it_is(gpu: Path, tmp_path: Path) -> None:
    path = tmp_path / "configs/saxpy.yaml"
    path.parent.mkdir()
    path.write_text("# mine\n")
    done = _capture(tmp_path, gpu, "saxpy", "packed", seconds=0)
    assert path.read_text() == "# mine\n"
    assert "was not written by a capture" in done.refused["saxpy<float>"]
    assert [job.path.stem for job in done.jobs] == ["packed"]
    _capture(tmp_path, gpu, "packed", seconds=0)  # its own are replaced


def test_without_ptx_the_machine_code_is_the_source(gpu: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no PTX")
    project = Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")
    done = capture.capture(project, [str(gpu / "app"), str(tmp_path / "text"), "saxpy"], LaunchChoice())
    text = done.jobs[0].path.read_text()
    assert "source: ../captured/saxpy/kernel.cubin" in text
    assert "devices: [cuda]" in text
    assert "{pointer: arg1, offset: 8192}" in text
    assert "on a GPU only" in done.jobs[0].verdict


def test_a_source_that_is_not_there_is_told_before_anything_runs(tmp_path: Path) -> None:
    project = Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")
    with pytest.raises(UsageError, match=r"there is no file .*gone\.cu"):
        capture.capture(project, ["true"], LaunchChoice(), source=tmp_path / "gone.cu")


def test_a_child_of_a_process_leaves_its_log_alone(gpu: Path, tmp_path: Path) -> None:
    done = _capture(tmp_path, gpu, "saxpy", "fork", "saxpy", choice=LaunchChoice(most=0))
    begun = [one.call[:5] for one in launch_log.read(done.log).events if isinstance(one, LaunchBegin)]
    assert begun == ["saxpy", "saxpy"]


def test_a_program_that_another_one_becomes_has_records_of_its_own(gpu: Path, tmp_path: Path) -> None:
    done = _capture(tmp_path, gpu, "saxpy", "saxpy", "exec", "packed", seconds=0)
    assert done.launches == 3
    assert sorted(job.path.stem for job in done.jobs) == ["packed", "saxpy"]
    assert done.processes == 2


def test_launches_of_threads_at_once_are_counted_one_by_one(gpu: Path, tmp_path: Path) -> None:
    done = _capture(tmp_path, gpu, "threads", choice=LaunchChoice(every=1), seconds=0)
    assert sorted(job.launch.occurrence for job in done.jobs) == [1, 2, 3, 4, 5, 6]


def test_a_refused_launch_leaves_the_files_of_an_earlier_job(gpu: Path, tmp_path: Path) -> None:
    _capture(tmp_path, gpu, "saxpy")
    kept = {path.name for path in (tmp_path / "captured/saxpy").iterdir()}
    done = _capture(tmp_path, gpu, "saxpy", choice=LaunchChoice(max_bytes=8192))
    assert "saxpy<float>" in done.refused
    assert {path.name for path in (tmp_path / "captured/saxpy").iterdir()} == kept


def test_the_log_has_its_space_on_disk(gpu: Path, tmp_path: Path) -> None:
    script = "trap '' XFSZ; ulimit -f 1; exec \"$@\""
    project = Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")
    command = ["sh", "-c", script, "sh", str(gpu / "app"), str(gpu / "kernels.ptx"), "saxpy"]
    done = capture.capture(project, command, LaunchChoice(most=0))
    assert done.end.code == 0
    assert any("the launch log ends early, as it cannot grow: File too large" in one for one in done.problems)

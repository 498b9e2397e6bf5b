from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpuregress.foundation import records
from gpuregress.foundation.errors import JobErrors, UsageError
from gpuregress.store.project import find
from gpuregress.store.settings import COMPRESS_ABOVE


def test_the_folder_that_holds_configs(tmp_path: Path) -> None:
    (tmp_path / "configs" / "deep").mkdir(parents=True)
    example = find(tmp_path / "configs" / "deep")
    assert example.root == tmp_path
    assert (example.configs, example.baselines, example.runs) == (
        tmp_path / "configs",
        tmp_path / "baselines",
        tmp_path / "runs",
    )
    assert (example.settings.limits.timeout, example.settings.retention.runs) == (30.0, 30)


def test_inputs_of_earlier_runs_stay_where_they_were(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    moved = find(tmp_path).with_runs(tmp_path / "one").with_runs(tmp_path / "two")
    assert (moved.runs, moved.earlier_runs) == (tmp_path / "two", tmp_path / "runs")


def test_settings_come_before_configs(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    (inner / "configs").mkdir(parents=True)
    (tmp_path / "gpuregress.yaml").write_text("# nothing set\n")
    assert find(inner).root == tmp_path


def test_yaml_settings(tmp_path: Path) -> None:
    (tmp_path / "gpuregress.yaml").write_text(
        "folders: {configs: jobs, runs: /var/runs}\ncompare: {float32: {rtol: 1e-5}}\n"
        "limits: {timeout: 2min, memory: 1GiB}\nretention: {runs: 5, age: 90d, size: 20GiB}\n"
        "dumps: {compress_above: 1MiB}\n",
    )
    example = find(tmp_path)
    assert (example.configs, example.baselines, example.runs) == (
        tmp_path / "jobs",
        tmp_path / "baselines",
        Path("/var/runs"),
    )
    settings = example.settings
    assert (settings.limits.timeout, settings.limits.memory, settings.retention.runs) == (120.0, 1 << 30, 5)
    assert (settings.retention.age, settings.retention.size) == (90 * 86400, 20 << 30)
    assert settings.dumps.compress_above == 1 << 20
    assert {name: given.present() for name, given in settings.tolerances.items()} == {"float32": {"rtol": 1e-5}}


def test_toml_settings(tmp_path: Path) -> None:
    toml = tmp_path / "pyproject.toml"
    toml.write_text("[project]\nname = 'x'\n[tool.gpuregress.limits]\ntimeout = 5\n")
    assert find(tmp_path).settings.limits.timeout == 5
    toml.write_text("[tool.gpuregress]\nlimits = {timeout = 5, memroy = 1}\n\n[tool.gpuregress.retention]\nruns = 0\n")
    with pytest.raises(JobErrors) as caught:
        find(tmp_path)
    assert str(caught.value) == (
        f"{toml}:2: limits.memroy: unknown key; did you mean 'memory'?\n"
        f"{toml}:5: retention.runs: expected a whole number from 1 to 1,000,000, got 0"
    )


def test_a_pyproject_of_another_tool_is_no_project(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "pyproject.toml").write_text("[tool.ruff]\n")
    assert find(tmp_path / "inner").root == tmp_path
    (tmp_path / "inner" / "pyproject.toml").write_text("not toml at all\n")
    assert find(tmp_path / "inner").root == tmp_path


def test_every_wrong_setting_is_named(tmp_path: Path) -> None:
    path = tmp_path / "gpuregress.yaml"
    path.write_text(
        "folder: {}\nlimits:\n  timeout: soon\n  memory: 4GB8\nretention: 30\n"
        "compare:\n  float23: {}\n  float32: {rtol: -1, ulp: 3}\nfolders: {runs: 5}\n",
    )
    with pytest.raises(JobErrors) as caught:
        find(tmp_path)
    assert str(caught.value).replace(str(path), "F").splitlines() == [
        "F:1: folder: unknown key; did you mean 'folders'?",
        (
            "F:3: limits.timeout: invalid time 'soon'; "
            "expected seconds, or a number with ms, s, min or h, such as 30s or 2min"
        ),
        (
            "F:4: limits.memory: invalid size '4GB8'; expected bytes, or a number with KiB, MiB, GiB, kB, MB or GB, "
            "such as 4GiB"
        ),
        "F:5: retention: expected a mapping with the keys runs, age, size, got 30",
        "F:7: compare.float23: unknown key; did you mean 'float32'?",
        "F:8: compare.float32.rtol: expected a number of at least 0, got -1",
        "F:8: compare.float32.ulp: unknown key; the keys are: rtol, atol",
        "F:9: folders.runs: expected a folder such as runs, got 5",
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("gpuregress.yaml", "[" * 25_000, "is nested deeper than 60 levels"),
        ("gpuregress.yaml", "{a: " * 25_000, "gpuregress.yaml:1: a: is nested deeper"),
        ("gpuregress.yaml", "limits: &a {<<: *a}", "gpuregress.yaml:1: limits: the alias *a stands inside"),
        ("gpuregress.yaml", "limits: {timeout: 1e999}", "gpuregress.yaml:1: limits.timeout: 1e999 is too large"),
        ("gpuregress.yaml", f"compare: {{float32: {{rtol: {'9' * 400}}}}}", "compare.float32.rtol: 9999"),
        (
            "pyproject.toml",
            "[tool.gpuregress]\na = " + "[" * 25_000,
            "pyproject.toml: cannot be read: it is nes",
        ),
        (
            "pyproject.toml",
            "[tool.gpuregress]\na = " + "{a = " * 25_000,
            "pyproject.toml: cannot be read: it is nes",
        ),
        ("pyproject.toml", f"[tool.gpuregress]\na.{'a.' * 5_000}a = 1", "pyproject.toml:2: a: unknown key"),
        ("pyproject.toml", "[tool.gpuregress.limits]\ntimeout = inf", "pyproject.toml:2: limits.timeout: invalid time"),
        (
            "pyproject.toml",
            f"[tool.gpuregress.compare.float32]\nrtol = {'9' * 400}",
            "pyproject.toml:2: compare.float32.rtol: expected a number of at least 0, got a number of 1,329 bits",
        ),
        (
            "pyproject.toml",
            f"[tool.gpuregress]\nretention.runs = 0x{'f' * 9000}",
            "pyproject.toml:2: retention.runs: ",
        ),
        ("pyproject.toml", f"[tool.gpuregress]\nlimits.timeout = 0x{'f' * 9000}", "pyproject.toml:2: limits.timeout: "),
        (
            "pyproject.toml",
            f"[tool.gpuregress]\nlimits = 0x{'f' * 9000}",
            "pyproject.toml:2: limits: expected a mapping",
        ),
    ],
)
def test_settings_that_would_crash_a_reader(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(JobErrors) as caught:
        find(tmp_path)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_settings_that_are_no_file_are_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "gpuregress.yaml"
    os.mkfifo(path)
    with pytest.raises(JobErrors, match="not a regular file"):
        find(tmp_path)
    path.unlink()
    path.symlink_to("nowhere")
    with pytest.raises(JobErrors, match="No such file"):
        find(tmp_path)


def test_no_project_says_what_to_make(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        find(tmp_path)
    assert "make a folder configs/" in str(caught.value)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("float32: {rtol: 1}", "gpuregress.yaml:2: compare.float32.rtol: is 1: it must be below 1"),
        ("float16: {atol: 65504}", "gpuregress.yaml:2: compare.float16.atol: is 65504: the largest float16 is 65504"),
        ("float4: {rtol: 0.1, atol: 1e39}", "compare.float4.atol: is 1e+39: the largest float32 (x) is 3.4028235e+38"),
    ],
)
def test_a_default_rule_that_can_hardly_fail_is_refused(tmp_path: Path, rule: str, message: str) -> None:
    (tmp_path / "gpuregress.yaml").write_text(f"compare:\n  {rule}\n")
    with pytest.raises(JobErrors) as caught:
        find(tmp_path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("folders", "message"),
    [
        ("dumps: 'memory://x'", "a memory:// address is gone when the command ends, and the dumps with it"),
        ("dumps: 'Memory://x'", "is gone when the command ends"),
        ("dumps: 'simplecache::s3://bucket/x'", "holds `::`, which chains addresses"),
        ("dumps: '::'", "holds `::`"),
        ("dumps: 'a::b'", "holds `::`"),
        ("dumps: /", "dumps: is the root of the file system"),
        ("dumps: ../../../../../../../../..", "dumps: is the root of the file system"),
        ("dumps: 'file://'", "names no folder"),
        ("dumps: 'file:////'", "names no folder"),
        ("dumps: 'file://x/y'", "does not begin with file:///"),
        ("dumps: 's3:/bucket/x'", "neither an address, such as s3://bucket/prefix, nor a plain folder"),
        ('dumps: "s3://bucket/x\\n::error::y"', "holds a control character"),
        ("dumps: runs", "dumps: is the folder of runs, too"),
        ("dumps: ~/x", "neither ~ nor variables are replaced here"),
        ("runs: $HOME/x", "neither ~ nor variables are replaced here"),
        ("baselines: 's3://bucket/x'", "only folders.dumps may be one"),
        ("runs: './baselines/'", "runs: is the folder of baselines, too"),
        ("configs: link", "configs: is the folder of baselines, too"),
        ("runs: /..", "runs: is the root of the file system"),
        ("runs: ' '", "expected a folder such as runs"),
        ('runs: "a\\rb"', "holds a control character"),
    ],
)
def test_a_folder_that_is_not_what_it_says_is_refused(tmp_path: Path, folders: str, message: str) -> None:
    (tmp_path / "link").symlink_to("baselines")
    (tmp_path / "gpuregress.yaml").write_text(f"folders:\n  {folders}\n")
    with pytest.raises(JobErrors) as caught:
        find(tmp_path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path}/gpuregress.yaml:2: folders.")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("dumps", ["accepted", "/mnt/a b/x", "./x:y", "file:///mnt/x", "s3://bucket", "sftp://me@h/x"])
def test_folders_and_addresses_of_dumps(tmp_path: Path, dumps: str) -> None:
    (tmp_path / "gpuregress.yaml").write_text(f"folders: {{dumps: '{dumps}', configs: .}}\n")
    assert find(tmp_path).dumps == (dumps if "://" in dumps else f"file://{tmp_path / dumps}")


def test_wrong_sizes_and_ages(tmp_path: Path) -> None:
    path = tmp_path / "gpuregress.yaml"
    path.write_text("retention:\n  age: 90\n  size: big\ndumps:\n  compress_above: 0\n  compres: 1\n")
    with pytest.raises(JobErrors) as caught:
        find(tmp_path)
    assert str(caught.value).replace(str(path), "F").splitlines() == [
        "F:2: retention.age: invalid age 90; expected a number with h, d or w, such as 90d",
        (
            "F:3: retention.size: invalid size 'big'; expected bytes, or a number with KiB, MiB, GiB, kB, MB or GB, "
            "such as 4GiB"
        ),
        "F:5: dumps.compress_above: invalid size 0; expected at least 1 byte and less than 8 EiB",
        "F:6: dumps.compres: unknown key; did you mean 'compress_above'?",
    ]


def test_dumps_are_compressed_above_the_size_of_the_records() -> None:
    assert COMPRESS_ABOVE == records.COMPRESS_ABOVE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cluster: tcp://node0:8786", {"scheduler": "tcp://node0:8786", "wait": 30.0}),
        ("cluster: {scheduler: 'tls://10.0.0.1:1', wait: 2min}", {"scheduler": "tls://10.0.0.1:1", "wait": 120.0}),
        ("cluster: {wait: 5}", {"scheduler": "", "wait": 5.0}),
        ("cluster:", {"scheduler": "", "wait": 30.0}),
    ],
)
def test_the_cluster_of_a_project(tmp_path: Path, text: str, expected: dict[str, object]) -> None:
    (tmp_path / "gpuregress.yaml").write_text(text)
    assert find(tmp_path).settings.cluster.present() == expected


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "cluster: node0",
            "gpuregress.yaml:1: cluster: expected the address of a Dask scheduler, such as tcp://node0:8786",
        ),
        ("cluster: {scheduler: 7}", "gpuregress.yaml:1: cluster.scheduler: expected the address"),
        ("cluster: {scheduler: 'http://node0:8786'}", "cluster.scheduler: expected the address"),
        ("cluster: {wait: -1}", "gpuregress.yaml:1: cluster.wait: "),
        ("cluster: {hosts: 3}", "gpuregress.yaml:1: cluster.hosts: unknown key; the keys are: scheduler, wait"),
        ("cluster: [tcp://node0:8786]", "gpuregress.yaml:1: cluster: expected a mapping with the keys scheduler, wait"),
    ],
)
def test_a_cluster_that_is_none(tmp_path: Path, text: str, error: str) -> None:
    (tmp_path / "gpuregress.yaml").write_text(text)
    with pytest.raises(JobErrors) as caught:
        find(tmp_path)
    assert error in str(caught.value)

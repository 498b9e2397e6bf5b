from __future__ import annotations

from pathlib import Path

from gpuregress.jobs.spec.job_files import job_files


def test_every_yaml_file_is_a_job_but_hidden_ones(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yml", "sub/c.yaml", "D.YAML", ".hidden.yaml", ".old/d.yaml", "e.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "link.yaml").symlink_to("nowhere")
    assert [str(path.relative_to(tmp_path)) for path in job_files(tmp_path)] == [
        *("D.YAML", "a.yml", "b.yaml", "sub/c.yaml"),
    ]
    assert job_files(tmp_path / "none") == ()

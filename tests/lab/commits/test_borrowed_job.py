from __future__ import annotations

from gpuregress.jobs import plan
from gpuregress.lab.revisions import commit_runs, repository
from gpuregress.store import project
from tests.lab.commits.git_projects import start
from tests.workshop import Workshop


def test_all_that_a_job_names_but_its_own_kernels(shop: Workshop) -> None:
    start(shop.root)
    shop.write("kernels/trusted.cu", (shop.root / "kernels/scale.cu").read_text())
    shop.write("configs/reference.py", "def out(inputs, case):\n    return inputs['x']\n")
    shop.write("configs/x.bin", "\0" * 400)
    shop.job(("fill: arange", "fill: {file: x.bin}"))
    text = (shop.root / "configs/scale.yaml").read_text()
    trusted = "{source: ../kernels/trusted.cu, launches: [{kernel: scale, grid: [4], block: [32], args: [out, x, "
    trusted += "{float32: 2.0}, {int32: n}]}]}"
    shop.write("configs/scale.yaml", f"{text}checks: {{out: [{{python: 'reference.py:out'}}]}}\n")
    shop.write("configs/other.yaml", f"{text}reference: {{out: {trusted}}}\n")
    found = repository.require(shop.root)
    cases = plan.make(project.find(shop.root), []).cases
    assert set(commit_runs.borrowed_files(found, cases)) == {
        *("configs/scale.yaml", "configs/other.yaml", "configs/reference.py", "configs/x.bin", "kernels/trusted.cu")
    }

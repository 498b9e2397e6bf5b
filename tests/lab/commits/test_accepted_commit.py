from __future__ import annotations

from gpuregress.jobs import plan
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.revisions import commit_runs, repository
from gpuregress.store import project
from gpuregress.store.baselines import BaselineStore
from tests.lab.commits.git_projects import commit, start
from tests.workshop import KERNEL, Workshop, accepted


def test_the_commit_with_the_accepted_source(fake_shop: Workshop) -> None:
    start(fake_shop.root)
    commit(fake_shop.root, "First")
    fake_shop.write("kernels/scale.cu", KERNEL + "// accepted\n")
    accepted(fake_shop)
    wanted = commit(fake_shop.root, "Accept")
    fake_shop.write("kernels/scale.cu", KERNEL + "// later\n")
    commit(fake_shop.root, "Later")
    here = project.find(fake_shop.root)
    (case,) = plan.make(here, []).cases
    baseline = BaselineStore(here.baselines).load(case.name)
    assert baseline is not None
    found = repository.require(fake_shop.root)
    with commit_runs.opened(found, here, RunOptions("cpu")) as runs:
        assert commit_runs.find_accepted(found, runs, case, baseline) == wanted
    fake_shop.write("kernels/scale.cu", KERNEL + "// never committed\n")
    fake_shop.call("run", "--device", "cpu")
    assert fake_shop.call("accept", "scale").exit_code == 0
    baseline = BaselineStore(here.baselines).load(case.name)
    assert baseline is not None
    with commit_runs.opened(found, here, RunOptions("cpu")) as runs:
        assert commit_runs.find_accepted(found, runs, case, baseline) is None

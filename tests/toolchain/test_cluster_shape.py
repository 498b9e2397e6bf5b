"""Clusters written into PTX."""

from __future__ import annotations

import pytest

from gpuregress.foundation.errors import UsageError
from gpuregress.toolchain.ptx_declarations import with_cluster

PTX = """.visible .entry other(.param .u64 a) { ret; }
.visible .entry k(
    .param .u64 k_param_0
)
.maxntid 256
{
    ret;
}
"""


def test_the_cluster_stands_behind_the_parameters_of_its_kernel() -> None:
    made = with_cluster(PTX, "k", (2, 1, 1))
    assert ".maxntid 256\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n{" in made
    assert made.count("reqnctapercluster") == 1


def test_a_kernel_with_the_same_cluster_stays_and_another_one_is_refused() -> None:
    own = PTX.replace(".maxntid 256", ".reqnctapercluster 2")
    assert with_cluster(own, "k", (2, 1, 1)) == own
    with pytest.raises(UsageError, match="k has __cluster_dims__ of 2: leave out cluster="):
        with_cluster(own, "k", (4, 1, 1))


def test_a_bound_of_the_blocks_of_a_cluster_holds_and_gives_way_to_the_shape() -> None:
    bounded = PTX.replace(".maxntid 256", ".explicitcluster .maxclusterrank 4\n.maxntid 256")
    assert with_cluster(bounded, "k", (2, 2, 1)) == with_cluster(PTX, "k", (2, 2, 1))
    with pytest.raises(UsageError, match="k has __launch_bounds__ of 4 blocks in a cluster: cluster= asks for 8"):
        with_cluster(bounded, "k", (8, 1, 1))


def test_a_kernel_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="the PTX has no kernel z"):
        with_cluster(PTX, "z", (2, 1, 1))

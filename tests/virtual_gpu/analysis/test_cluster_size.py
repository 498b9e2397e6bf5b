from __future__ import annotations

import pytest

from gpuregress.foundation.errors import UnsupportedError
from gpuregress.foundation.records import Dim3
from gpuregress.virtual_gpu.analysis.module_facts import check_cluster, cluster_size, is_clustered, is_explicit
from tests.virtual_gpu.analysis.kernels import kernel


@pytest.mark.parametrize(
    ("directives", "size", "clustered", "explicit"),
    [
        ("", (1, 1, 1), False, False),
        (".explicitcluster .reqnctapercluster 2, 2", (2, 2, 1), True, True),
        (".reqnctapercluster 1", (1, 1, 1), False, True),
    ],
)
def test_cluster_dimensions_of_a_kernel(directives: str, size: Dim3, *, clustered: bool, explicit: bool) -> None:
    function = kernel("ret;", directives)
    assert (cluster_size(function), is_clustered(function), is_explicit(function)) == (size, clustered, explicit)
    check_cluster(function)


def test_a_cluster_size_that_only_the_launch_knows_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="k takes the size of its clusters from the launch"):
        check_cluster(kernel("ret;", ".explicitcluster"))

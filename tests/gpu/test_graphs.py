from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.gpu.graphs import reachable_from

NODES = st.integers(0, 7)


@given(st.dictionaries(NODES, st.sets(NODES)), st.lists(NODES, max_size=3))
def test_it_is_the_smallest_set_that_holds_the_starts_and_what_follows(
    edges: dict[int, set[int]], starts: list[int]
) -> None:
    closed = set(starts)
    for _ in range(8):
        closed |= {node for start in closed for node in edges.get(start, ())}
    nodes = list(reachable_from(starts, lambda node: edges.get(node, ())))
    assert len(nodes) == len(closed)
    assert set(nodes) == closed

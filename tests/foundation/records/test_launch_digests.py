from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.records import LaunchDigests, Observations, from_json, to_json

DIGESTS = st.dictionaries(
    st.integers(0, 10**6).map(str),
    st.dictionaries(st.sampled_from(["x", "y"]), st.text("0123456789abcdef", min_size=16, max_size=16)),
)


@given(DIGESTS)
def test_digests_survive_json(after: dict[str, dict[str, str]]) -> None:
    digests = LaunchDigests(12, after)
    assert from_json(LaunchDigests, to_json(digests)) == digests


def test_a_case_without_digests_has_no_key_for_them() -> None:
    assert to_json(Observations()) == {}

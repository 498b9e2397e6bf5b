from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.execution.cluster import messages
from gpuregress.execution.cluster.messages import CaseReply, CaseRequest, DumpFile, SentFile
from gpuregress.foundation.records import Outcome

texts = st.text(max_size=8)
files = st.builds(SentFile, texts, texts, st.integers(0, 1 << 50))
dumps = st.builds(DumpFile, texts, st.integers(0, 1 << 50), texts, st.sampled_from(("inline", "kept", "known")))
outcomes = st.none() | st.builds(Outcome, texts, st.sampled_from(("done", "error")), message=texts)


@given(
    st.builds(
        CaseRequest,
        run=texts,
        worker=texts,
        case=texts,
        task=st.dictionaries(texts, texts | st.integers() | st.lists(texts)),
        folder=texts,
        device=texts,
        label=texts,
        environment=st.dictionaries(texts, texts),
        command=st.lists(texts).map(tuple),
        files=st.lists(files, max_size=3).map(tuple),
        folders=st.lists(texts).map(tuple),
        known=st.dictionaries(texts, st.lists(texts).map(tuple)),
    )
)
def test_a_request_comes_back_as_it_was(request: CaseRequest) -> None:
    assert messages.request_of(messages.encode(request)) == request


@given(
    st.builds(
        CaseReply,
        st.sampled_from(("done", "missing", "stale", "failed", "unusable")),
        outcomes,
        texts,
        st.lists(dumps, max_size=3).map(tuple),
        st.lists(texts).map(tuple),
        texts,
    )
)
def test_a_reply_comes_back_as_it_was(reply: CaseReply) -> None:
    assert messages.reply_of(messages.encode(reply)) == reply


@pytest.mark.parametrize("data", [b"", b"[]", b'{"kind": "maybe"}', b'{"kind": "done", "more": 1}'])
def test_what_is_no_reply_is_refused(data: bytes) -> None:
    with pytest.raises((ValueError, TypeError)):
        messages.reply_of(data)

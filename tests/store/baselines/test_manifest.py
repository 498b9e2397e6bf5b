from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.errors import BaselineError
from gpuregress.foundation.records import Acceptance, AcceptedTiming, Case, MadeOf, Outcome, Source
from gpuregress.foundation.storage import digest_text
from gpuregress.store.baselines import BaselineStore, Manifest, ManifestEntry, made_of, parse, render
from tests.store.baselines.support import NAME, accept, accept_outcome, damage, make_case, make_outcome


@pytest.mark.parametrize("how", ["cut", "edited", "added"])
def test_a_damaged_yaml_is_named(store: BaselineStore, tmp_path: Path, how: str) -> None:
    accept(store, tmp_path / "run", [1.0, 2.0])
    damage(store.folder / NAME / "baseline.yaml", how)
    with pytest.raises(BaselineError, match=r"baseline\.yaml: cut short or edited by hand"):
        store.load(NAME)
    accept(store, tmp_path / "run", [1.0, 2.0])
    assert store.load(NAME) is not None


@pytest.mark.parametrize(
    "content",
    [
        "version: " + "[" * 25_000,
        "{a: " * 25_000,
        "- " * 25_000,
        "version: &a {<<: *a}",
        "a0: &a0 [x]\n" + "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]\n" for k in range(1, 40)),
        "version: !!python/object/apply:os.system [ls]",
        f"version: {'9' * 5000}",
        "[1]",
        "5",
        "",
    ],
    ids=lambda content: content[:12],
)
def test_a_document_made_to_crash_its_reader(content: str, tmp_path: Path) -> None:
    body = f"{content}\n"
    data = f"{body}whole: {digest_text(body.encode())}\n".encode()
    with pytest.raises(BaselineError, match="not a baseline of version 1") as caught:
        parse(data, tmp_path / "baseline.yaml")
    assert len(str(caught.value)) < 500


def test_a_baseline_of_many_launches_is_read_again(
    store: BaselineStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuregress.foundation.document.yaml_parser.MAX_VALUES", 50)
    case, outcome = make_case(), make_outcome(tmp_path / "run", [1.0])
    calls = [f"k<<<({blocks},1,1),(1,1,1),0>>>()" for blocks in range(1, 100)]
    accept_outcome(store, case, outcome, made_of(case, outcome, (), calls))
    accepted = store.load(NAME)
    assert accepted is not None
    assert accepted.made_of.launches == tuple(calls)


def test_a_version_not_known_is_no_baseline(store: BaselineStore, tmp_path: Path) -> None:
    accept(store, tmp_path / "run", [1.0])
    path = store.folder / NAME / "baseline.yaml"
    document = parse(path.read_bytes(), path)
    path.write_bytes(render(Manifest(2, document.revision, document.made_of, {}, {}, ())))
    with pytest.raises(BaselineError, match="version 2"):
        store.load(NAME)


texts = st.text(st.characters(codec="utf-8"), max_size=30)


names = st.text("abcxyz_019", min_size=1, max_size=8)


digests = st.text("0123456789abcdef", min_size=32, max_size=32)


entries = st.builds(
    ManifestEntry,
    texts,
    st.sampled_from(["float32", "{id:int32,score:float32}"]),
    st.tuples(st.integers(0, 2**40)),
    digests,
    digests,
)


facts_strategy = st.builds(
    MadeOf,
    digests,
    st.dictionaries(names, digests, max_size=3),
    st.integers(0, 2**63),
    texts,
    st.tuples(texts, texts),
    st.sampled_from(["pinned", "native"]),
    texts,
    texts,
    texts,
    st.tuples(texts),
    st.dictionaries(texts, st.dictionaries(names, st.integers(0, 999), max_size=2), max_size=2),
)


timings = st.builds(
    AcceptedTiming,
    texts,
    st.lists(st.floats(1e-6, 1e6), max_size=4).map(tuple),
    digests,
    sm_clock=texts,
    instructions=st.dictionaries(names, st.integers(1, 2**62), max_size=2),
    uncounted=st.tuples(texts) | st.just(()),
)


documents = st.builds(
    Manifest,
    st.just(1),
    texts,
    facts_strategy,
    st.dictionaries(names, entries, max_size=3),
    st.dictionaries(names, entries, max_size=1),
    st.lists(st.builds(Acceptance, texts, digests, texts, texts, texts, texts, texts), max_size=3).map(tuple),
    timings=st.dictionaries(names, timings, max_size=2),
)


@given(documents)
def test_the_document_reads_back(document: Manifest) -> None:
    assert parse(render(document), Path("baseline.yaml")) == document


@given(documents, st.data())
def test_a_document_cut_anywhere_is_refused(document: Manifest, data: st.DataObject) -> None:
    text = render(document)
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(BaselineError):
        parse(text[:cut], Path("baseline.yaml"))


def test_options_that_name_folders_are_left_out() -> None:
    program_options = ("-lineinfo", "-I", "/a/b", "-I/x", "--include-path=/y", "-DTILE=4", "-std=c++17")
    case = make_case()
    outcome = Outcome(NAME, "done")
    source = Source("/p/k.cu", options=program_options)
    case = Case(case.job, case.name, case.path, {}, source, "1", "5eed", 1, {}, (), (), {})
    assert made_of(case, outcome, (), []).options == ("-lineinfo", "-DTILE=4", "-std=c++17")


def test_the_samples_have_one_line() -> None:
    timing = {"NVIDIA H200": AcceptedTiming("1.4", (0.5, 0.25))}
    text = render(Manifest(1, "1.4", MadeOf("5eed"), {}, {}, (), timings=timing)).decode()
    assert "    samples_ms: [0.5, 0.25]\n" in text
    assert "timings" not in render(Manifest(1, "1.4", MadeOf("5eed"), {}, {}, ())).decode()

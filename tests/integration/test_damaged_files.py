"""Files of ours that were edited or cut short: a known exit code and a line that names the file, never a traceback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workshop import Workshop

KNOWN = {0, 1, 2, 3, 4, 5}
COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "latest/results.json": (("report",), ("report", "--json"), ("accept", "-m", "why"), ("review",)),
    "latest/verdicts.jsonl": (
        ("report",),
        ("log",),
        ("history",),
        ("accept", "-m", "why"),
        ("review",),
        ("reject", "scale"),
    ),
    "latest/launch.log": (("log",), ("log", "--json"), ("report",)),
    "rejected.json": (("review",), ("accept", "-m", "why"), ("reject", "--undo", "scale")),
    "nightly.json": (("accept", "--prune"),),
}
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner))


@pytest.fixture
def rejected_shop(fake_shop: Workshop) -> Workshop:
    """A project with every file that gpuregress writes beside baselines."""
    assert fake_shop.call("nightly", "--device", "cpu").exit_code == 1
    assert fake_shop.call("reject", "scale").exit_code == 0
    return fake_shop


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value inside."""
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield from places(inner, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = replaced(copy[path[0]], path[1:], new)
    return copy


def mutated(data: st.DataObject, text: bytes) -> bytes:
    """The file with a value inside replaced, with bytes replaced, or something else altogether."""
    lines = text.splitlines(keepends=True)
    kind = data.draw(st.sampled_from(["value", "bytes", "other"]))
    if kind == "other":
        return data.draw(
            st.sampled_from([b"", b"null", b"[]", b"{}", b"[" * 50_000, b"\xff\xfe", b"1e999", b"\0" * 99])
        )
    if kind == "value" and text.lstrip().startswith(b"{"):
        whole = len(lines) if lines[0].strip() == b"{" else 1
        first = 0 if whole > 1 else data.draw(st.integers(0, len(lines) - 1))
        document = json.loads(b"".join(lines[first : first + whole]))
        path = data.draw(st.sampled_from(list(places(document))))
        line = json.dumps(replaced(document, path, data.draw(values))).encode() + b"\n"
        return b"".join([*lines[:first], line, *lines[first + whole :]])
    begin = data.draw(st.integers(0, len(text)))
    return text[:begin] + data.draw(st.binary(max_size=9)) + text[data.draw(st.integers(begin, len(text))) :]


@pytest.mark.parametrize("name", COMMANDS)
@settings(max_examples=10)
@given(data=st.data())
def test_a_damaged_file_is_an_answer_and_no_crash(rejected_shop: Workshop, name: str, data: st.DataObject) -> None:
    path = rejected_shop.root / "runs" / name
    kept = rejected_shop.root / f"kept-{path.name}"
    if not kept.exists():
        kept.write_bytes(path.read_bytes())
    path.write_bytes(mutated(data, kept.read_bytes()))
    for command in COMMANDS[name]:
        done = rejected_shop.call(*command)
        assert done.exit_code in KNOWN
        assert "inside gpuregress" not in done.output
        assert done.exception is None or isinstance(done.exception, SystemExit)


@pytest.mark.parametrize("name", ["latest/results.json", "latest/verdicts.jsonl", "rejected.json"])
@pytest.mark.parametrize("text", ["", "{}", "null", '{"version": 1}', '{"version": "1", "rejected": [{}], "cases": 0}'])
def test_a_damaged_file_is_named(rejected_shop: Workshop, name: str, text: str) -> None:
    (rejected_shop.root / "runs" / name).write_text(text)
    printed = rejected_shop.fails(4, "review")
    assert f"{Path(name).name}: edited or cut short; " in printed


def test_a_damaged_record_of_the_last_night_is_said_by_the_next(rejected_shop: Workshop) -> None:
    (rejected_shop.root / "runs/nightly.json").write_text('{"cases": [1]}')
    assert (
        "nightly.json: edited or cut short; whether a case vanished"
        in rejected_shop.call("nightly", "--device", "cpu").output
    )


def test_results_that_are_gone_are_read_from_the_journal(rejected_shop: Workshop) -> None:
    path = rejected_shop.root / "runs/latest/results.json"
    before = json.loads(path.read_text())
    path.unlink()
    assert json.loads(rejected_shop.call("report", "--json").stdout) == before

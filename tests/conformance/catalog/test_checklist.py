"""The checklist in docs/reference/cpu-instructions.md is what the tables say."""

from __future__ import annotations

import pytest

from tests.conformance.catalog import checklist


def test_the_document_has_the_checklist_of_the_tables() -> None:
    document = checklist.DOCUMENT.read_text(encoding="utf-8")
    assert document == checklist.placed(document), "run python -m tests.conformance.catalog.checklist --write"


def test_every_instruction_of_the_tables_is_in_a_section_once() -> None:
    listed = [opcode for words in checklist.SECTIONS.values() for opcode in words.split()]
    assert len(listed) == len(set(listed))
    assert checklist.lowered() <= set(listed)


def test_what_is_promised_has_been_asked() -> None:
    asked = checklist.forms_asked()
    computing = {"Integers", "Carries", "Floating point", "Comparison and selection", "Logic and shifts"}
    wanted = {opcode for section in computing for opcode in checklist.SECTIONS[section].split()}
    assert not [opcode for opcode in wanted if not asked[opcode]]


def test_an_instruction_that_is_not_there_is_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checklist, "lowered", set)
    assert checklist.states()["add"] == "not"
    assert "| `add` | not |" in checklist.markdown()

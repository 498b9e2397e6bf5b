"""Remarks on the use of tolerances."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gpuregress.foundation.records import BufferVerdict, Comparison, Status
from gpuregress.session.case_remarks import ToleranceRemarks
from gpuregress.store.history import History
from tests.store.history.past import night, verdict


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.sqlite"


@pytest.fixture
def remarks(path: Path) -> Iterator[ToleranceRemarks]:
    with closing(ToleranceRemarks(path)) as remarks:
        yield remarks


def add(path: Path, *shares: float | None, revision: str = "3f2a", device: str = "cpu", first: int = 1) -> None:
    with History(path) as history:
        for number, share in enumerate(shares, first):
            case = verdict("a", "pass", device, tolerance_share=share, revision=revision)
            history.add(night(number, {}, verdicts=(case,)))


@pytest.mark.parametrize(
    ("share", "status", "expected"),
    [
        (0.93, "pass", ("93 % of its tolerance used",)),
        (1.0, "pass", ("100 % of its tolerance used",)),
        (0.8, "pass", ()),
        (0.93, "new", ("93 % of its tolerance used",)),
        (1.5, "differ", ()),
        (None, "pass", ()),
    ],
)
def test_a_case_near_its_limit(
    remarks: ToleranceRemarks, share: float | None, status: Status, expected: tuple[str, ...]
) -> None:
    assert remarks.remarks(verdict("a", status, tolerance_share=share)) == expected


@pytest.mark.parametrize(
    ("before", "now", "text"),
    [
        (0.30, 0.62, "62 % of its tolerance used; 30 % in the previous run, R01"),
        (0.30, 0.59, ""),
        (0.04, 0.09, ""),  # noise
        (0.001, 0.10, "10 % of its tolerance used; under 1 % in the previous run, R01"),
        (0.0, 0.2, "20 % of its tolerance used; 0 % in the previous run, R01"),
        (None, 0.5, ""),
        (0.30, 0.95, "95 % of its tolerance used; 30 % in the previous run, R01"),
    ],
)
def test_a_use_that_doubled_since_the_previous_run(
    path: Path, remarks: ToleranceRemarks, before: float | None, now: float, text: str
) -> None:
    add(path, before)
    assert remarks.remarks(verdict("a", "pass", tolerance_share=now)) == ((text,) if text else ())


def test_a_slow_doubling_since_the_accepted_revision(path: Path, remarks: ToleranceRemarks) -> None:
    add(path, 0.2, revision="old")
    add(path, 0.3, 0.4, first=2)
    now = verdict("a", "pass", tolerance_share=0.45, baseline_revision="old")
    assert remarks.remarks(now) == ("45 % of its tolerance used; 20 % in the last run of the accepted revision, R01",)


def test_runs_on_other_devices_are_not_compared(path: Path, remarks: ToleranceRemarks) -> None:
    add(path, 0.1, device="cuda:0")
    assert remarks.remarks(verdict("a", "pass", tolerance_share=0.5)) == ()
    assert remarks.remarks(verdict("a", "pass", "cuda:1", tolerance_share=0.5)) != ()


def test_of_several_buffers_the_one_that_uses_most_is_named(remarks: ToleranceRemarks) -> None:
    buffers = tuple(
        BufferVerdict(
            name,
            "pass",
            comparisons=(Comparison(name, "baseline", "", same=True, identical=False, of=1, tolerance_share=share),),
        )
        for name, share in (("x", None), ("y", 0.9), ("z", 0.3))
    )
    now = verdict("a", "pass", tolerance_share=0.9, buffers=buffers)
    assert remarks.remarks(now) == ("90 % of its tolerance used by y",)


def test_a_damaged_history_hides_no_remark(path: Path, remarks: ToleranceRemarks) -> None:
    path.write_text("no database" * 1000)
    assert remarks.remarks(verdict("a", "pass", tolerance_share=0.9)) == ("90 % of its tolerance used",)
    assert path.read_text().startswith("no database")

"""Keywords and baselines of pytest-regressions, for tests that are moved to `kernel_regression`.

`num_regression` and `dataframe_regression` keep all arrays of a test in one `.csv`, whose first column is an index,
`ndarrays_regression` in one `.npz`. The files are in the folder that has our dumps. A file is named by `basename`, or
by the test with `_` for each character that is no letter, digit or underscore, after the class's name if that was asked
for (`resolve_check_paths` in `pytest_regressions/common.py` of 2.11).
"""

from __future__ import annotations

import contextlib
import csv
import difflib
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from msgspec import field

from gpuregress.api import arrays
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.numeric import conversion
from gpuregress.gpu.records import Record

Array = npt.NDArray[Any]

_REMEDIES = {
    "data_dict": "pass the mapping as the first argument",
    "data_frame": "pass a mapping of the columns as the first argument",
    "tolerances": 'write rules={"y": {"rtol": …, "atol": …}}',
    "default_tolerance": "write rtol=…, atol=…",
    "data_index": "leave it out: a difference is reported with the index of the element",
    "fill_different_shape_with_nan": "leave it out: the arrays of one check may have different shapes",
    "fullpath": "write basename=…; the baselines are in the folder beside the test",
}
"""Keyword of pytest-regressions → what to write here."""
_ABSENT = ("equal_nan", "signed_zero", "outliers", "metric", "key", "statistics", "verify")
"""Keywords of `numpy.isclose` and of the rules of a job that the fixture does not have."""
_WHOLE = re.compile(r"[+-]?[0-9]+(\.0*)?")
_ALIKE = 0.7
"""The similarity from which on one keyword may be meant by another, as difflib counts it."""


def keyword_problem(name: str, value: Any, keywords: Sequence[str]) -> str:
    """Describe why `check(name=value)` does not pass an array; "" if it does.

    A misspelt keyword that became an array would be compared with its own value for ever. So a number, a text or a
    mapping is refused whatever its name is, and an array that has the name of a keyword; the mapping takes both.

    Args:
        name: of the keyword.
        value: what the test gives.
        keywords: those of `check`.
    """
    known = {_folded(word): word for word in (*_REMEDIES, *_ABSENT, *keywords)}
    is_plain = not (arrays.is_array(value) or isinstance(value, np.generic)) and _dimensions(value) == 0
    is_number = is_plain or _dimensions(value) == 0
    near = difflib.get_close_matches(_folded(name), known, 1, _ALIKE if is_number else 1.0)
    if not (is_plain or near):
        return ""
    meant = known[near[0]] if near else ""
    if meant in _REMEDIES:
        what = "is" if name == meant else f"is not a keyword of check; {meant} is"
        return f"{name} {what} a keyword of pytest-regressions; {_REMEDIES[meant]}"
    hint = f"; did you mean {meant}?" if meant in keywords else "."
    shown = f"{name}={_shown(value)}"
    return f"{shown} is not a keyword of check{hint} Values to compare are in the mapping: check({{{name!r}: …}})"


def _folded(name: str) -> str:
    return name.lower().replace("_", "")


def _dimensions(value: Any) -> int:
    try:
        return np.ndim(value)
    except (TypeError, ValueError, RuntimeError):  # a ragged list, or a tensor that numpy cannot take
        return 1


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 30 else f"{text[:27]}…"


class EarlierBaselines(Record):
    """The arrays that pytest-regressions kept for a test.

    Attributes:
        columns: name → its file and its cells, in a `.csv`.
        stored: name → its file and the array, in a `.npz`.
        problems: files that cannot be read, in words.
    """

    columns: dict[str, tuple[Path, list[str]]] = field(default_factory=dict)
    stored: dict[str, tuple[Path, Array]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def names(self) -> frozenset[str]:
        """The names of all arrays."""
        return frozenset((*self.columns, *self.stored))

    def path(self, name: str) -> Path:
        """Return the file that has an array."""
        return (self.columns.get(name) or self.stored[name])[0]

    def read(self, name: str, array: Array, element: ElementType, longest: int) -> tuple[Array, ElementType]:
        """Return an array that was kept, and its element type.

        A `.csv` has no types: its numbers are read as those of the array that is compared with it. An array that is
        shorter than the longest of its table ends with empty cells there.

        Args:
            name: of the array.
            array: that the test gives.
            element: its element type.
            longest: elements of the longest array that the test gives.

        Raises:
            ValueError: a cell is not a number of this type.
            TypeError: no type of ours holds the elements.
        """
        if name in self.stored:
            return arrays.contents(self.stored[name][1])
        cells = self.columns[name][1]
        if array.ndim > 1:
            raise ValueError(f"it has one dimension, and the array of the test has {array.ndim}")
        if array.size < len(cells) == longest and not any(cells[array.size :]):
            cells = cells[: array.size]
        shape = array.shape if array.size == len(cells) else (len(cells),)
        numbers = [_number(cell, element) for cell in cells]
        if element.is_float:
            plain = np.complex128 if element.storage.kind == "c" else np.float64
            return conversion.convert(np.array(numbers, plain), element, shape), element
        problem = conversion.numbers_problem(map(int, numbers), element.parts[0].scalar)
        if problem:
            raise ValueError(problem)
        return np.array(numbers, element.storage).reshape(shape), element


def find(folder: Path, request: pytest.FixtureRequest, basename: str | None) -> EarlierBaselines:
    """Find what pytest-regressions kept for a test.

    Args:
        folder: of the baselines.
        request: of the fixture.
        basename: as the test gives it.
    """
    found = EarlierBaselines()
    names = [basename]
    if basename is None:
        test, owner = (re.sub(r"\W", "_", name) for name in (request.node.name, getattr(request.cls, "__name__", "")))
        names = [test, f"{owner}_{test}"] if owner else [test]
    for path in (folder / f"{name}{suffix}" for name in names for suffix in (".csv", ".npz")):
        try:
            if path.suffix == ".csv":
                found.columns.update(_table(path))
            else:
                found.stored.update(_archive(path))
        except (OSError, ValueError, EOFError, csv.Error, zipfile.BadZipFile) as error:
            found.problems.append(f"{path.name}: not readable as a baseline of pytest-regressions: {error}")
    for name in found.columns.keys() & found.stored.keys():
        files = f"{found.columns[name][0].name} and {found.stored[name][0].name}"
        found.problems.append(f"{name} is in two baselines of pytest-regressions, {files}: remove one of them")
    return found


def _table(path: Path) -> Mapping[str, tuple[Path, list[str]]]:
    """Column → its cells; the index has no name."""
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = list(csv.reader(file, strict=True)) or [[]]
    if len(head) < 2:
        raise ValueError("it has no columns after its index")
    if any(len(row) != len(head) for row in rows):
        raise ValueError("it has lines of different lengths")
    return {name: (path, [row[column] for row in rows]) for column, name in enumerate(head) if column}


def _archive(path: Path) -> Mapping[str, tuple[Path, Array]]:
    if not path.is_file():
        return {}
    if not zipfile.is_zipfile(path):
        raise ValueError("it is not a numpy archive, or was cut short")
    with np.load(path, allow_pickle=False) as archive:
        return {name: (path, archive[name]) for name in archive.files}


def _number(cell: str, element: ElementType) -> Any:
    """Read a cell as pandas wrote it: `True`, `12`, `1.0` for a whole number in a column with gaps, "" for NaN."""
    text = cell.strip()
    is_float = element.is_float and (len(element.parts) == 1 or element.storage.kind == "c")
    if element.name == "bool" and text in ("True", "False"):
        return text == "True"
    if not element.is_float and _WHOLE.fullmatch(text):
        return int(text.partition(".")[0])
    with contextlib.suppress(ValueError):
        if is_float and "_" not in text:
            return complex(text or "nan") if element.storage.kind == "c" else float(text or "nan")
    raise ValueError(f"{cell!r} is not a value of {element.name}")

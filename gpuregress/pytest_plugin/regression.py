"""Fixture `kernel_regression`: arrays of a test compared with dumps beside the test.

The baselines are dumps beside the test: `test_sum.py` and the test `test_small` have `test_sum/test_small.y.dump`.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy.typing as npt
import pytest

from gpuregress.api import arrays
from gpuregress.compare.rule_validation import validate_rule
from gpuregress.dtypes import ElementType
from gpuregress.dump import writer
from gpuregress.escapes import inert, visible
from gpuregress.pytest_plugin import array_comparison, baseline_names
from gpuregress.records import Rule

_SUFFIX = ".dump"
_BOUNDS = ("rtol", "atol", "ulp", "nan")
_KEYS = ("rtol", "atol", "ulp", "nan", "order")


@dataclass(frozen=True, slots=True)
class _Given:
    """An array that a test passes."""

    name: str
    array: npt.NDArray[Any]
    element: ElementType
    rule: Rule


class KernelRegression:
    """Comparison of arrays with the baselines of one test.

    Args:
        request: of the fixture.
    """

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        option = request.config.option
        self._accepts = bool(option.gpuregress_accept or getattr(option, "regen_all", False))
        self._regenerates = bool(getattr(option, "force_regen", False))
        self._folder = request.path.parent / request.path.stem
        self._checked: set[str] = set()

    def check(
        self,
        data: Mapping[str, Any] | None = None,
        /,
        *,
        rtol: float | None = None,
        atol: float | None = None,
        ulp: int | None = None,
        nan: Literal["equal", "never"] = "equal",
        order: Literal["indexed", "any"] = "indexed",
        rules: Mapping[str, Mapping[str, Any]] | None = None,
        basename: str | None = None,
        **named: Any,
    ) -> None:
        """Compare arrays with their baselines; every bit must be equal where no tolerance is given.

        An array without a baseline gets one, and the test fails once. With `--gpuregress-accept` what is new or differs
        becomes the baseline, and the test passes.

        Args:
            data: array's name → array of numpy, CuPy, Torch, or numbers.
            rtol: of arrays of floats: |actual - baseline| <= atol + rtol * |baseline|.
            atol: see rtol.
            ulp: of arrays of floats: steps between floats.
            nan: of arrays of floats: whether a NaN equals a NaN.
            order: `any` compares the values in any order.
            rules: array's name → `rtol`, `atol`, `ulp`, `nan`, `order` for it alone.
            basename: of the files, the test's name where not given. A further check with the same one, of this test or
                of another one in its file, is compared with the same baselines, and never replaces them.
            named: further arrays.
        """
        __tracebackhide__ = True
        node = self._request.node
        base = baseline_names.of_test(node.name) if basename is None else basename
        owner = baseline_names.owner(self._request.config, self._folder / base, node.nodeid)
        is_first = base not in self._checked and owner == node.nodeid
        self._checked.add(base)
        common = {"rtol": rtol, "atol": atol, "ulp": ulp, "nan": nan, "order": order}
        given = [
            _given(name, value, common, (rules or {}).get(name)) for name, value in {**(data or {}), **named}.items()
        ]
        unknown = sorted(set(rules or {}) - {one.name for one in given})
        if not given or unknown:
            what = f"rules for {', '.join(unknown)}, which is not given" if unknown else "no array is given"
            pytest.fail(f"kernel_regression: {what}", pytrace=False)
        self._compare(base, given, is_first=is_first)

    def _compare(self, base: str, given: list[_Given], *, is_first: bool) -> None:
        __tracebackhide__ = True
        paths = {one.name: self._folder / f"{base}.{_file_name(one.name)}{_SUFFIX}" for one in given}
        if len(set(paths.values())) < len(paths):
            pytest.fail(f"kernel_regression: two of {', '.join(paths)} have one file name: rename one", pytrace=False)
        present = {
            path
            for path in self._folder.glob(f"{glob.escape(base)}.*{_SUFFIX}")
            if "." not in path.name[len(base) + 1 : -5]
        }
        gone = sorted(present - set(paths.values()))
        texts: list[str] = []
        written: list[Path] = []
        for one in given:
            path = paths[one.name]
            problem = array_comparison.difference(one.name, one.array, one.element, one.rule, path)
            if problem and is_first and (self._accepts or self._regenerates or not path.exists()):
                writer.write(path, one.array, one.element, one.array.shape)
                written.append(path)
            elif problem:
                obtained = self._obtained(path.name)
                writer.write(obtained, one.array, one.element, one.array.shape, durable=False)
                texts += [problem, f"  obtained  {obtained}", f"  baseline  {_shown(path)}"]
        if gone and is_first and (self._accepts or self._regenerates):
            for path in gone:
                path.unlink()
        elif gone:
            texts += [f"{_shown(path)} is a baseline of an array that the test does not give" for path in gone]
        self._report(written, texts, is_new=not (self._accepts or self._regenerates), is_first=is_first)

    def _report(self, written: list[Path], texts: list[str], *, is_new: bool, is_first: bool) -> None:
        __tracebackhide__ = True
        if texts:
            more = "" if is_first else "; another check has the same name: give it a basename= of its own"
            texts.append(f"to accept it: pytest --gpuregress-accept{more}")
        if written and not self._accepts:
            what = "no baseline yet; written, see whether it is right" if is_new else "--force-regen: written anew"
            texts += [f"{what}:", *(f"  {_shown(path)}" for path in written)]
        if texts:
            pytest.fail(inert(visible("\n".join(texts))), pytrace=False)

    def _obtained(self, name: str) -> Path:
        folder: Path = self._request.getfixturevalue("tmp_path")
        return folder / "obtained" / name


def _given(name: str, value: Any, common: Mapping[str, Any], own: Mapping[str, Any] | None) -> _Given:
    __tracebackhide__ = True
    problem = ""
    try:
        array, element = arrays.contents(value)
    except (TypeError, ValueError) as error:
        problem = str(error)
    if problem:  # outside of the handler, so that pytest shows one error
        pytest.fail(f"kernel_regression: {name}: {problem}", pytrace=False)
    unknown = sorted(set(own or {}) - set(_KEYS))
    if unknown:
        pytest.fail(
            f"kernel_regression: rules[{name!r}]: unknown {', '.join(unknown)}; the keys are {', '.join(_KEYS)}",
            pytrace=False,
        )
    shared = {key: value for key, value in common.items() if element.is_float or key not in _BOUNDS}
    rule = Rule(**(shared if own is None else {"order": common["order"], **own}))
    problems = validate_rule(rule, element)
    if problems:
        keys, text = problems[0]
        pytest.fail(f"kernel_regression: {'.'.join(keys)} of {name} {text}", pytrace=False)
    return _Given(name, array, element, rule)


def _file_name(name: str) -> str:
    return re.sub(r"[^\w-]", "_", name)


def _shown(path: Path) -> str:
    return str(path).removeprefix(f"{Path.cwd()}/")

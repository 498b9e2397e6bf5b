"""Fixture `kernel_regression`: arrays of a test compared with dumps beside the test.

The baselines are dumps beside the test: `test_sum.py` and the test `test_small` have `test_sum/test_small.y.dump`.
"""

from __future__ import annotations

import glob
import hashlib
import numbers
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest

from gpuregress.api import arrays
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.escapes import entry, inert, visible
from gpuregress.foundation.numeric import float_environment
from gpuregress.foundation.records import BufferVerdict, Comparison, Rule, Verdict
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.spec.resolve.rules import validate_rule
from gpuregress.judge.compare import comparators, in_order
from gpuregress.judge.compare.comparison_request import ComparisonRequest
from gpuregress.judge.diagnose import pattern_table
from gpuregress.judge.diagnose.evidence import DifferenceSample, Evidence
from gpuregress.pytest_plugin import num_regression, session_folder
from gpuregress.report import terminal
from gpuregress.store.dumps import reader, writer

_FORBIDDEN = re.compile(r"[^\w.+=,@-]")
_LONGEST = 120
_OWNERS = pytest.StashKey[dict[Path, str]]()


def of_test(name: str) -> str:
    """Return the file name of a test's baselines: `test_sum[1.5-b]` has `test_sum_1.5-b_`.

    Two tests of a function have two names: a character that a file name should not hold becomes its code, as `%2f`.

    Args:
        name: of pytest's node, with its parameters.
    """
    parts = name.removesuffix("]").split("[", 1)
    function, *parameters = (_FORBIDDEN.sub(lambda match: f"%{ord(match[0]):02x}", part) for part in parts)
    whole = f"{function}_{parameters[0]}_" if parameters else function
    if len(whole.encode()) <= _LONGEST:
        return whole
    return f"{whole.encode()[:_LONGEST].decode(errors='ignore')}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def owner(config: pytest.Config, baselines: Path, test: str) -> str:
    """Return the test of this session that was the first to check some baselines, in whichever process of xdist.

    Args:
        config: of the session.
        baselines: their path, without the arrays' names.
        test: that checks them now; it becomes their owner if there is none.
    """
    known = config.stash.setdefault(_OWNERS, {})
    if baselines not in known:
        is_shared = hasattr(config, "workerinput")
        known[baselines] = _claimed(session_folder.of_session(config), baselines, test) if is_shared else test
    return known[baselines]


def _claimed(folder: Path, baselines: Path, test: str) -> str:
    """The owner among all processes: the one whose file got the common name first."""
    claims = folder / "gpuregress-baselines"
    claims.mkdir(exist_ok=True)
    claim = claims / hashlib.sha256(str(baselines).encode()).hexdigest()
    own = claims / f"{claim.name}.{os.getpid()}"
    own.write_text(test, encoding="utf-8")
    try:
        os.link(own, claim)
    except FileExistsError:
        return claim.read_text(encoding="utf-8")
    finally:
        own.unlink()
    return test


@float_environment.default()
def difference(name: str, array: npt.NDArray[Any], element: ElementType, rule: Rule, path: Path) -> str:
    """Describe how an array differs from its baseline; "" where it does not.

    Args:
        name: of the array.
        array: in the storage dtype.
        element: its element type.
        rule: of the comparison.
        path: of the baseline.
    """
    if not path.exists():
        return f"{name}: no baseline yet"
    try:
        baseline = reader.read(path)
    except GpuregressError as error:
        return entry(f"{name}: {error}")
    header = baseline.header
    if (header.element_type.name, header.shape) != (element.name, array.shape):
        was, now = _kind(header.element_type, header.shape), _kind(element, array.shape)
        return f"{name}: {now}, the baseline has {was}"
    if not array.size:
        return ""
    request = ComparisonRequest(name, element, array.shape, rule)
    comparison = _compared(request, baseline.array.reshape(-1), array.reshape(-1))
    if comparison.same:
        return ""
    verdict = Verdict(name, name, "differ", buffers=(BufferVerdict(name, "differ", comparisons=(comparison,)),))
    return "\n".join(map(entry, terminal.details(verdict)))


def _compared(request: ComparisonRequest, expected: npt.NDArray[Any], actual: npt.NDArray[Any]) -> Comparison:
    if comparators.comparator_name(request.rule, request.element_type) != "indexed":
        return comparators.compare(request, expected, actual)
    run, sample = in_order.InOrder(request, every=True), DifferenceSample()
    for start in range(0, len(expected), in_order.BLOCK):
        piece = slice(start, start + in_order.BLOCK)
        indices = np.arange(start, start + len(expected[piece]))
        broken = run.add(indices, expected[piece], actual[piece])
        sample.add(indices[broken], expected[piece][broken], actual[piece][broken])
    comparison = run.finish()
    if comparison.same or not sample.of:
        return comparison
    evidence = Evidence(
        request.element_type, request.shape, *sample.rows(), of=sample.of, whole_expected=expected, whole_actual=actual
    )
    return replace(comparison, findings=pattern_table.diagnose(evidence))


def _kind(element: ElementType, shape: tuple[int, ...]) -> str:
    return f"{element.name} {list(shape)}"


_SUFFIX = ".dump"
_BOUNDS = ("rtol", "atol", "ulp", "nan")
_KEYS = ("rtol", "atol", "ulp", "nan", "order")
_KEYWORDS = (*_KEYS, "rules", "basename")
_WORDS = {"nan": ("equal", "never"), "order": ("indexed", "any")}


class _Given(Record):
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
        self.notes: list[str] = []

    def check(
        self,
        data: Mapping[str, Any] | None = None,
        /,
        *others: Any,
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
        becomes the baseline, and the test passes. Where a test has no baseline of ours but one of pytest-regressions,
        it is compared with that, and gets one of ours if all is equal.

        Args:
            data: array's name → array of numpy, CuPy, Torch, or numbers.
            others: nothing; an argument that pytest-regressions takes here is refused with what to write.
            rtol: of arrays of floats: |actual - expected| <= atol + rtol * |expected|.
            atol: see rtol.
            ulp: of arrays of floats: steps between floats.
            nan: of arrays of floats: whether a NaN equals a NaN.
            order: `any` compares the values in any order.
            rules: array's name → `rtol`, `atol`, `ulp`, `nan`, `order` for it alone.
            basename: of the files, the test's name where not given. A further check with the same one, of this test or
                of another one in its file, is compared with the same baselines, and never replaces them.
            named: further arrays; not numbers, which may be misspelt keywords.
        """
        __tracebackhide__ = True
        self._refuse(data, others, rules, basename, named)
        node = self._request.node
        base = of_test(node.name) if basename is None else basename
        first_user = owner(self._request.config, self._folder / base, node.nodeid)
        is_first = base not in self._checked and first_user == node.nodeid
        self._checked.add(base)
        common = {"rtol": rtol, "atol": atol, "ulp": ulp, "nan": nan, "order": order}
        given = [
            _given(name, value, common, (rules or {}).get(name)) for name, value in {**(data or {}), **named}.items()
        ]
        unknown = sorted(set(rules or {}) - {one.name for one in given})
        if not given or unknown:
            what = f"rules for {', '.join(unknown)}, which is not given" if unknown else "no array is given"
            pytest.fail(f"kernel_regression: {what}", pytrace=False)
        paths = self._paths(base, given)
        present = set(self._present(base))
        if is_first and not (present or self._accepts or self._regenerates):
            earlier = num_regression.find(self._folder, self._request, basename)
            if earlier.names or earlier.problems:
                self._take_over(earlier, given, paths)
                return
        self._compare(given, paths, present, is_first=is_first)

    def _refuse(self, data: Any, others: tuple[Any, ...], rules: Any, basename: Any, named: Mapping[str, Any]) -> None:
        """Fail for arguments that mean nothing, before anything is compared."""
        __tracebackhide__ = True
        problems = [
            problem
            for name, value in named.items()
            if (problem := num_regression.keyword_problem(name, value, _KEYWORDS))
        ]
        if others:
            problems.append("check takes one mapping; write basename=… and rules=… as keywords")
        if not (data is None or isinstance(data, Mapping)):
            problems.append(
                f"the first argument is of type {type(data).__name__}; expected a mapping: check({{'y': y}})"
            )
        elif wrong := [name for name in data or () if not (isinstance(name, str) and name)]:
            problems.append(f"{wrong[0]!r} is not the name of an array; expected text")
        elif twice := sorted(set(data or ()) & set(named)):
            problems.append(f"{twice[0]} is given twice, in the mapping and by its name")
        if not (rules is None or isinstance(rules, Mapping)):
            problems.append(f"rules is {rules!r}; expected a mapping: rules={{'y': {{'rtol': …}}}}")
        if not (basename is None or (isinstance(basename, str) and _is_below(basename))):
            problems.append(f"basename is {basename!r}; expected the name of a file below {_shown(self._folder)}")
        if problems:
            pytest.fail(visible(f"kernel_regression: {problems[0]}"), pytrace=False)

    def _paths(self, base: str, given: list[_Given]) -> dict[str, Path]:
        __tracebackhide__ = True
        paths = {one.name: self._folder / f"{base}.{_file_name(one.name)}{_SUFFIX}" for one in given}
        if len(set(paths.values())) < len(paths):
            pytest.fail(f"kernel_regression: two of {', '.join(paths)} have one file name: rename one", pytrace=False)
        return paths

    def _present(self, base: str) -> Iterator[Path]:
        """The baselines that are there; those of a name that goes on after a point are others'."""
        for path in self._folder.glob(f"{glob.escape(base)}.*{_SUFFIX}"):
            if "." not in path.name[len(Path(base).name) + 1 : -len(_SUFFIX)]:
                yield path

    def _take_over(
        self, earlier: num_regression.EarlierBaselines, given: list[_Given], paths: Mapping[str, Path]
    ) -> None:
        """Compare with the baselines of pytest-regressions; all of them become ours, or none."""
        __tracebackhide__ = True
        texts = [*earlier.problems]
        longest = max(one.array.size for one in given)
        known = [one for one in given if one.name in earlier.names]
        for one in known:
            baseline = self._scratch("earlier", paths[one.name].name)
            try:
                array, element = earlier.read(one.name, one.array, one.element, longest)
                writer.write(baseline, array, element, array.shape, durable=False)
                problem = difference(one.name, one.array, one.element, one.rule, baseline)
            except (TypeError, ValueError) as error:
                problem = f"{one.name}: {error}"
            if problem:
                texts += [problem, *self._write_obtained(one, paths), f"  baseline  {_shown(earlier.path(one.name))}"]
        texts += [
            f"{_shown(earlier.path(name))} has {name}, which the test does not give"
            for name in sorted(earlier.names - {one.name for one in given})
        ]
        if not texts:
            for one in given:
                writer.write(paths[one.name], one.array, one.element, one.array.shape)
            files = sorted({_shown(earlier.path(one.name)) for one in known})
            self.notes.append(f"equal to {', '.join(files)}, which is not read any more: {self._request.node.nodeid}")
        fresh = [paths[one.name] for one in given if one not in known and not texts]
        self._report(fresh, texts, is_new=True, is_first=True)

    def _compare(self, given: list[_Given], paths: Mapping[str, Path], present: set[Path], *, is_first: bool) -> None:
        __tracebackhide__ = True
        gone = sorted(present - set(paths.values()))
        texts: list[str] = []
        written: list[Path] = []
        for one in given:
            path = paths[one.name]
            problem = difference(one.name, one.array, one.element, one.rule, path)
            if problem and is_first and (self._accepts or self._regenerates or not path.exists()):
                writer.write(path, one.array, one.element, one.array.shape)
                written.append(path)
            elif problem:
                texts += [problem, *self._write_obtained(one, paths), f"  baseline  {_shown(path)}"]
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
            what = "no baseline yet; written: check that it is right" if is_new else "--force-regen: written anew"
            texts += [f"{what}:", *(f"  {_shown(path)}" for path in written)]
        if texts:
            pytest.fail(inert(visible("\n".join(texts))), pytrace=False)

    def _write_obtained(self, one: _Given, paths: Mapping[str, Path]) -> list[str]:
        """Write what a test gave, and return the line that says where."""
        path = self._scratch("obtained", paths[one.name].name)
        writer.write(path, one.array, one.element, one.array.shape, durable=False)
        return [f"  obtained  {path}"]

    def _scratch(self, kind: str, name: str) -> Path:
        folder: Path = self._request.getfixturevalue("tmp_path")
        return folder / kind / name


def _given(name: str, value: Any, common: Mapping[str, Any], own: Mapping[str, Any] | None) -> _Given:
    __tracebackhide__ = True
    problem = ""
    try:
        is_structured = isinstance(value, np.ndarray | np.void) and value.dtype.names is not None
        array, element = arrays.records(np.asarray(value)) if is_structured else arrays.contents(value)
    except (TypeError, ValueError) as error:
        problem = str(error)
    if problem:  # outside of the handler, so that pytest shows one error
        pytest.fail(f"kernel_regression: {name}: {problem}", pytrace=False)
    shared = {key: value for key, value in common.items() if element.is_float or key not in _BOUNDS}
    problem = _keys_problem("", common) or _keys_problem(f"rules[{name!r}]: ", {} if own is None else own)
    if problem:
        pytest.fail(visible(f"kernel_regression: {problem}"), pytrace=False)
    rule = Rule(**(shared if own is None else {"order": common["order"], **own}))
    problems = validate_rule(rule, element)
    if problems:
        keys, text = problems[0]
        pytest.fail(f"kernel_regression: {'.'.join(keys)} of {name} {text}", pytrace=False)
    return _Given(name, array, element, rule)


def _keys_problem(where: str, keys: Any) -> str:
    """Describe what is wrong with keys of a rule, whatever they apply to; "" if nothing is."""
    if not isinstance(keys, Mapping):
        return f"{where}{keys!r}; expected a mapping of {', '.join(_KEYS)}"
    unknown = sorted(str(key) for key in keys if key not in _KEYS)
    if unknown:
        return f"{where}unknown {', '.join(unknown)}; the keys are {', '.join(_KEYS)}"
    for key, value in keys.items():
        if key in _WORDS:
            if value not in _WORDS[key]:
                return f"{where}{key} is {value!r}; expected {' or '.join(_WORDS[key])}"
        elif value is not None and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
            return f"{where}{key} is {value!r}; expected a number"
    return ""


def _is_below(name: str) -> bool:
    """Tell whether a name is that of a file in a folder, or in one below it."""
    path = Path(name)
    return bool(path.name) and not (path.is_absolute() or ".." in path.parts or name.endswith("/") or "\0" in name)


def _file_name(name: str) -> str:
    return re.sub(r"[^\w-]", "_", name)


def _shown(path: Path) -> str:
    return str(path).removeprefix(f"{Path.cwd()}/")

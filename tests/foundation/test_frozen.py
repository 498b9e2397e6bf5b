"""Frozen dataclasses whose methods are compiled at their first use."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from dataclasses import field
from typing import Any, ClassVar

import pytest

from gpuregress.foundation.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Light:
    """What is tested."""

    kind: ClassVar[str] = "light"
    name: str
    number: int = 3
    items: dict[str, int] = field(default_factory=dict)
    seconds: float = field(default=0.0, compare=False)
    secret: str = field(default="", repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    """The same, by the standard library."""

    kind: ClassVar[str] = "light"
    name: str
    number: int = 3
    items: dict[str, int] = field(default_factory=dict)
    seconds: float = field(default=0.0, compare=False)
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Checked:
    """One that looks at its fields."""

    number: int

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ValueError(f"{self.number} is negative")


@dataclass(frozen=True, slots=True)
class Derived(Light):
    """One with a base, which the standard library makes."""

    more: int = 0


@dataclass(slots=True)
class Mutable:
    """One that is not frozen."""

    number: int


def _both(*arguments: Any, **named: Any) -> tuple[Any, Any]:
    return Light(*arguments, **named), Standard(*arguments, **named)


def test_text_fields_and_pattern_are_those_of_the_standard_library() -> None:
    light, standard = _both("x", 4, {"a": 1}, secret="s")
    assert repr(light) == repr(standard).replace("Standard", "Light")
    assert [one.name for one in dataclasses.fields(light)] == [one.name for one in dataclasses.fields(standard)]
    assert Light.__match_args__ == Standard.__match_args__
    assert Light.__slots__ == Standard.__slots__
    assert dataclasses.asdict(light) == dataclasses.asdict(standard)
    assert Light.kind == "light"


def test_comparison_and_hash_leave_out_what_does_not_count() -> None:
    @dataclass(frozen=True, slots=True)
    class Pair:
        """A class whose first call is a comparison or a hash."""

        number: int
        seconds: float = field(default=0.0, compare=False)

    one, other = Pair(1, 0.5), Pair(1, 0.75)
    assert hash(one) == hash(other)
    assert one == other
    assert one != Pair(2, 0.5)
    assert one != (1, 0.5)  # type: ignore[comparison-overlap] # that is the point
    assert Light("x") != Standard("x")  # type: ignore[comparison-overlap] # that is the point


def test_each_instance_has_defaults_of_its_own() -> None:
    one, other = Light("x"), Light("y")
    assert one.items == {}
    assert one.items is not other.items


@pytest.mark.parametrize(("arguments", "named"), [((), {}), (("x", 1, {}, 0.0, "", 9), {}), (("x",), {"none": 1})])
def test_wrong_arguments_are_refused_as_by_the_standard_library(
    arguments: tuple[Any, ...], named: dict[str, Any]
) -> None:
    messages = []
    for kind in (Light, Standard):
        with pytest.raises(TypeError) as refused:
            kind(*arguments, **named)
        messages.append(str(refused.value).replace(kind.__name__, ""))
    assert messages[0] == messages[1]


def test_nothing_can_be_assigned_or_deleted() -> None:
    light = Light("x")
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'name'"):
        light.name = "y"  # type: ignore[misc] # that is the point
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'name'"):
        del light.name
    with pytest.raises((AttributeError, TypeError)):
        light.unknown = 1  # type: ignore[attr-defined] # that is the point


def test_replace_copy_and_pickle_give_equal_ones() -> None:
    light = Light("x", 4, {"a": 1})
    assert dataclasses.replace(light, number=5) == Light("x", 5, {"a": 1})
    assert copy.deepcopy(light) == light
    assert copy.copy(light).items is light.items
    assert pickle.loads(pickle.dumps(light)) == light


def test_post_init_is_called() -> None:
    assert Checked(1).number == 1
    with pytest.raises(ValueError, match="-1 is negative"):
        Checked(-1)
    with pytest.raises(ValueError, match="-2 is negative"):
        dataclasses.replace(Checked(1), number=-2)


def test_bases_and_mutable_classes_are_left_to_the_standard_library() -> None:
    assert Derived("x", more=2) == Derived("x", 3, {}, more=2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Derived("x").more = 3  # type: ignore[misc] # that is the point
    mutable = Mutable(1)
    mutable.number = 2
    assert mutable == Mutable(2)


def test_fields_of_every_kind_are_set() -> None:
    @dataclass(frozen=True, slots=True)
    class Kinds:
        """Fields that the constructor does not take, takes by name, or is called like its first parameter."""

        self: int
        late: int = field(default=7, init=False)
        made: list[int] = field(default_factory=list, init=False)
        named: int = field(kw_only=True)
        more: int = field(default=2, kw_only=True)

    one = Kinds(1, named=5)
    assert (one.self, one.late, one.made, one.named, one.more) == (1, 7, [], 5, 2)
    assert str(inspect.signature(Kinds)) == "(self: 'int', *, named: 'int', more: 'int' = 2) -> None"
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'named'"):
        Kinds(1)  # type: ignore[call-arg] # that is the point


def test_one_field_and_none_are_compared_and_hashed() -> None:
    @dataclass(frozen=True, slots=True)
    class One:
        """One field."""

        value: float

    @dataclass(frozen=True, slots=True)
    class Nothing:
        """No field."""

    nan = float("nan")
    assert One(nan) == One(nan)  # the same object, as in a tuple
    assert One(1.0) != One(2.0)
    assert len({One(1.0), One(1.0), Nothing(), Nothing()}) == 2
    assert repr(Nothing()).endswith("Nothing()")


def test_no_constructor_is_compiled_before_its_first_use() -> None:
    name = "r.Verdict.__init__.__name__"
    code = f"import gpuregress.foundation.records as r; print({name}); r.Verdict('a', 'b', 'pass'); print({name})"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["first_call", "__init__"]

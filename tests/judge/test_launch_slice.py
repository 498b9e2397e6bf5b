from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuregress.foundation.records import Argument, Buffer, Case, Launch
from gpuregress.gpu.records import replace
from gpuregress.judge.launch_slice import LaunchEvidence, Origin, Timeline, onset, origins
from tests import fakes


def chain(*launches: tuple[str, ...], swap: Mapping[int, tuple[str, str]] | None = None) -> Case:
    """A case whose launches take these buffers."""
    names = dict.fromkeys(name for names in launches for name in names)
    made = tuple(
        Launch(
            "double",
            (1, 1, 1),
            (1, 1, 1),
            0,
            tuple(Argument("buffer", buffer=name) for name in names),
            swap=(swap[at],) if swap and at in swap else (),
            origin=at,
        )
        for at, names in enumerate(launches)
    )
    buffers = {name: Buffer(name, "float32", (8,)) for name in names}
    return replace(fakes.case("double"), launches=made, buffers=buffers)


@dataclass
class Table(LaunchEvidence):
    """The memories that differ after each launch."""

    rows: Sequence[str]
    stride: int = 1

    @property
    def checkpoints(self) -> Sequence[int]:
        return tuple(range(0, len(self.rows), self.stride))

    def differs(self, memory: str, number: int) -> bool:
        return memory in self.rows[number]


def found(case: Case, memory: str, *rows: str, stride: int = 1) -> list[Origin]:
    return origins(Timeline(case, ()), Table(("", *rows), stride), memory)


def test_a_launch_whose_inputs_were_the_same_is_to_blame() -> None:
    case = chain(("t", "x"), ("y", "t"))
    assert found(case, "y", "", "y") == [Origin(2, "y", 1)]
    assert found(case, "y", "t", "ty") == [Origin(1, "t", 1)]
    assert found(case, "y", "", "") == []


def test_the_launch_since_which_a_buffer_differs() -> None:
    assert onset(Table(("", "", "y", "y")), "y") == 2
    assert onset(Table(("", "y", "", "y")), "y") == 3
    assert onset(Table(("", "y")), "y") == 1


def test_without_programs_nothing_is_known_of_a_launch() -> None:
    case = chain(("t", "x"), ("y", "t"))
    timeline = Timeline(case, ())
    assert not timeline.knows(case.launches[0])
    assert not timeline.knows_all()


def test_a_buffer_updated_in_place() -> None:
    case = chain(("y",), ("y",), ("y",), ("y",))
    assert found(case, "y", "", "y", "y", "y") == [Origin(2, "y", 1)]
    # A difference that a later launch removed is not that of the end.
    assert found(case, "y", "y", "", "y", "y") == [Origin(3, "y", 1)]


def test_an_earlier_difference_that_reaches_the_buffer_later() -> None:
    case = chain(("t", "x"), ("y",), ("y", "t"))
    assert found(case, "y", "t", "ty", "ty") == [Origin(1, "t", 1), Origin(2, "y", 1)]


def test_a_buffer_that_nothing_reads_is_not_followed() -> None:
    case = chain(("z", "x"), ("y", "x"))
    assert found(case, "y", "z", "zy") == [Origin(2, "y", 1)]


def test_a_difference_before_the_first_launch_blames_none() -> None:
    case = chain(("y", "x"))
    assert origins(Timeline(case, ()), Table(("x", "xy")), "y") == []


def test_launches_that_were_not_recorded() -> None:
    case = chain(*[("y",)] * 4)
    assert found(case, "y", "", "", "y", "y", stride=2) == [Origin(4, "y", 2)]


def test_swapped_buffers_are_followed_by_their_memory() -> None:
    case = chain(("a", "b"), ("a", "b"), swap={0: ("a", "b")})
    timeline = Timeline(case, ())
    assert (timeline.name_of("a", 0), timeline.name_of("a", 1)) == ("a", "b")
    assert found(case, "a", "", "a") == [Origin(2, "a", 1)]


def test_steps_of_repeated_entries() -> None:
    case = chain(("y",), ("y",), ("y",))
    first, second, third = case.launches
    case = replace(case, launches=(first, replace(second, origin=1), replace(third, origin=1)))
    assert [Timeline(case, ()).step(position) for position in range(3)] == [None, 0, 1]

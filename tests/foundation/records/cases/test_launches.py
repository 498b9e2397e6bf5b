from __future__ import annotations

from gpuregress.foundation.records import Argument, Launch, LaunchShape


def test_the_buffers_of_a_launch_are_those_it_takes_and_exchanges() -> None:
    nested = Argument("struct", fields=(Argument("scalar", dtype="int32"), Argument("buffer", buffer="x")))
    launch = Launch("k", (1, 1, 1), (1, 1, 1), 0, (nested, Argument("buffer", buffer="y")), swap=(("a", "b"),))
    assert set(launch.buffers) == {"x", "y", "a", "b"}
    assert Launch("k", (1, 1, 1), (1, 1, 1), 0, (Argument("null"),)).buffers == ()


def test_arguments_know_the_buffers_and_maps_inside_structs() -> None:
    inner = Argument("buffer", buffer="y", as_map=True, in_memory=True)
    struct = Argument("struct", fields=(Argument("buffer", buffer="x"), Argument("struct", fields=(inner,))))
    assert struct.buffers == ("x", "y")
    assert struct.maps_in_memory == ("y",)
    assert Launch("k", (2, 1, 1), (32, 1, 1), 64, ()).shape == LaunchShape((2, 1, 1), (32, 1, 1), 64)

from __future__ import annotations

from gpuregress.lab.host_programs import structures
from gpuregress.toolchain.host_code import grammar
from gpuregress.toolchain.layouts import DataMember

TEXT = """
namespace a { struct P { float x, y; int f(int); static int s; P() {} }; }
typedef struct { a::P pos; float v[3]; double *p; } Body;
struct Bits { int a : 3; };
struct Derived : Bits { int b; };
struct More : public a::P { int z; };
template <class T> struct Of { T x; };
void f() { struct Local { int x; }; }
"""


def test_structures_at_namespace_scope_with_their_members() -> None:
    found = {one.name: one.members for one in structures.definitions(grammar.root(TEXT))}
    assert found == {
        "a::P": (DataMember("x", "float"), DataMember("y", "float")),
        "Body": (DataMember("pos", "a::P"), DataMember("v[]", "float"), DataMember("p", "double*")),
        "Bits": None,
        "Derived": (DataMember("b", "int"),),
        "More": (DataMember("z", "int"),),
    }


def test_members_of_structures_within_take_their_place() -> None:
    known = {one.name.rpartition("::")[2]: one for one in structures.definitions(grammar.root(TEXT))}
    flat = structures.flattened("Body", known)
    assert [one.path for one in flat] == ["pos.x", "pos.y", "v", "p"]
    assert structures.flattened("Bits", known) == structures.flattened("Derived", known) == ()
    assert [one.path for one in structures.flattened("More", known)] == ["x", "y", "z"]
    assert structures.flattened("Unknown", known) == ()


def test_a_structure_that_holds_itself_ends() -> None:
    known = {one.name: one for one in structures.definitions(grammar.root("struct A { A a; int b; };"))}
    assert [one.path for one in structures.flattened("A", known)] == ["a", "b"]

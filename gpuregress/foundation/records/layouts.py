"""Records of C++ types as they are compiled."""

from __future__ import annotations

from typing import Literal

from gpuregress.gpu.records import Sparse

TypeKind = Literal["void", "bool", "int", "uint", "float", "pointer", "enum", "class", "opaque"]
"""What a type is; `opaque`: bytes whose meaning the type does not tell, as those of a union."""


class MemberLayout(Sparse):
    """A data member as it is compiled.

    Attributes:
        path: its name, `pos.x` in a structure within.
        type: of an element, in C++.
        kind: of an element.
        offset: bytes.
        size: bytes of an element.
        count: elements; 1 for what is no array.
        pointee: what it points to, where that is known.
    """

    path: str
    type: str
    kind: TypeKind
    offset: int
    size: int
    count: int = 1
    pointee: TypeLayout | None = None


class TypeLayout(Sparse):
    """A type as it is compiled.

    Attributes:
        kind: what it is.
        size: bytes; 0: not known.
        fields: of a structure, where its members are known; those of structures within stand in their place.
        name: in C++; "" where that is known otherwise.
        pointee: what it points to, where that is known.
        count: elements of an array.
    """

    kind: TypeKind
    size: int
    fields: tuple[MemberLayout, ...] = ()
    name: str = ""
    pointee: TypeLayout | None = None
    count: int = 1

    @property
    def pointers(self) -> tuple[str, ...]:
        """The members that are pointers."""
        return tuple(one.path for one in self.fields if one.kind == "pointer")

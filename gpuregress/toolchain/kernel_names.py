"""Name expressions: the texts for which NVRTC returns the mangled names of kernels.

A name with the types of its parameters, `a::scale<float>(float*, int)`, becomes an alias of the function's type in the
kernel's own namespace, behind the source, and a cast to it. A mangled name that is no template's needs no expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpuregress.foundation.records import HARNESS_FILE
from gpuregress.gpu.records import Record
from gpuregress.toolchain import cxx_declarations
from gpuregress.toolchain.cxx_declarations import Declaration

_ALIAS = "gpuregress_overload_{}"


class NameExpressions(Record):
    """What the compiler is asked for.

    Attributes:
        expressions: name in the job → expression.
        mangled: the names that are to be in the PTX as they are.
        text: behind the source: a line for each alias.
        of_line: the name of each of these lines.
    """

    expressions: Mapping[str, str]
    mangled: tuple[str, ...] = ()
    text: str = ""
    of_line: tuple[str, ...] = ()


def expressions(names: Iterable[str], signatures: Mapping[str, str]) -> NameExpressions:
    """Write the name expressions of kernels.

    Args:
        names: as the job has them.
        signatures: a name without parameters → that with them, where the compiler needs it.
    """
    asked: dict[str, str] = {}
    mangled: list[str] = []
    lines: list[str] = []
    of_line: list[str] = []
    for name in names:
        spelled = signatures.get(name, cxx_declarations.readable(name))
        plain, types = cxx_declarations.split_signature(spelled)
        if name.startswith("_Z") and "<" not in plain:
            mangled.append(name)
        elif types is None:
            asked[name] = spelled
        else:
            scope = cxx_declarations.strip_template_arguments(plain).removeprefix("::").rpartition("::")[0]
            alias = _ALIAS.format(len(lines))
            given = ", ".join(map(cxx_declarations.spelled, types))
            opened = "".join(f"namespace {space} {{ " for space in scope.split("::") if space)
            lines.append(f"{opened}typedef void (*{alias})({given});{' }' * opened.count('{')}")
            of_line.append(name)
            asked[name] = f"static_cast<{f'{scope}::' if scope else ''}{alias}>(&{plain})"
    text = "\n".join(("", f'#line 1 "{HARNESS_FILE}"', *lines, "")) if lines else ""
    return NameExpressions(asked, tuple(mangled), text, tuple(of_line))


def signatures(names: Iterable[str], declared: Iterable[Declaration]) -> dict[str, str]:
    """Find the signatures of names without parameters that one declaration of a source has, as a library may, too.

    Args:
        names: as the job has them.
        declared: the kernels of the source and of its headers.
    """
    found: dict[str, str] = {}
    for name in names:
        given = cxx_declarations.template_arguments(name)
        same = {
            (one.name, one.type_words): one
            for one in cxx_declarations.overloads(declared, name)
            if bool(one.template) == bool(given)
        }
        if len(same) == 1 and not name.startswith("_Z") and cxx_declarations.split_signature(name)[1] is None:
            (only,) = same.values()
            found[name] = only.signature(given)
    return found

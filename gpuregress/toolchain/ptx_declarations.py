"""Kernels and variables that PTX declares, and the clusters of a kernel."""

from __future__ import annotations

import math
import re
from typing import Literal

from gpuregress.foundation.errors import UsageError
from gpuregress.gpu.programs import Dim3, Entry, Parameter
from gpuregress.gpu.records import Record

Kind = Literal["pointer", "integer", "float", "struct", "word"]

_COMMENTS = re.compile(r'//[^\n]*|/\*.*?(?:\*/|\Z)|("(?:[^"\\\n]|\\.)*")', re.DOTALL)
_ENTRY = re.compile(r"\.entry\s+([\w$%]+)\s*(?:\(([^)]*)\))?([^{;]*)([{;])")
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(?P<align>\d+)\s+)?\.(?P<type>[a-z]\w*)\s*"
    r"(?P<pointer>\.ptr\b(?:\s*\.(?:global|shared|const|local|param))?(?:\s*\.align\s+\d+)?)?\s*"
    r"(?P<name>[\w$%]+)\s*(?:\[\s*(?P<count>\d+)\s*\])?",
)
_LOAD = re.compile(r"\bld\.param(?:\.\w+)*\s+(\{[^}]*\}|%[\w$]+)\s*,\s*\[\s*([\w$%]+)\s*(?:\+\s*(\d+)\s*)?\]")
_CVTA = re.compile(r"\bcvta\.to\.\w+\.u64\s+%[\w$]+\s*,\s*(%[\w$]+)")
_BASE = re.compile(r"\[\s*(%[\w$]+)\s*(?:\+\s*-?\w+\s*)?\]")
_MOVE = re.compile(r"\bmov\.[bu]64\s+(%[\w$]+)\s*,\s*(%[\w$]+)\s*;")
_VARIABLE = re.compile(
    r"^\s*(?:\.(?:visible|weak|common|extern)\s+)*\.(?:const|global)\s+(?:\.\w+(?:\([^)]*\)|\s+\d+)?\s+)*?"
    r"(?P<name>[\w$%]+)\s*(?:\[|=|;)",
    re.MULTILINE,
)


_DECLARATION = re.compile(
    r"^[ \t]*(?:\.(?:visible|weak|common|extern)\s+)*\.(?:const|global)\s+([^=;{]*)", re.MULTILINE
)
_UNSET_CONSTANT = re.compile(
    r"^[ \t]*(?:\.(?:visible|weak|common)\s+)*\.const\b[^=;{]*?([\w$]+)\s*(?:\[\s*\d+\s*\]\s*)*;", re.MULTILINE
)
_CLUSTER = re.compile(r"\.reqnctapercluster\s+([\d,\s]+)")
_MOST_BLOCKS = re.compile(r"\.maxclusterrank\s+(\d+)\s*")
_EXPLICIT = re.compile(r"\.explicitcluster\b\s*")
_FUNCTION = re.compile(r"\.func\b[^{;]*\{")
_WIDTH = re.compile(r"\.[busf]f?(\d+)(x2)?\b")
_LANES = re.compile(r"\.v(\d)\b")
_EXTENT = re.compile(r"\[\s*(\d*)\s*\]")
_IN_PARENTHESES = re.compile(r"\([^()]*\)")
_LINKED_FUNCTION = re.compile(r"((?:\.(?:visible|weak|common|extern)\s+)*)\.(?:func|entry)\b(?:\s*\.\w+)*\s*([\w$%]+)")
_LINKED_VARIABLES = re.compile(
    r"((?:\.(?:visible|weak|common|extern)\s+)*)\.(?:global|const|shared|texref|samplerref|surfref)\b([^;]*);"
)
_INITIALIZER_OR_EXTENT = re.compile(r"=.*|\[[^\]]*\]", re.DOTALL)
_IDENTIFIER = re.compile(r"[A-Za-z_$%][\w$]*")


class PtxModule(Record):
    """The declarations of a PTX module.

    Attributes:
        entries: mangled name → entry, in the file's order.
        variables: the mangled names of its `.global` and `.const` variables.
        target: `sm_90`, or "" where the module does not say.
    """

    entries: dict[str, Entry]
    variables: tuple[str, ...]
    target: str


def parse(ptx: str) -> PtxModule:
    """Read a module's entries with their parameters, and its variables.

    Args:
        ptx: a whole module.
    """
    text = _without_comments(ptx)
    target = re.search(r"^\s*\.target\s+(sm_\w+)", text, re.MULTILINE)
    entries: dict[str, Entry] = {}
    for match in _ENTRY.finditer(text):
        body = _body(text, match.end()) if match[4] == "{" else ""
        entries[match[1]] = Entry(match[1], _parameters(match[2] or "", body))
    names = [match["name"] for match in _VARIABLE.finditer(_outside_braces(text))]
    # NVRTC's own: string literals ($str) and function names for assert (__unnamed_1).
    variables = tuple(name for name in names if not name.startswith(("$", "__unnamed_")))
    return PtxModule(entries, variables, target[1] if target else "")


def _without_comments(ptx: str) -> str:
    """Cut out comments, and the contents of strings."""
    return _COMMENTS.sub(lambda match: '""' if match[1] else " ", ptx)


def variable_bytes(ptx: str) -> int:
    """Sum the bytes of all `.global` and `.const` variables of a module.

    Args:
        ptx: a whole module.
    """
    return sum(_bytes(match[1]) for match in _DECLARATION.finditer(ptx))


def variable_sizes(ptx: str) -> dict[str, int]:
    """Return the bytes of each `.global` and `.const` variable of a module that has a size.

    Args:
        ptx: a whole module.
    """
    sizes: dict[str, int] = {}
    for match in _DECLARATION.finditer(ptx):
        first, *others = match[1].split(",")
        type_, *names = first.rsplit(None, 1)
        if not names:
            continue
        for name in (*names, *others):
            size = _bytes(f"{type_} {name.strip()}")
            if size:
                sizes[name.partition("[")[0].strip()] = size
    return sizes


def linkages(ptx: str) -> dict[str, str]:
    """Find the functions and variables of a module: name → linkage, `.weak`; "" where only the module sees it.

    Args:
        ptx: a whole module.
    """
    text = _IN_PARENTHESES.sub(" ", _outside_braces(_without_comments(ptx)))
    linked: dict[str, str] = {}
    for match in _LINKED_FUNCTION.finditer(text):
        linked[match[2]] = linked.get(match[2], "") or match[1].strip()
    for match in _LINKED_VARIABLES.finditer(text):
        for declared in match[2].split(","):
            words = _IDENTIFIER.findall(_INITIALIZER_OR_EXTENT.sub(" ", declared))
            if words:
                linked[words[-1]] = linked.get(words[-1], "") or match[1].strip()
    return linked


def unset_constants(ptx: str) -> dict[str, tuple[str, ...]]:
    """Find the `.const` variables without an initializer, by the entries that mention them or call functions.

    Args:
        ptx: a whole module.

    Returns:
        mangled name of an entry → mangled names, in the file's order.
    """
    names = [match[1] for match in _UNSET_CONSTANT.finditer(ptx)]
    if not names:
        return {}
    text = _without_comments(ptx)
    words_of_functions: set[str] = set()
    for match in _FUNCTION.finditer(text):
        words_of_functions |= _words(text, match.end())
    unset: dict[str, tuple[str, ...]] = {}
    for match in _ENTRY.finditer(text):
        words = _words(text, match.end()) if match[4] == "{" else set()
        if "call" in words:
            words |= words_of_functions
        unset[match[1]] = tuple(name for name in names if name in words)
    return unset


def reachable_code(ptx: str, kernel: str) -> str:
    """Return the body of an entry, with those of all functions if it calls any.

    Args:
        ptx: a whole module.
        kernel: mangled name of the entry.

    Returns:
        the text without comments; "" where the module has no such entry.
    """
    text = _without_comments(ptx)
    for entry in _ENTRY.finditer(text):
        if entry[1] != kernel or entry[4] != "{":
            continue
        body = _body(text, entry.end())
        if re.search(r"\bcall\b", body) is None:
            return body
        return "\n".join([body, *(_body(text, function.end()) for function in _FUNCTION.finditer(text))])
    return ""


def with_cluster(ptx: str, kernel: str, cluster: Dim3) -> str:
    """Return a module in which a kernel has clusters of this shape.

    Args:
        ptx: the module.
        kernel: its mangled name.
        cluster: blocks along x, y, z.

    Raises:
        UsageError: the kernel has clusters of another shape, or of fewer blocks.
    """
    match = re.search(rf"\.entry\s+{re.escape(kernel)}\s*(?:\([^)]*\))?([^{{]*)\{{", ptx)
    if match is None:
        raise UsageError(f"the PTX has no kernel {kernel}, so cluster= cannot be set")
    own = _CLUSTER.search(match[1])
    if own is not None:
        has = tuple(int(word) for word in own[1].split(","))
        if (*has, 1, 1)[:3] != cluster:
            raise UsageError(f"{kernel} has __cluster_dims__ of {', '.join(map(str, has))}: leave out cluster=")
        return ptx
    blocks, most = math.prod(cluster), _MOST_BLOCKS.search(match[1])
    if most is not None and blocks > int(most[1]):
        raise UsageError(f"{kernel} has __launch_bounds__ of {most[1]} blocks in a cluster: cluster= asks for {blocks}")
    others = _EXPLICIT.sub("", _MOST_BLOCKS.sub("", match[1]))  # ptxas refuses a bound beside a shape
    written = f".explicitcluster\n.reqnctapercluster {', '.join(map(str, cluster))}\n"
    return ptx[: match.start(1)] + others + written + ptx[match.end(1) :]


def _words(text: str, start: int) -> set[str]:
    """The words of the body that begins at `start`."""
    return set(re.findall(r"[\w$]+", _body(text, start)))


def _bytes(declaration: str) -> int:
    """The bytes of the variables of a declaration: `.u32 a[4], b[2]`."""
    element = 8
    width = _WIDTH.search(declaration)
    if width is not None:
        lanes = _LANES.search(declaration)
        element = int(width[1]) * (2 if width[2] else 1) // 8 * int(lanes[1] if lanes else 1)
    count = 0
    for variable in declaration.split(","):
        count += math.prod(int(extent or 0) for extent in _EXTENT.findall(variable))
    return element * count


def _body(text: str, start: int) -> str:
    """The text from after a `{` to its `}`."""
    depth = 1
    for match in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return text[start : match.start()]
    return text[start:]


def _outside_braces(text: str) -> str:
    """The text at module scope; initialiser lists and bodies are cut out."""
    pieces: list[str] = []
    depth, start = 0, 0
    for match in re.finditer(r"[{}]", text):
        if match[0] == "{":
            if depth == 0:
                pieces.append(text[start : match.start()])
            depth += 1
        else:
            depth = max(0, depth - 1)
            start = match.end()
    pieces.append(text[start:] if depth == 0 else "")
    return "\n".join(pieces)


def _parameters(declared: str, body: str) -> tuple[Parameter, ...]:
    matches = list(_PARAMETER.finditer(declared))
    pointers = _used_as_addresses({match["name"] for match in matches}, body)
    return tuple(_parameter(match, pointer=match["name"] in pointers) for match in matches)


def _parameter(match: re.Match[str], *, pointer: bool) -> Parameter:
    width = 1
    if match["type"] != "pred":
        width = int(match["type"].lstrip("bfsu").removesuffix("x2")) // 8
    size = width
    kind: Kind
    if match["count"] is not None:
        size *= int(match["count"])
        kind = "struct"
    elif match["pointer"] or (pointer and width == 8):
        kind = "pointer"
    elif match["type"].startswith("f"):
        kind = "float"
    elif width == 8:
        kind = "word"
    elif match["type"].startswith("b"):
        kind = "struct"  # bits alone: an integer or a float, as clang and newer NVVMs write both
    else:
        kind = "integer"
    return Parameter(size, int(match["align"] or width), kind)


def _used_as_addresses(names: set[str], body: str) -> set[str]:
    """Find the parameters whose loaded register is an address, through moves too."""
    owner: dict[str, str] = {}
    for match in _LOAD.finditer(body):
        if match[2] in names and not match[1].startswith("{") and not int(match[3] or 0):
            owner[match[1]] = match[2]
    for match in _MOVE.finditer(body):
        if match[2] in owner:
            owner.setdefault(match[1], owner[match[2]])
    registers = {*_CVTA.findall(body), *_BASE.findall(body)}
    return {owner[register] for register in registers & owner.keys()}

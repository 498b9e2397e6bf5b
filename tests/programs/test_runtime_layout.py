"""The runtime library's own declarations have the layout of NVIDIA's headers."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import gpuregress
from tests.programs import suites

SOURCES = Path(gpuregress.__file__).parent / "programs" / "runtime"
_STRUCTURE = re.compile(r"typedef struct \{\n(.*?)\n\} (\w+);", re.DOTALL)
_UNION = re.compile(r"union \{.*?\n    \}", re.DOTALL)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def _members(body: str) -> list[str]:
    """Return the names of the members of a structure's body."""
    flat = _UNION.sub("int", _COMMENT.sub("", body))
    names: list[str] = []
    for declaration in flat.split(";"):
        for part in declaration.split(","):
            name = re.search(r"(\w+)(\[\d+\])?\s*$", part)
            if name and name[1] not in ("padding", "reserved"):
                names.append(name[1])
    return names


def _layout(folder: Path, headers: str, flags: list[str], structures: dict[str, list[str]]) -> str:
    """Compile and run a program that prints the size of each structure and the offset of each member."""
    lines = [headers, "#include <stdio.h>", "#include <stddef.h>", "int main(void) {"]
    for name, members in structures.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        lines += [f'printf("{name}.{member} %zu\\n", offsetof({name}, {member}));' for member in members]
    source, program = folder / "layout.c", folder / "layout"
    source.write_text("\n".join([*lines, "return 0; }"]), encoding="utf-8")
    subprocess.run(["gcc", "-w", *flags, str(source), "-o", str(program)], check=True)
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def _text(include: Path) -> str:
    names = ("driver_types.h", "texture_types.h")
    return "".join((include / name).read_text(encoding="utf-8") for name in names)


def test_structures(tmp_path: Path) -> None:
    include = suites.headers()
    if include is None or shutil.which("gcc") is None:
        pytest.skip("needs gcc and NVIDIA's headers of the runtime")
    text = "".join((SOURCES / name).read_text(encoding="utf-8") for name in ("types.h", "driver.h"))
    structures = {name: _members(body) for body, name in _STRUCTURE.findall(text)}
    assert len(structures["cudaDeviceProp"]) > 80
    ours = _layout(tmp_path, f'#include "{SOURCES}/driver.h"', [], structures)
    # In C, most of these are known by their tags alone.
    tags = [name for name in structures if re.search(rf"struct (__device_builtin__ )?{name}\s", _text(include))]
    theirs = "#include <cuda.h>\n#include <cuda_runtime_api.h>\n"
    theirs += "".join(f"typedef struct {name} {name};\n" for name in tags)
    assert ours == _layout(tmp_path, theirs, ["-I", str(include)], structures)


def test_every_documented_error_and_function_is_here() -> None:
    include = suites.headers()
    if include is None:
        pytest.skip("needs NVIDIA's headers of the runtime")
    types = _COMMENT.sub("", (include / "driver_types.h").read_text(encoding="utf-8"))
    declared = dict(re.findall(r"\b(cudaError\w+|cudaSuccess)\s*=\s*(\d+)", types))
    table = (SOURCES / "error_table.h").read_text(encoding="utf-8")
    assert declared.items() <= dict(re.findall(r"^ERROR\((\w+), (\d+),", table, re.MULTILINE)).items()
    api = _COMMENT.sub("", (include / "cuda_runtime_api.h").read_text(encoding="utf-8"))
    functions = set(re.findall(r"CUDARTAPI\s+(cuda\w+)\s*\(", api))
    for name, suffix in re.findall(r"#\s*define\s+(\w+)\s+__CUDART_API_(PTSZ|PTDS)\(", api):
        functions.add(f"{name}_{suffix.lower()}")
    exported = set(re.findall(r"FUNCTION\((\w+)\)", (SOURCES / "function_table.h").read_text(encoding="utf-8")))
    assert functions <= exported

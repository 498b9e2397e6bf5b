from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import Source
from gpuregress.toolchain.build_options import database
from gpuregress.toolchain.build_options.database import CompileCommands
from gpuregress.toolchain.build_options.options import BuildOptions
from tests.lab.revisions import git_projects


def write(folder: Path, *entries: object) -> CompileCommands:
    path = folder / "build/compile_commands.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(entries))
    return CompileCommands(path)


def command(folder: Path, text: str, file: str = "k.cu") -> dict[str, str]:
    return {"directory": str(folder / "build"), "command": text, "file": f"../{file}"}


def options(folder: Path, text: str) -> BuildOptions:
    return write(folder, command(folder, text)).options_for(folder / "k.cu")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r"nvcc -DA=\"x\" \-c", ["nvcc", '-DA="x"', "-c"]),
        (r'nvcc "-DA=x y" -I"a b"/c -Ia\ b', ["nvcc", "-DA=x y", "-Ia b/c", "-Ia b"]),
        (r'nvcc "-DA=\"x\\\"" ""', ["nvcc", '-DA="x\\"', ""]),
        ("nvcc -DA='x' -DB=it's", ["nvcc", "-DA='x'", "-DB=it's"]),
        ("nvcc '-DA=\"x y\"'  -c", ["nvcc", '-DA="x y"', "-c"]),
    ],
)
def test_commands_are_split_as_the_format_says(text: str, words: list[str]) -> None:
    assert database.split_command(text) == words


def test_what_a_command_means(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "build/inc.rsp").write_text('-I"../with space" -isystem ../sys\n@more.rsp')
    (tmp_path / "build/more.rsp").write_text("-DMORE -UGONE")
    taken = options(
        tmp_path,
        "/usr/bin/ccache /opt/nvcc -forward-unknown-to-host-compiler -DA=1 -D B=2 -DGONE -DEMPTY= -DF(x)=x "
        "-I../one,../two "
        "--options-file inc.rsp -isystem=/abs -I/usr/include -isystem /usr/local/include -std=c++14 --std c++20 "
        "--use_fast_math -ftz=true -fmad false "
        "-Xcompiler=-fPIC -Xcompiler -Wall -gencode arch=compute_80,code=sm_80 --expt-relaxed-constexpr -O3 "
        "-MD -MF k.d -Werror -DLAST -include k.h -x cu -c ../k.cu -o k.o @none.rsp",
    )
    assert [str(folder) for folder in taken.include] == [
        *(str(tmp_path / name) for name in ("one", "two", "with space", "sys")),
        "/abs",
        "/usr/local/include",
    ]
    assert taken.defines == {"A": "1", "B": "2", "EMPTY": " ", "MORE": "", "LAST": ""}
    assert taken.options == ("-std=c++20", "--use_fast_math", "--ftz=true", "--fmad=false", "-include=k.h")
    assert taken.left_out == {
        "a macro with parameters cannot be a key of compile.defines": ("-DF(x)=x",),
        "NVRTC and CUDA's headers take C++17 to C++23": ("-std=c++14",),
        "for the host's compiler, the assembler or the linker": ("-Xcompiler=-fPIC", "-Xcompiler -Wall", "-O3"),
        "the device chooses the architecture": ("-gencode arch=compute_80,code=sm_80",),
        "annotated lambdas and constexpr functions of the host need no option here": ("--expt-relaxed-constexpr",),
        "the file cannot be read: No such file or directory": ("@none.rsp",),
    }
    assert taken.origin.endswith("compile_commands.json (entry 1, k.cu)")


def test_the_arguments_of_bear_and_the_slashes_of_cl(tmp_path: Path) -> None:
    entry = {"directory": str(tmp_path), "arguments": ["clang++", "-DA=x y", "-Iinc", "-c", "k.cu"], "file": "k.cu"}
    taken = write(tmp_path, entry).options_for(tmp_path / "k.cu")
    assert (taken.defines, taken.include) == ({"A": "x y"}, (tmp_path / "inc",))
    taken = options(tmp_path, "cl.exe /DA=1 /I inc /external:Isys /Iother k.cu")
    assert (taken.defines, len(taken.include)) == ({"A": "1"}, 3)
    assert options(tmp_path, "g++ -c /Input/k.cu -o /Data/k.o").is_empty


def test_a_header_takes_the_options_of_a_source_that_includes_it(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    for name, text in {
        "far.cu": "",
        "k.cu": '#include "inc/outer.cuh"\n',
        "inc/outer.cuh": "#include <inner.cuh>\n",
        "inc/inner.cuh": "",
    }.items():
        (tmp_path / name).write_text(text)
    commands = write(tmp_path, command(tmp_path, "nvcc -DFAR", "far.cu"), command(tmp_path, "nvcc -DNEAR -I ../inc"))
    for name in ("outer.cuh", "inner.cuh"):
        taken = commands.options_for(tmp_path / "inc" / name)
        assert taken.defines == {"NEAR": ""}
        assert f"entry 2, k.cu, whose source includes {name}" in taken.origin
    assert commands.options_for(tmp_path / "other.cu").is_empty
    assert commands.options_for(tmp_path / "other.cuh").is_empty


def test_the_database_of_the_work_tree_serves_a_commit_elsewhere(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here / "inc", here / "build", there / "inc"):
        folder.mkdir(parents=True)
    path = write(here, command(here, "nvcc -I ../inc -I generated")).path
    taken = CompileCommands(path, original=here, copy=there).options_for(there / "k.cu")
    assert taken.include == (there / "inc", here / "build/generated")


def test_headers_before_a_source_are_those_of_the_commit(tmp_path: Path) -> None:
    """What git knows is not taken from the work tree, though the commit lacks it."""
    here, there, link = tmp_path / "here", tmp_path / "there", tmp_path / "link"
    git_projects.start(here)
    link.symlink_to(here)
    for name in ("both.h", "later.h", "later/x.h", "build/made.h", "build/inc/made.h"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text("")
    git_projects.git(here, "add", "both.h", "later.h", "later")
    there.mkdir()
    (there / "both.h").write_text("")
    text = f"nvcc -include ../both.h -include {link}/later.h -include made.h -include other.h -I ../later -I inc"
    path = write(here, command(here, text)).path
    taken = CompileCommands(path, original=here, copy=there).options_for(there / "k.cu")
    headers = (there / "both.h", there / "later.h", here / "build/made.h", "other.h")
    assert taken.options == tuple(f"-include={header}" for header in headers)
    assert taken.include == (there / "later", here / "build/inc")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file or directory; the build writes it (cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"),
        ("{", "cannot be read: Expecting property name"),
        ("{}", "expected a list of commands"),
        ('[{"file": "k.cu", "command": 3}]', "entry 1 is not a command of a compilation database; expected file"),
        ('[{"file": "k.cu", "arguments": [1]}]', "entry 1 is not a command"),
    ],
)
def test_a_database_that_is_none(content: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "compile_commands.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError) as caught:
        CompileCommands(path).options_for(tmp_path / "k.cu")
    assert message in str(caught.value)


def test_what_a_source_has_itself_wins() -> None:
    build = BuildOptions(
        include=(Path("/build"), Path("/own")), defines={"A": "1", "B": "1"}, options=("-std=c++20", "--fmad=false")
    )
    source = Source("k.cu", options=("--std=c++17",), include=("/own",), defines={"B": "2"})
    applied = build.applied_to(source)
    assert applied.include == ("/own", "/build")
    assert applied.defines == {"A": "1", "B": "2"}
    assert applied.options == ("--fmad=false", "--std=c++17")

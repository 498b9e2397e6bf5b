from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.toolchain.build_options import build_files
from gpuregress.toolchain.build_options.options import BuildOptions

FILES = {
    "CMakeLists.txt": """
project(p LANGUAGES CUDA)  # include_directories(comment)
set(CMAKE_CUDA_STANDARD 20)
set(FOLDERS include ${CMAKE_CURRENT_SOURCE_DIR}/src)
list(APPEND FOLDERS "missing")
include_directories(SYSTEM ${FOLDERS} ${Torch_INCLUDE_DIRS})
add_library(one a.cu)
add_library(two b.cu)
target_include_directories(one PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/extra> $<INSTALL_INTERFACE:include>)
add_compile_definitions(ALL=1 TEXT="ab" $<$<CONFIG:Debug>:DEBUG>)
target_compile_definitions(one PRIVATE OWN)
target_compile_definitions(two PRIVATE OTHER)
if(FAST)
  list(APPEND LATER -DFAST=1)
  add_definitions(-DMAYBE)
endif()
add_definitions(-DOLD=2 -O3 ${LATER})
""",
    "setup.py": """
import os
from pathlib import Path
here = os.path.dirname(os.path.abspath(__file__))
flags = ["-O3", "-std=c++20"]
raise SystemExit("it is not run")
setup(ext_modules=[
    CUDAExtension("one", ["a.cu"], include_dirs=[Path(here) / "include", f"{here}/src", numpy.get_include()],
                  define_macros=[("ALL", "1"), ("OWN", None), ("V", version())],
                  extra_compile_args={"cxx": ["-DHOST"], "nvcc": with_threads(flags + ["-DOLD=2"] + arch())}),
    CUDAExtension("two", ["b.cu"], include_dirs=["extra"], extra_compile_args=["-DOTHER"]),
])
""",
    "pyproject.toml": """
[[tool.setuptools.ext-modules]]
name = "one"
sources = ["a.cu"]
include-dirs = ["include", "src"]
define-macros = [["ALL", "1"], ["OWN"]]
[[tool.setuptools.ext-modules]]
name = "two"
sources = ["b.cu"]
define-macros = [["OTHER", "1"]]
""",
    "Makefile": """
TOP := .
NVCCFLAGS = -O3 -I$(TOP)/include -I src \\
  -DALL=1 -I$(CUDA_HOME)/include -I/usr/include -isystem /usr/local/include/ -std=c++20
ifeq ($(FAST),1)
NVCCFLAGS += -DFAST=1 -Iextra
endif
%.o: %.cu
\t$(NVCC) -DOWN $(NVCCFLAGS) -c $<
configure:
\tcmake -DCMAKE_BUILD_TYPE=Debug .
""",
    "p.vcxproj": """<Project>
<ItemDefinitionGroup Condition="a"><ClCompile>
<PreprocessorDefinitions>ALL=1;WIN32;_DEBUG;%(PreprocessorDefinitions)</PreprocessorDefinitions>
<AdditionalIncludeDirectories>$(ProjectDir)include;.\\src;$(CUDA)\\include;%(AdditionalIncludeDirectories)</AdditionalIncludeDirectories>
</ClCompile></ItemDefinitionGroup>
<ItemDefinitionGroup Condition="b"><ClCompile>
<PreprocessorDefinitions>ALL=1;FAST;WIN32</PreprocessorDefinitions>
</ClCompile></ItemDefinitionGroup></Project>
""",
}
EXPECTED = {
    "CMakeLists.txt": ("include src extra", {"ALL": "1", "TEXT": '"ab"', "OWN": "", "OLD": "2"}, "-std=c++20"),
    "setup.py": ("include src", {"ALL": "1", "OWN": "", "V": "", "OLD": "2"}, "-std=c++20"),
    "pyproject.toml": ("include src", {"ALL": "1", "OWN": ""}, ""),
    "Makefile": ("include src extra", {"ALL": "1", "OWN": ""}, "-std=c++20"),
    "p.vcxproj": ("include src", {"ALL": "1"}, ""),
}
CONDITIONAL = {"CMakeLists.txt": ("-DMAYBE", "-DFAST=1"), "Makefile": ("-DFAST=1",)}


def options(root: Path, *names: str) -> BuildOptions:
    for folder in ("include", "src", "extra", "csrc", ".git"):
        (root / folder).mkdir()
    for name in names:
        (root / name).write_text(FILES[name])
    return build_files.combined(build_files.options_for(root / "csrc/a.cu"))


@pytest.mark.parametrize("name", FILES)
def test_what_a_build_file_spells_out(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path.parent / "CMakeLists.txt").write_text("add_definitions(-DOUTSIDE)\n")  # above the clone
    taken = options(tmp_path, name)
    folders, defines, standard = EXPECTED[name]
    assert [folder.name for folder in taken.include] == folders.split()
    assert taken.defines == defines
    assert taken.options == ((standard,) if standard else ())
    assert taken.origin == name
    assert taken.left_out.get(build_files.CONDITION, ()) == CONDITIONAL.get(name, ())


def test_the_nearest_file_wins_and_all_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options(tmp_path, "CMakeLists.txt")
    (tmp_path / "csrc/CMakeLists.txt").write_text("add_definitions(-DALL=7)\ninclude_directories(../extra)\n")
    taken = build_files.combined(build_files.options_for(tmp_path / "csrc/a.cu"))
    assert taken.defines["ALL"] == "7"
    assert [folder.name for folder in taken.include] == ["extra", "include", "src"]
    assert taken.origin == "csrc/CMakeLists.txt, CMakeLists.txt"


STRANGE = {
    "pyproject.toml": "[[tool.setuptools.ext-modules]]\ninclude-dirs = 3\ndefine-macros = true\n",
    "setup.py": f"Extension('a', ['a.cu'], include_dirs=[{' + '.join(['here'] * 2000)}])\n",
}


@pytest.mark.parametrize("name", STRANGE)
def test_strange_values_are_left_out(name: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(STRANGE[name])
    assert build_files.options_for(tmp_path / "a.cu") == ()


def test_flags_of_nvcc_in_variables_of_cmake_are_read(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "CMakeLists.txt").write_text(
        "set(CUDA_NVCC_FLAGS ${CUDA_NVCC_FLAGS} -DSPACE=mine -O3)\n"
        'if(FAST)\nstring(APPEND CMAKE_CUDA_FLAGS " -DFAST=1 -DOF=${X}")\nendif()\nset(OTHER -DOTHER)\n'
    )
    (taken,) = build_files.options_for(tmp_path / "a.cu")
    assert taken.defines == {"SPACE": "mine"}
    assert taken.left_out == {build_files.CONDITION: ("-DFAST=1",)}


def test_conditions_on_options_have_their_defaults(tmp_path: Path) -> None:
    for name in (".git/HEAD", "cmake/options.cmake", "src/CMakeLists.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "cmake/options.cmake").write_text('option(WITH_X "x" ON)\noption(WITH_Y "not y")\n')
    (tmp_path / "CMakeLists.txt").write_text('set(SINGLE OFF CACHE BOOL "s")\nif(A)\nset(B ON)\nendif()\n')
    taken = [
        "if(WITH_X)",
        "if(NOT WITH_Y AND NOT WIN32)",
        "if(A OR WITH_X)",
        "if(SINGLE)\nelse()",
        "if(P_ENABLE_CUDA)",
        "if(SINGLE)\nelseif(WITH_X)",
        "if(WITH_X)\nif(UNIX)\nendif()",
    ]
    left = [
        "if(A)",
        "if(A AND WITH_X)",
        "if(B)",
        "if(WITH_X)\nelse()",
        "if(A)\nelseif(WITH_X)",
        "if(X STREQUAL 1)",
        "if(DEFINED WITH_Y)\nelse()",
        "if(WITH_Y STREQUAL OFF)\nelse()",
        "if((WITH_X OR A) AND WITH_Y)",
        "if()",
        "if(WITH_X)\nelseif(WITH_X)\nelse()",
        "foreach(X a b)\nif(WITH_X)\nendif()",
        "else()\nif(A)",
    ]
    blocks = []
    for number, condition in enumerate((*taken, *left)):
        end = "endforeach" if "foreach" in condition else "endif"
        blocks.append(f"{condition}\nadd_definitions(-DN{number})\n{end}()\n")
    (tmp_path / "src/CMakeLists.txt").write_text("".join(blocks))
    (options,) = build_files.options_for(tmp_path / "src/a.cu")
    assert list(options.defines) == [f"N{number}" for number in range(len(taken))]
    assert len(options.left_out[build_files.CONDITION]) == len(left)


def test_a_copy_of_the_headers_of_cuda_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (".git/HEAD", "thrust/thrust/version.h", "include/a.h"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "CMakeLists.txt").write_text("include_directories(thrust include)\n")
    (taken,) = build_files.options_for(tmp_path / "a.cu")
    assert taken.include == (tmp_path / "include",)
    assert taken.left_out == {"CUDA's own headers are taken in place of a copy": ("-I thrust",)}


@pytest.mark.parametrize("name", ["setup.py", "pyproject.toml", "CMakeLists.txt"])
def test_a_build_file_that_cannot_be_read_says_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_bytes(b"def (\x00 include_directories(\xff [[")
    assert build_files.options_for(tmp_path / "a.cu") == ()

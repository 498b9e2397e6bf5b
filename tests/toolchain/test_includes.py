from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.toolchain import includes


def _tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_the_source_comes_first_then_all_it_reaches(tmp_path: Path) -> None:
    _tree(
        tmp_path,
        {
            "k/a.cu": '#include "b.h"\n#include <cstdio>\n  #  include <deep/c.h>\n',
            "k/b.h": '#include "sub/d.h"\n',
            "k/sub/d.h": '#include "e.h"\n',
            "k/sub/e.h": '#include "../b.h"\n',
            "inc/deep/c.h": "",
            "k/unused.h": "",
        },
    )
    found = includes.dependencies(tmp_path / "k/a.cu", (tmp_path / "inc",))
    assert [str(path.relative_to(tmp_path)) for path in found] == [
        "k/a.cu",
        "inc/deep/c.h",
        "k/b.h",
        "k/sub/d.h",
        "k/sub/e.h",
    ]


def test_comments_do_not_count_and_conditions_do(tmp_path: Path) -> None:
    _tree(
        tmp_path,
        {
            "a.cu": '// #include "x.h"\n/*\n#include "x.h"\n*/\n#if 0\n#include "y.h"\n#endif\n'
            'const char* s = "/*";\n#include "z.h"\n',
            "x.h": "",
            "y.h": "",
            "z.h": "",
        },
    )
    assert [path.name for path in includes.dependencies(tmp_path / "a.cu")] == ["a.cu", "y.h", "z.h"]


def test_a_file_that_is_not_there_is_left_to_the_compiler(tmp_path: Path) -> None:
    _tree(tmp_path, {"a.cu": '#include "nowhere.h"\n'})
    assert includes.dependencies(tmp_path / "a.cu") == (tmp_path / "a.cu",)


@given(st.text(alphabet="ab/*\"\\\n'# <>", max_size=80))
def test_lines_stay_where_they_are_without_comments(text: str) -> None:
    assert includes.without_comments(text).count("\n") == text.count("\n")

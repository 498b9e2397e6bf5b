from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.toolchain import include_scanner
from gpuregress.toolchain.headers import virtual_headers


def _tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _names(root: Path, *folders: Path) -> list[str]:
    return [path.name for path in include_scanner.scan(root / "a.cu", folders).files]


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
    actual = include_scanner.scan(tmp_path / "k/a.cu", (tmp_path / "inc",))
    names = [str(path.relative_to(tmp_path)) for path in actual.files]
    assert names == ["k/a.cu", "k/b.h", "inc/deep/c.h", "k/sub/d.h", "k/sub/e.h"]
    assert actual.structure == "0: 1 - 2\n1: 3\n2: \n3: 4\n4: 1"
    assert not actual.unknown


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
    assert _names(tmp_path) == ["a.cu", "y.h", "z.h"]


def test_a_file_that_is_not_there_is_left_to_the_compiler(tmp_path: Path) -> None:
    _tree(tmp_path, {"a.cu": '#include "nowhere.h"\n'})
    assert _names(tmp_path) == ["a.cu"]


@given(st.text(alphabet="abR()/*\"\\\n'# <>", max_size=80))
def test_lines_stay_where_they_are_without_comments(text: str) -> None:
    assert include_scanner.without_comments(text).count("\n") == text.count("\n")


DISGUISES = {
    "a splice in the directive": '#inc\\\nlude "c.h"\n',
    "a splice before the name, CRLF": '#include \\\r\n"c.h"\r\n',
    "a splice in the name": '#include "c\\\n.h"\n',
    "a digraph": '%:include "c.h"\n',
    "a spliced digraph": '%\\\n:include "c.h"\n',
    "comments between the words": '/* a */ # /* b\n */ include /**/ "c.h"\n',
    "after a raw string": 'auto s = R"x(\n"/*)x";\n#include "c.h"\n',
    "after a raw string that no splice ends": 'auto s = u8R"(\n)\\\n" /* )";\n#include "c.h"\n',
    "after digits with separators": "int n = 1'000; /* ' */ int m = 0x1'0;\n#include \"c.h\"\n",
    "after an escaped quote": 'auto s = "\\"/*";\n#include "c.h"\n',
    "after a name that ends in R": 'auto s = FOR"(\\"";\n#include "c.h"\n',
    "a byte order mark": '\ufeff#include "c.h"\n',
    "a form feed before it": '\f#include "c.h"\n',
    "without a blank": '#include"c.h"\n',
    "at the end of the file": '#include "c.h"',
    "as include_next": '#include_next "c.h"\n',
    "as import": '#import "c.h"\n',
    "behind a condition": '#if 0\n#elif defined(X)\n#include "c.h"\n#endif\n',
    "looked for": '#if __has_include("c.h")\n#endif\n',
    "looked for with blanks": "#if defined(__has_include) && __has_include ( <c.h> )\n#endif\n",
    "behind a line comment that goes on": '// \\\n#include "nothing.h"\n#include "c.h"\n',
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_header_is_found_however_it_is_included(tmp_path: Path, disguise: str) -> None:
    (tmp_path / "a.cu").write_bytes(DISGUISES[disguise].encode())
    _tree(tmp_path, {"c.h": "", "nothing.h": ""})
    actual = include_scanner.scan(tmp_path / "a.cu")
    assert [path.name for path in actual.files] == ["a.cu", "c.h"]
    assert not actual.unknown


UNKNOWN = {
    "an include of a macro": '#define H "c.h"\n#include H\n',
    "an include of a spliced macro": '#define H "c.h"\n#incl\\\nude H\n',
    "a probe of a macro": '#define H "c.h"\n#if __has_include(H)\n#endif\n',
    "a probe that a macro names": "#define PROBE __has_include\n",
    "the date": "const char* s = __DATE__;\n",
    "the time of the file": "const char* s = __TIMESTAMP__;\n",
    "a lone carriage return": '//\r#include "c.h"\n',
    "a trigraph": '??=include "c.h"\n',
    "a trigraph's splice": '#inc??/\nlude "c.h"\n',
    "blanks after a backslash": '#inc\\ \nlude "c.h"\n',
    "an embedded file": '#embed "c.h"\n',
    "an apostrophe in what is skipped": "#if 0\ndon't /* isn't\n#endif\n",
    "a module": 'import "c.h";\n',
}


@pytest.mark.parametrize("why", UNKNOWN)
@pytest.mark.parametrize("position", ["a.cu", "b.h"])
def test_what_a_text_does_not_tell_is_said_with_its_place(tmp_path: Path, why: str, position: str) -> None:
    _tree(tmp_path, {"a.cu": '#include "b.h"\n', "b.h": "", "c.h": "", "z.h": ""})
    (tmp_path / position).write_bytes(UNKNOWN[why].encode())
    assert include_scanner.scan(tmp_path / "a.cu").unknown.startswith(f"{position}:")


def test_words_in_comments_and_strings_ask_for_nothing(tmp_path: Path) -> None:
    text = '// __DATE__ don\'t\n/* __has_include(X) */ const char* s = "__TIME__";\n'
    text += "#error can't\n#ifdef __has_include\n#endif\n"
    _tree(tmp_path, {"a.cu": text})
    assert not include_scanner.scan(tmp_path / "a.cu").unknown


def test_dots_behind_a_link_are_the_systems_to_follow(tmp_path: Path) -> None:
    _tree(tmp_path, {"a.cu": '#include "link/../c.h"\n', "c.h": "// wrong", "real/c.h": "// right", "real/deep/x": ""})
    (tmp_path / "link").symlink_to(tmp_path / "real" / "deep")
    assert include_scanner.scan(tmp_path / "a.cu").contents[1:] == (b"// right",)


def test_a_file_that_appears_changes_the_structure(tmp_path: Path) -> None:
    _tree(tmp_path, {"a.cu": '#if __has_include("later.h")\n#endif\n#include <cmath>\n', "inc/x.h": ""})
    before = include_scanner.scan(tmp_path / "a.cu", (tmp_path / "inc",))
    _tree(tmp_path, {"inc/later.h": ""})
    later = include_scanner.scan(tmp_path / "a.cu", (tmp_path / "inc",))
    _tree(tmp_path, {"inc/math.h": "// in place of the one that <cmath> includes"})
    shadowed = include_scanner.scan(tmp_path / "a.cu", (tmp_path / "inc",))
    assert len({before.digest, later.digest, shadowed.digest}) == 3
    assert shadowed.files[-1].name == "math.h" or shadowed.files[1].name == "math.h"


def test_an_earlier_folder_takes_over(tmp_path: Path) -> None:
    _tree(tmp_path, {"k/a.cu": "#include <c.h>\n", "one/x": "", "two/c.h": "// two"})
    folders = tmp_path / "one", tmp_path / "two"
    assert include_scanner.scan(tmp_path / "k/a.cu", folders).contents[1] == b"// two"
    _tree(tmp_path, {"one/c.h": "// one"})
    assert include_scanner.scan(tmp_path / "k/a.cu", folders).contents[1] == b"// one"


def test_headers_that_change_places_are_another_source(tmp_path: Path) -> None:
    _tree(tmp_path, {"a.cu": '#include "b.h"\n#include "c.h"\n', "b.h": "// one", "c.h": "// two"})
    before = include_scanner.scan(tmp_path / "a.cu").digest
    _tree(tmp_path, {"b.h": "// two", "c.h": "// one"})
    assert include_scanner.scan(tmp_path / "a.cu").digest != before


def test_the_same_text_under_another_name_is_another_source(tmp_path: Path) -> None:
    text = '#if __has_include("b.h")\n#include "b.h"\n#elif __has_include("c.h")\n#include "c.h"\n#endif\n'
    _tree(tmp_path, {"a.cu": text, "b.h": "// one"})
    before = include_scanner.scan(tmp_path / "a.cu").digest
    (tmp_path / "b.h").rename(tmp_path / "c.h")
    assert include_scanner.scan(tmp_path / "a.cu").digest != before


def test_a_header_that_includes_itself_by_a_longer_path_ends(tmp_path: Path) -> None:
    _tree(tmp_path, {"k/a.cu": '#include "b.h"\n', "k/b.h": '#include "../k/b.h"\n'})
    assert len(include_scanner.scan(tmp_path / "k/a.cu").files) == 2


def test_what_cannot_be_read_is_not_waited_for(tmp_path: Path) -> None:
    _tree(tmp_path, {"a.cu": '#include "pipe"\n#include "folder"\n#include "a\0b"\n', "folder/x": ""})
    os.mkfifo(tmp_path / "pipe")
    assert len(include_scanner.scan(tmp_path / "a.cu").files) == 1


def test_every_header_that_cudas_own_include_can_be_shadowed() -> None:
    own = {path.name for folder in virtual_headers.cuda_folders() for path in folder.iterdir()} | set(
        virtual_headers.HEADERS
    )
    texts = [
        path.read_text(errors="replace") for folder in virtual_headers.cuda_folders() for path in folder.rglob("*.h*")
    ]
    texts += virtual_headers.HEADERS.values()
    named = {name for text in texts for name in re.findall(r"^\s*#\s*include\s*<([^/>]+)", text, re.MULTILINE)}
    assert named & own <= virtual_headers.SHADOWABLE


@given(st.text(alphabet="ab/*\"\\\n'# <>R()1?%:", max_size=60))
def test_any_text_is_read_to_its_end(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _tree(root, {"c.h": ""})
        (root / "a.cu").write_bytes(text.encode())
        before = include_scanner.scan(root / "a.cu")
        (root / "a.cu").write_bytes(f'#include "c.h"\n{text}'.encode())
        after = include_scanner.scan(root / "a.cu")
    assert len(after.files) == 2
    assert bool(before.unknown) == bool(after.unknown)


def test_files_are_read_once_in_a_block_until_they_are_forgotten(tmp_path: Path) -> None:
    _tree(tmp_path, {"a.cu": '#include "b.h"\n#include "c.h"\n', "b.h": "int b;\n"})
    with include_scanner.reading_once():
        assert _names(tmp_path) == ["a.cu", "b.h"]
        _tree(tmp_path, {"c.h": "int c;\n"})
        assert _names(tmp_path) == ["a.cu", "b.h"]
        include_scanner.forget_files()
        assert _names(tmp_path) == ["a.cu", "b.h", "c.h"]
        (tmp_path / "c.h").unlink()
    assert _names(tmp_path) == ["a.cu", "b.h"]

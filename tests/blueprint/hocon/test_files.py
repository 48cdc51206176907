"""Files and includes: which are read, ignored or reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.hocon import parse_file, parse_text, plain, resolve


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(directory: Path, **files: str) -> None:
    """Write files; `__` in a name stands for a dot."""
    for name, text in files.items():
        (directory / name.replace("__", ".")).write_text(text, encoding="utf-8")


def read(path: Path | str) -> tuple[object, list[str]]:
    """Return the values of a file, and the codes of all findings."""
    layer = parse_file(path)
    value, findings = resolve([layer], {})
    return plain(value), [finding.code for finding in (*layer.diagnostics, *findings)]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "file-empty"), (b" \n\t\n", "file-empty"), (b"\xef\xbb\xbf", "file-empty"),
        (b"a = \xff\xfe", "file-unreadable"), (b"\x7fELF\0\0", "file-unreadable"),
        (b"a = 1 \n" * (3 * 1024 * 1024), "file-unreadable"),
    ],
    ids=["empty", "blank", "mark-only", "not-utf-8", "binary", "too-large"],
)  # fmt: skip
def test_files_that_cannot_be_read_are_one_finding(directory: Path, content: bytes, code: str) -> None:
    """Empty, binary and oversized files give an empty layer and one finding."""
    (directory / "x.conf").write_bytes(content)
    assert read("x.conf") == ({}, [code])


def test_a_missing_file_suggests_a_similar_name(directory: Path) -> None:
    """Help for a misspelt file name is the similar one."""
    write(directory, blueprint__conf="a = 1")
    (finding,) = parse_file("bluprint.conf").diagnostics
    assert finding.code == "file-not-found"
    assert finding.help == ("did you mean `blueprint.conf`?",)


@pytest.mark.parametrize("name", [".", "no/such/folder/x.conf", "x.conf/y.conf", "nul\0.conf"])
def test_paths_that_are_not_files(directory: Path, name: str) -> None:
    """Directories, files below files and invalid names are one finding."""
    write(directory, x__conf="a = 1")
    assert len(read(name)[1]) == 1


def test_a_file_of_comments_is_an_empty_configuration(directory: Path) -> None:
    """A file with all settings commented out is valid."""
    write(directory, x__conf="# a = 1\n")
    assert read("x.conf") == ({}, [])


def test_include_merges_in_place(directory: Path) -> None:
    """Keys before the include are overridden by it, keys after it override it."""
    write(directory, main__conf='a = 1, b = 1\ninclude "part.conf"\nb = 3', part__conf="a = 2, b = 2, c = 2")
    assert read("main.conf") == ({"a": 2, "b": 3, "c": 2}, [])


@pytest.mark.parametrize("form", ['"part"', 'file("part")', 'required("part")'])
def test_an_include_of_properties_only_is_a_finding(directory: Path, form: str) -> None:
    """Also without its suffix: otherwise the settings would be missing silently."""
    write(directory, main__conf=f"include {form}\na = 1", part__properties="b = 2")
    assert read("main.conf") == ({"a": 1}, ["include-unsupported"])


@pytest.mark.parametrize("name", ["app.py", "notes.md", "schema.avsc.txt"])
def test_files_of_another_kind_are_one_finding(directory: Path, name: str) -> None:
    """The finding is about the file, not about each line that is not HOCON."""
    (directory / name).write_text('"""A module."""\n\nimport re\n\n\nclass A:\n    def f(self): return [1\n')
    (finding,) = parse_file(name).diagnostics
    assert finding.code == "file-unreadable"
    assert finding.help == ("name a `.conf`, `.yaml`, `.yml` or `.json` file, or the directory of a blueprint",)


def test_files_with_another_suffix_are_read_when_they_are_hocon(directory: Path) -> None:
    """A different suffix alone is not a mistake."""
    (directory / "settings.local").write_text("a = 1")
    assert read("settings.local") == ({"a": 1}, [])


def test_only_configuration_files_are_suggested(directory: Path) -> None:
    """Similar names of temporary files, modules and directories are not suggested."""
    for other in ("tmp003rm6hz", "tmp003rm6h.py", "tmp003rm6h.png"):
        (directory / other).write_text("x")
    (directory / "tmp003rm6hx.conf").mkdir()
    assert parse_file("tmp003rm6h.conf").diagnostics[0].help == ()


@pytest.mark.parametrize("form", ['"part.conf"', 'file("part.conf")', 'required("part.conf")',
                                  'required( file( "part.conf" ) )', '"part"', '\n  "part.conf"'])  # fmt: skip
def test_forms_of_include(directory: Path, form: str) -> None:
    """All forms find a file next to the including one; the suffix is optional."""
    write(directory, main__conf=f"include {form}, b = 2", part__conf="a = 1")
    assert read("main.conf") == ({"a": 1, "b": 2}, [])


def test_paths_are_relative_to_the_including_file(directory: Path) -> None:
    """They are not relative to the working directory."""
    (directory / "deep").mkdir()
    write(directory, main__conf='include "deep/one.conf"', two__conf="a = wrong")
    write(directory / "deep", one__conf='include "two.conf"', two__conf="a = right")
    assert read("main.conf") == ({"a": "right"}, [])


def test_without_suffix_all_formats_are_merged(directory: Path) -> None:
    """HOCON comes last, JSON before it."""
    write(directory, main__conf='include "part"', part__json='{"a": 1, "b": 1}', part__conf="b = 2", part__yaml="c: 3")
    assert read("main.conf") == ({"c": 3, "a": 1, "b": 2}, [])


def test_missing_includes_are_noted_unless_required(directory: Path) -> None:
    """They have no effect, as in the specification, but a note."""
    write(directory, main__conf='include "none.conf"\ninclude required("none.conf")\na = 1')
    assert read("main.conf") == ({"a": 1}, ["include-empty", "include-not-found"])


@pytest.mark.parametrize("form", ['url("http://x/y.conf")', '"http://x/y.conf"', 'classpath("x.conf")',
                                  '"x.properties"'])  # fmt: skip
def test_other_resources_are_a_finding(directory: Path, form: str) -> None:
    """URLs, classpath resources and properties files are rejected explicitly."""
    write(directory, main__conf=f"include {form}\na = 1")
    assert read("main.conf") == ({"a": 1}, ["include-unsupported"])


def test_include_cycles_show_all_includes(directory: Path) -> None:
    """Every include statement of the cycle is a place of the finding."""
    write(directory, a__conf='include "b.conf"\nx = 1', b__conf='include "c.conf"', c__conf='include "a.conf"\ny = 2')
    layer = parse_file("a.conf")
    (finding,) = layer.diagnostics
    assert finding.code == "include-cycle"
    assert finding.primary is not None
    places = [finding.primary.span.file, *(label.span.file for label in finding.secondary)]
    assert places == ["c.conf", "a.conf", "b.conf"]
    assert plain(resolve([layer], {})[0]) == {"y": 2, "x": 1}


def test_a_fault_of_an_included_file_is_reported_once(directory: Path) -> None:
    """A directory instead of a file, a cycle entered from two sides, a syntax error, too many files."""
    (directory / "part.conf").mkdir()
    write(
        directory,
        c__conf='include "d.conf"',
        d__conf='include "c.conf"',
        e__conf="x = [1",
        f__conf='a { include "f0" }',
    )
    for number in range(12):
        (directory / f"f{number}.conf").write_text(f'a {{ include "f{number + 1}" }}, b {{ include "f{number + 1}" }}')
    (directory / "f12.conf").write_text("x = 1")
    names = ["part", "c", "d", "e", "f"]
    write(directory, main__conf="\n".join(f'{key}.{name} {{ include "{name}" }}' for name in names for key in "xyz"))
    findings = dict.fromkeys(parse_file("main.conf").diagnostics)
    assert sorted(finding.code for finding in findings) == ["file-unreadable", "include-cycle", "syntax", "too-large"]


def test_a_file_may_be_included_twice(directory: Path) -> None:
    """Under two keys, each with its own substitutions."""
    write(directory, main__conf='a { include "p.conf" }\nb { include "p.conf", x = 2 }', p__conf="x = 1, y = ${x}")
    assert read("main.conf") == ({"a": {"x": 1, "y": 1}, "b": {"x": 2, "y": 2}}, [])


def test_substitutions_of_included_files_look_nearby_first(directory: Path) -> None:
    """First below the place of inclusion, then below those of the including files, then at the root."""
    write(
        directory, main__conf='r = root\nm = main\na { m = a, include "one.conf" }',
        one__conf='b { include "two.conf" }', two__conf="x = ${r}, y = ${m}, z = ${own}, own = 1",
    )  # fmt: skip
    values, codes = read("main.conf")
    assert codes == []
    assert values["a"]["b"] == {"x": "root", "y": "a", "z": 1, "own": 1}  # type: ignore[index]


def test_faults_of_included_files_are_reported_there(directory: Path) -> None:
    """A syntax error has a place in its own file; the readable part is used."""
    write(directory, main__conf='include "p.conf"\na = 1', p__conf="b = 2\nc = *")
    layer = parse_file("main.conf")
    assert [finding.primary.span.file for finding in layer.diagnostics if finding.primary] == ["p.conf"]
    assert plain(resolve([layer], {})[0]) == {"b": 2, "a": 1}


def test_included_lists_and_directories_are_findings(directory: Path) -> None:
    """An included file must have an object."""
    (directory / "d.conf").mkdir()
    write(directory, main__conf='include "l.conf"\ninclude "d.conf"', l__conf="[1]")
    assert read("main.conf") == ({}, ["syntax", "file-unreadable"])


def test_text_includes_from_a_given_directory(directory: Path) -> None:
    """For text that is not a file, the caller sets the directory of includes."""
    (directory / "d").mkdir()
    write(directory / "d", p__conf="a = 1")
    layer = parse_text('include "p.conf"', "<arguments>", directory / "d")
    assert plain(resolve([layer], {})[0]) == {"a": 1}

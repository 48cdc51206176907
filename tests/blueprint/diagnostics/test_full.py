"""How findings are drawn: excerpts, underlines, wide characters, tabs, long lines, colours."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from blueprint.diagnostics import Checked, Diagnostic, Frame, Label, Sources, Span, finding
from blueprint.diagnostics.full import render_finding, render_full
from blueprint.diagnostics.text import cells, shown

ONE_OF_EACH = Checked(streamlets=1, topics=1, contracts=1, pairs=1, settings=1)


@dataclass(frozen=True)
class Drawn:
    """A report of findings about texts."""

    diagnostics: tuple[Diagnostic, ...]
    sources: Sources
    blueprint: str = "a.conf"
    checked: Checked = ONE_OF_EACH


def span(line: int, start: int, end: int, file: str = "a.conf") -> Span:
    """Columns of one line."""
    return Span(file, line, start, line, end)


def drawn(text: str, at: Span | None, *also: Label, width: int = 80, **more: object) -> str:
    """One finding about a text."""
    sources = Sources()
    sources.add("a.conf", text)
    label = str(more.pop("label", ""))
    diagnostic = finding("unknown-key", "no such key", at, label=label, also=also, **more)  # type: ignore[arg-type]
    return render_finding(diagnostic, sources, width=width)


def test_the_span_is_underlined_and_labelled() -> None:
    """Line number, line, carets, and the message after them."""
    assert drawn("one\ntwo three\n", span(2, 5, 10), label="this") == (
        "error[unknown-key]: no such key\n --> a.conf:2:5\n  |\n2 | two three\n  |     ^^^^^ this\n"
    )


def test_wide_characters_take_two_columns() -> None:
    """The carets are below their characters."""
    assert drawn("日本 = x", span(1, 1, 3)).splitlines()[-1] == "  | ^^^^"
    assert drawn("日本 = x", span(1, 6, 7)).splitlines()[-1] == "  |        ^"


def test_combining_characters_take_no_column() -> None:
    """A separate accent does not move the carets."""
    assert drawn("e\u0301 = x", span(1, 6, 7)).splitlines()[-1] == "  |     ^"


def test_tabs_are_four_spaces() -> None:
    """Independent of the tab stops of the terminal."""
    lines = drawn("\tkey = x", span(1, 2, 5)).splitlines()
    assert lines[-2:] == ["1 |     key = x", "  |     ^^^"]


def test_control_characters_cannot_reach_the_terminal() -> None:
    """Neither from sources nor from messages."""
    text = drawn("a \x1b[31m b", span(1, 1, 2), label="x\x1b[0m", causes=("\x07",), help=("\x9b",))
    assert "\x1b" not in text and "\x07" not in text


def test_invisible_characters_are_shown() -> None:
    """Invisible characters, such as marks of the writing direction, take one column."""
    text = drawn("a\u200bb = \u202e1\ufeff", span(1, 2, 3))
    assert text.splitlines()[-2:] == ["1 | a\ufffdb = \ufffd1\ufffd", "  |  ^"]
    assert "\ufffd" not in drawn("\U0001f469\u200d\U0001f527", None, causes=("\u0646\u200c\u0647",))


def test_composed_syllables_take_two_columns() -> None:
    """Korean written in single letters is as wide as in syllables."""
    assert cells("\u1112\u1161\u11ab") == cells("\ud55c") == 2


def test_a_place_outside_of_its_text_is_cut() -> None:
    """The file may have changed since it was read, and may have fewer lines."""
    assert drawn("ab", span(1, 9, 12), label="was here").splitlines()[-2:] == ["1 | ab", "  |   ^ was here"]
    assert drawn("ab", span(5, 1, 2), label="was here").splitlines()[-2:] == [" --> a.conf:5:1", "  | was here"]


def test_a_label_without_source_is_wrapped_and_an_empty_one_is_not_drawn() -> None:
    """Only the message of such a place can be shown."""
    text = drawn("a", span(1, 1, 2), Label(span(9, 1, 2, "gone.py"), "word " * 20), width=40)
    assert all(cells(line) <= 40 for line in text.splitlines()) and text.count("word") == 20
    assert drawn("a", None, causes=("why",)).splitlines() == ["error[unknown-key]: no such key", "  = because: why"]
    assert drawn("a", span(9, 1, 2, "gone.py")).splitlines()[-1] == " --> gone.py:9:1"


def test_overlapping_marks_do_not_move_each_other() -> None:
    """The later one continues where the earlier one ends, and every message is shown."""
    text = drawn("abcdef", span(1, 1, 4), Label(span(1, 2, 7), "all"), label="first")
    assert text.splitlines()[-3:] == ["1 | abcdef", "  | ^^^--- all", "  | first"]


def test_an_empty_span_gets_one_caret() -> None:
    """The end of a text is a place, too."""
    assert drawn("abc", span(1, 4, 4)).splitlines()[-1] == "  |    ^"


def test_long_lines_are_cut_around_the_span() -> None:
    """Removed parts are shown as an ellipsis, and the span stays above its carets."""
    line = "x" * 100 + "KEY" + "y" * 100
    source, marks = drawn(line, span(1, 101, 104), width=40).splitlines()[-2:]
    assert cells(source) <= 40 and source.count("…") == 2
    assert source[marks.index("^") : marks.rindex("^") + 1] == "KEY"


def test_two_labels_on_a_line() -> None:
    """The right message is on the row of the marks, the left one below."""
    assert drawn("left right", span(1, 1, 5), Label(span(1, 6, 11), "b"), label="a").splitlines()[-3:] == [
        "1 | left right",
        "  | ^^^^ ----- b",
        "  | a",
    ]


def test_marks_too_far_apart_get_a_line_each() -> None:
    """A line that is too narrow for both marks is shown twice."""
    text = drawn("LEFT" + " " * 200 + "RIGHT", span(1, 1, 5), Label(span(1, 205, 210), "here"), width=60)
    assert text.count("LEFT") == 1 and text.count("RIGHT") == 1


def test_lines_between_are_omitted() -> None:
    """Dots mark the gap."""
    assert "...\n" in drawn("a\nb\nc\nd", span(1, 1, 2), Label(span(4, 1, 2)))
    assert "..." not in drawn("a\nb", span(1, 1, 2), Label(span(2, 1, 2)))


def test_other_files_follow_under_their_own_place() -> None:
    """A place without source text keeps its message."""
    assert drawn("a", span(1, 1, 2), Label(span(7, 3, 4, "gone.py"), "declared here")).splitlines()[-2:] == [
        " ::: gone.py:7:3",
        "  | declared here",
    ]


def test_a_span_over_lines_is_underlined_to_the_end_of_its_first() -> None:
    """Only its beginning is shown; an ellipsis marks that it continues."""
    over = Span("a.conf", 1, 1, 2, 2)
    assert drawn("{ a\n}", over).splitlines()[-2:] == ["1 | { a", "  | ^^^…"]
    assert drawn("{ a\n}", over, label="this").splitlines()[-1] == "  | ^^^… this"
    assert (
        drawn("a {   \n}", Span("a.conf", 1, 3, 2, 2)).splitlines()[-1] == "  |   ^…"
    )  # trailing spaces are not underlined


def test_a_long_span_over_lines_fits() -> None:
    """Its ellipsis is the last column."""
    source, marks = drawn("x" * 200 + "\ny", Span("a.conf", 1, 1, 2, 2), width=40).splitlines()[-2:]
    assert (cells(source), cells(marks)) == (40, 40)
    assert source.endswith("x…") and marks.endswith("^…")


def test_frames_are_shown_as_excerpts_with_their_functions() -> None:
    """The innermost call is last, with carets."""
    text = drawn("one()\ntwo()", None, frames=(Frame(span(1, 1, 6), "f"), Frame(span(2, 1, 6), "g")))
    assert text.splitlines()[1:] == [
        "  = raised in your code (most recent call last):",
        " --> a.conf:1:1, in f",
        "  |",
        "1 | one()",
        "  | -----",
        " --> a.conf:2:1, in g",
        "  |",
        "2 | two()",
        "  | ^^^^^",
    ]


def test_bars_join_the_parts_of_a_finding() -> None:
    """Bars connect excerpts, frames and notes; without an excerpt there is no bar."""
    frames = (Frame(span(1, 1, 4), "f"),)
    assert drawn("one()", span(1, 1, 4), frames=frames, causes=("why",)).splitlines()[4:] == [
        "  | ^^^",
        "  |",
        "  = raised in your code (most recent call last):",
        " --> a.conf:1:1, in f",
        "  |",
        "1 | one()",
        "  | ^^^",
        "  |",
        "  = because: why",
    ]


def test_help_blocks_keep_their_lines() -> None:
    """Text to copy is not wrapped."""
    text = drawn("a", span(1, 1, 2), help=("write:\n" + "x " * 60,))
    assert "x " * 59 in text


def test_no_colour_unless_requested() -> None:
    """With colour, the text is the same."""
    sources = Sources()
    sources.add("a.conf", "key = x")
    report = finding("topic-unused", "said", span(1, 1, 4), label="here", causes=("why",), help=("do",))
    plain, painted = (render_finding(report, sources, color=color) for color in (False, True))
    assert "\x1b" not in plain
    assert "\x1b[1;33m" in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == plain


def test_a_report_ends_with_what_was_and_was_not_checked() -> None:
    """Also when there are no findings."""
    assert " ".join(render_full(Drawn((), Sources())).split()) == (
        "a.conf: no findings; checked 1 streamlet, 1 topic, 1 contract in 1 writer-reader pair, 1 setting; "
        "not checked: the streamlets' logic"
    )


def test_a_report_without_checks_says_so() -> None:
    """It must not be mistaken for success."""
    assert (
        render_full(Drawn((), Sources(), checked=Checked())) == "a.conf: no findings; nothing more could be checked\n"
    )


def test_marks_are_below_their_spans() -> None:
    """A span is underlined from its first to its last column, whatever characters precede it."""
    chance = random.Random(7)
    for _ in range(400):
        before, meant, after = (
            "".join(chance.choices("ab \t日é\u0301\u200b", k=chance.randrange(1, 30))) for _ in "123"
        )
        meant = f"<{meant}>"
        source, marks = drawn(before + meant + after, span(1, len(before) + 1, len(before + meant) + 1)).splitlines()[
            -2:
        ]
        column = marks.index("^")
        assert marks[column:] == "^" * cells(shown(meant))
        assert cells(source[: source.index("<")]) == column


def test_every_line_fits() -> None:
    """Random texts, spans and messages stay within the width; only places with long paths may exceed it."""
    chance = random.Random(11)
    alphabet = "abc def, {}[]=.\t日本é\u0301\u200b\u202e\u1112\u1161"
    for _ in range(400):
        text = "\n".join("".join(chance.choices(alphabet, k=chance.randrange(200))) for _ in range(4))
        labels = []
        for _ in range(chance.randint(1, 4)):
            line = chance.randint(1, 4)
            start = chance.randint(1, 200)
            end = line + chance.choice([0, 0, 1])
            place = Span("a.conf", line, start, end, start + chance.randrange(60))
            labels.append(Label(place, "word " * chance.randrange(12)))
        width = chance.choice([50, 80, 120])
        sources = Sources()
        sources.add("a.conf", text)
        message = finding("unknown-key", "x" * chance.randrange(150), labels[0], also=labels[1:], causes=("why " * 30,))
        for row in render_finding(message, sources, width=width).splitlines():
            assert cells(row) <= width, (row, width)
